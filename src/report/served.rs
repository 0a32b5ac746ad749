//! What answered, and how long it took, in few words.

use super::text;
use crate::domain::{Activity, Served, Wait, shortened, trace::StepLine};

/// Characters of a fingerprint: it is told from others, and in full in the data.
const FINGERPRINT: usize = 16;

/// Characters of a model's or provider's name.
const NAME: usize = 48;

/// `model · provider · fingerprint`, as far as they are known.
pub(super) fn by(served: &Served) -> Vec<String> {
    let short = |text: &Option<String>, max| {
        let text = text.as_deref()?;
        Some(shortened(&text::one_line(text), max))
    };
    let parts = [
        short(&served.model, NAME),
        short(&served.provider, NAME),
        short(&served.fingerprint, FINGERPRINT),
    ];
    parts.into_iter().flatten().collect()
}

/// The same of all that answered a session; `not said` for one that nobody is known to have.
pub(super) fn by_all(served: &[Served]) -> String {
    let all: Vec<String> = served.iter().map(|one| by(one).join(" · ")).collect();
    match all[..] {
        [] => "not said".to_owned(),
        _ => all.join(" + "),
    }
}

/// What stands on the first step of a turn: `model · provider · fingerprint · 1.250 s · waited 2.000 s
/// for a slot`. None where nothing of it is known.
pub(super) fn turn(line: &StepLine) -> Option<String> {
    let mut parts = by(&line.served);
    parts.extend(line.latency_s.map(seconds));
    parts.extend(waited(&line.waits));
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// `waited 2.000 s for a slot, 30.000 s to ask again`: each kind once.
fn waited(waits: &[Wait]) -> Option<String> {
    let mut kinds: Vec<(Activity, f64)> = Vec::new();
    for wait in waits {
        match kinds.iter_mut().find(|(what, _)| *what == wait.what) {
            Some((_, sum)) => *sum += wait.seconds(),
            None => kinds.push((wait.what, wait.seconds())),
        }
    }
    let said = |(what, time): (Activity, f64)| {
        let what = match what {
            Activity::Slot => "for a slot",
            Activity::Rate => "for a rate",
            Activity::Backoff => "to ask again",
            Activity::Money => "for money",
            Activity::Thinking | Activity::Tool | Activity::Scorer => what.as_str(),
        };
        format!("{} {what}", seconds(time))
    };
    let said: Vec<String> = kinds.into_iter().map(said).collect();
    (!said.is_empty()).then(|| format!("waited {}", said.join(", ")))
}

fn seconds(time: f64) -> String {
    format!("{} s", text::number(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(parts: [Option<&str>; 3]) -> Served {
        let [model, provider, fingerprint] = parts.map(|part| part.map(str::to_owned));
        Served {
            model,
            provider,
            fingerprint,
        }
    }

    #[test]
    fn what_answered_is_short() {
        let long = "f".repeat(40);
        for (parts, want) in [
            ([Some("m"), Some("p"), Some("fp_1")], "m · p · fp_1"),
            (
                [Some("m\u{202e}\n"), None, Some(&*long)],
                "m\\u{202e}  · ffffffffffffffff…",
            ),
            ([None, None, None], ""),
        ] {
            assert_eq!(by(&served(parts)).join(" · "), want);
        }
        let [m, n] = ["m", "n"].map(|model| served([Some(model), None, None]));
        assert_eq!(by_all(&[m, n]), "m + n");
        assert_eq!(by_all(&[]), "not said");
    }

    #[test]
    fn waits_of_a_kind_are_one() {
        let wait = |what, began, ended| Wait { what, began, ended };
        let waits = [
            wait(Activity::Slot, 1.0, 2.5),
            wait(Activity::Backoff, 3.0, 33.0),
            wait(Activity::Slot, 40.0, 40.25),
            // The clock was set back.
            wait(Activity::Money, 50.0, 40.0),
        ];
        let said = "waited 1.750 s for a slot, 30.000 s to ask again, 0.000 s for money";
        assert_eq!(waited(&waits).as_deref(), Some(said));
        assert_eq!(waited(&[]), None);
    }
}
