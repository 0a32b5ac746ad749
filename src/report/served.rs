//! What answered, and how long it took, in few words.

use super::text::{self, Unit};
use crate::domain::{Activity, Served, Stratum, VariantSummary, Wait, shortened, trace::StepLine};

/// Said below rows of several.
pub(super) const MIXED: &str =
    "Not all sessions name the same model, provider, fingerprint: figures mix them.";

/// Of a reply that does not say.
const NOT_SAID: &str = "not said";

/// Rows of strata; `summary.json` has all.
const ROWS: usize = 12;

/// Characters of a fingerprint: it is told from others, and in full in the data.
const FINGERPRINT: usize = 16;

/// Characters of a model's or provider's name.
const NAME: usize = 48;

/// The names of [`parts`].
const PARTS: [&str; 3] = ["model", "provider", "fingerprint"];

/// Model, provider and fingerprint, as far as they are known.
fn parts(served: &Served) -> [Option<String>; 3] {
    let short = |text: &Option<String>, max| {
        let text = text.as_deref()?;
        Some(shortened(&text::one_line(text), max))
    };
    [
        short(&served.model, NAME),
        short(&served.provider, NAME),
        short(&served.fingerprint, FINGERPRINT),
    ]
}

/// What stands on the first step of a turn: `model · provider · fingerprint · 1.250 s · waited 2.000 s
/// for a slot`. None where nothing of it is known.
pub(super) fn turn(line: &StepLine) -> Option<String> {
    let mut parts: Vec<String> = parts(&line.served).into_iter().flatten().collect();
    parts.extend(line.latency_s.map(seconds));
    parts.extend(waited(&line.waits));
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// `waited 2.000 s for a slot, 30.000 s to ask again`: each kind once.
pub(super) fn waited(waits: &[Wait]) -> Option<String> {
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
            Activity::Server => "for a server of tools",
            Activity::Thinking | Activity::Tool | Activity::Scorer => what.as_str(),
        };
        format!("{} {what}", seconds(time))
    };
    let said: Vec<String> = kinds.into_iter().map(said).collect();
    (!said.is_empty()).then(|| format!("waited {}", said.join(", ")))
}

/// The strata of a variant: what all that answered have in common, and a row for each where they
/// differ.
pub(super) struct Strata {
    /// `model · provider · fingerprint`, as far as all agree; empty where they do not.
    pub common: String,
    /// Which parts the rows name: `provider · fingerprint`.
    pub differing: String,
    /// Empty where all sessions were answered by the same.
    pub rows: Vec<Row>,
    /// How many more there are.
    pub more: u64,
}

/// The sessions that the same answered.
pub(super) struct Row {
    /// What answered; ` + ` between several.
    pub served: String,
    pub sessions: String,
    pub passed: String,
    pub scored: String,
    pub pass_rate: String,
}

impl Strata {
    /// Of a variant; none where no reply says what answered.
    pub fn of(variant: &VariantSummary) -> Option<Self> {
        let all: Vec<_> = variant
            .served
            .iter()
            .flat_map(|of| &of.served)
            .map(parts)
            .collect();
        let first = all.first()?;
        let is_whole = |i: &usize| all.iter().all(|parts| parts.get(*i) == first.get(*i));
        let (common, mut differing): (Vec<_>, Vec<_>) = (0..PARTS.len()).partition(is_whole);
        // A row must say something, be it that others say nothing.
        let is_one = differing.is_empty() && variant.served.len() == 1;
        let mut lead = named(first, &common);
        if differing.is_empty() && !is_one {
            (lead, differing) = (String::new(), common);
        }
        let shown = if is_one {
            0
        } else {
            ROWS.min(variant.served.len())
        };
        let head: Vec<&str> = differing
            .iter()
            .filter_map(|i| PARTS.get(*i).copied())
            .collect();
        let rows = variant.served.iter().take(shown);
        Some(Self {
            common: lead,
            differing: head.join(" · "),
            rows: rows.map(|of| Row::new(of, &differing)).collect(),
            more: if is_one {
                0
            } else {
                (variant.served.len() - shown) as u64
            },
        })
    }
}

