//! Caps on money hold only where it is known what a call can cost at most.

use super::{
    Grader, Judge, ModelConfig, ModelKind, Variant,
    audit::Audit,
    kinds::Misfit,
    settings::{Settings, show},
};

/// Who asks a model, and what the cap on its session is, if there is one.
struct Asking<'a> {
    /// As the config names it.
    who: String,
    model: &'a ModelConfig,
    session_cap: Option<Vec<String>>,
}

/// Tells which caps could not hold, each where it is set.
pub(super) fn check(
    audit: &mut Audit<'_>,
    variants: &[Variant],
    judge: Option<&Judge>,
    grader: Option<&Grader>,
) {
    let settings = audit.settings;
    let variants = variants.iter().map(|variant| Asking {
        who: format!("variant `{}`", variant.name),
        model: &variant.model,
        session_cap: variant
            .limits
            .max_cost_usd
            .map(|_| session_cap(settings, variant.name.as_str())),
    });
    let judging = |who: &str, model| Asking {
        who: who.to_owned(),
        model,
        session_cap: None,
    };
    let judge = judge.map(|judge| judging("session.judge", &judge.model));
    let grader = grader.map(|grader| judging("score.judge", &grader.model));
    let mut told: Vec<String> = Vec::new();
    for asking in variants.chain(judge).chain(grader) {
        let Some((cap, misfit)) = fault(settings, &asking) else {
            continue;
        };
        // A price is that of a model, whoever asks it.
        if told.contains(&misfit.message) {
            continue;
        }
        told.push(misfit.message.clone());
        let cap: Vec<&str> = cap.iter().map(String::as_str).collect();
        audit.tell(&cap, misfit);
    }
}

/// Where a cap on the sessions of a variant is set.
pub(super) fn session_cap(settings: &Settings, variant: &str) -> Vec<String> {
    let own = ["variants", variant, "limits", "max_cost_usd"];
    let path: &[&str] = match settings.is_missing(&own) {
        true => &["session", "max_cost_usd"],
        false => &own,
    };
    path.iter().map(|part| (*part).to_owned()).collect()
}

/// The first cap that is in force and why it could not hold.
fn fault(settings: &Settings, asking: &Asking<'_>) -> Option<(Vec<String>, Misfit)> {
    let ModelKind::OpenAi(live) = &asking.model.kind else {
        return None;
    };
    let name = asking.model.name.as_str();
    let run: &[&str] = &["run", "max_cost_usd"];
    let is_run_capped = settings.text(run) != Some("none");
    let of_run = is_run_capped.then_some(run);
    let model: &[&str] = &["models", name, "max_cost_usd"];
    let of_model = live.max_cost_usd.map(|_| model);
    let owned = |path: &[&str]| path.iter().map(|part| (*part).to_owned()).collect();
    let cap = [of_run, of_model].into_iter().flatten().next().map(owned);
    let cap = cap.or_else(|| asking.session_cap.clone())?;
    let table = show(&["models".to_owned(), name.to_owned()]);
    let misfit = if live.price.is_none() {
        Misfit {
            message: format!("model `{name}` has an unknown price; a cap could not hold"),
            hint: Some(format!(
                "add price = {{ input = …, output = … }} to [{table}], in US dollars per million \
                 tokens"
            )),
        }
    } else if live.output_limit.is_none() {
        Misfit {
            message: format!(
                "{} has an unknown output limit; a cap could not hold",
                asking.who
            ),
            hint: Some(format!("add max_tokens to the parameters of [{table}]")),
        }
    } else {
        return None;
    };
    Some((cap, misfit))
}