impl Row {
    fn new(of: &Stratum, differing: &[usize]) -> Self {
        let served = of.served.iter().map(|one| named(&parts(one), differing));
        let mut served: Vec<String> = served.collect();
        served
            .iter_mut()
            .filter(|one| one.is_empty())
            .for_each(|one| *one = NOT_SAID.to_owned());
        Self {
            served: match served[..] {
                [] => NOT_SAID.to_owned(),
                _ => served.join(" + "),
            },
            sessions: text::count(of.sessions),
            passed: text::count(of.passed),
            scored: text::count(of.scored),
            pass_rate: text::bare(&of.pass_rate, Unit::Plain),
        }
    }
}

/// These of the parts.
fn named(parts: &[Option<String>; 3], which: &[usize]) -> String {
    let parts = which.iter().filter_map(|i| parts.get(*i)?.as_deref());
    parts.collect::<Vec<_>>().join(" · ")
}

fn seconds(time: f64) -> String {
    format!("{} s", text::number(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    fn served(parts: [&str; 3]) -> Served {
        let some = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        let [model, provider, fingerprint] = parts.map(some);
        Served {
            model,
            provider,
            fingerprint,
        }
    }

    #[test]
    fn what_answered_is_short() {
        let long = "f".repeat(40);
        let of = |served| parts(&served).into_iter().flatten().collect::<Vec<_>>();
        assert_eq!(of(served(["m", "", &long])), ["m", "ffffffffffffffff…"]);
        assert_eq!(of(served(["m\u{202e}\n", "", ""])), ["m\\u{202e} "]);
    }

    /// `common | differing | rows`.
    fn strata(of: &[&[[&str; 3]]]) -> String {
        let mut variant = fixture::summary().variants.remove(0);
        let stratum = |all: &&[[&str; 3]]| Stratum {
            served: all.iter().map(|parts| served(*parts)).collect(),
            sessions: 1234,
            scored: 12,
            passed: 11,
            pass_rate: fixture::rate(11, 12, 12),
        };
        variant.served = of.iter().map(stratum).collect();
        let Some(strata) = Strata::of(&variant) else {
            return "none".to_owned();
        };
        for row in &strata.rows {
            assert_eq!(row.pass_rate, "0.917 [0.646, 0.985]");
            assert_eq!(
                [&row.sessions, &row.passed, &row.scored],
                ["1,234", "11", "12"]
            );
        }
        let rows: Vec<&str> = strata.rows.iter().map(|row| &*row.served).collect();
        let more = if strata.more > 0 { " and more" } else { "" };
        format!(
            "{} | {} | {}{more}",
            strata.common,
            strata.differing,
            rows.join(", ")
        )
    }

    #[test]
    fn rows_name_what_differs() {
        let (a, b, c) = (["m", "p", "f1"], ["m", "p", "f2"], ["m", "q", ""]);
        for (of, want) in [
            (&[][..], "none"),
            (&[&[a][..]][..], "m · p · f1 |  | "),
            (&[&[["m", "", ""]]], "m |  | "),
            (&[&[a], &[b]], "m · p | fingerprint | f1, f2"),
            (&[&[a, b]], "m · p | fingerprint | f1 + f2"),
            (&[&[a], &[c]], "m | provider · fingerprint | p · f1, q"),
            (
                &[&[a], &[]],
                " | model · provider · fingerprint | m · p · f1, not said",
            ),
            (
                &[&[["m", "", "f"]], &[["m", "", ""]]],
                "m | fingerprint | f, not said",
            ),
        ] {
            assert_eq!(strata(of), want);
        }
        let names: Vec<[[&str; 3]; 1]> = "abcdefghijklmn"
            .split("")
            .skip(1)
            .take(14)
            .map(|m| [[m, "", ""]])
            .collect();
        let many: Vec<&[[&str; 3]]> = names.iter().map(|one| &one[..]).collect();
        assert_eq!(
            strata(&many),
            " | model | a, b, c, d, e, f, g, h, i, j, k, l and more"
        );
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
