//! Asks each live variant and judge once before a run: what is wrong with an endpoint is told once,
//! and not by every session.

use std::sync::Arc;

use futures_util::future::{join, join_all};
use tokio::runtime::Runtime;

use super::{
    exit::say,
    setup::{Judging, Ready},
};
use crate::{
    config::ModelKind,
    domain::{Clock, OnBehalf, Purpose},
    error::{Error, Result},
    model::{Asked, Caller, ModelError, ModelErrorKind, Part, Request, Watch},
    report::text::plural,
    run::Plan,
};

/// Probes the live variants and judges of a run that is about to begin, unless the config says not
/// to.
///
/// # Errors
/// What is wrong with an endpoint.
pub(super) fn before(runtime: &Runtime, ready: &Ready, is_told: bool) -> Result<()> {
    if !is_due(ready) {
        return Ok(());
    }
    let judges: Vec<_> = live_judges(ready).collect();
    if is_told {
        let kinds = [(ready.live.len(), "live variant"), (judges.len(), "judge")];
        let kinds = kinds.iter().filter(|(n, _)| *n > 0);
        let kinds: Vec<String> = kinds.map(|(n, what)| plural(*n as u64, what)).collect();
        say(&format!(
            "asking each of {} once; `--no-probe` begins without",
            kinds.join(" and ")
        ));
    }
    runtime.block_on(probe(ready, &judges))
}

/// Whether there is anybody to ask.
pub(super) fn is_due(ready: &Ready) -> bool {
    ready.config.run.probe && (!ready.live.is_empty() || live_judges(ready).next().is_some())
}

/// The judges that ask a live model.
fn live_judges(ready: &Ready) -> impl Iterator<Item = Judging<'_>> {
    let judges = ready.judges().into_iter();
    judges.filter(|judging| matches!(judging.model.kind, ModelKind::OpenAi(_)))
}

/// Sends the first request of the first session of each of these variants, and drops the reply; has
/// judges grade a sum.
///
/// # Errors
/// What is wrong with an endpoint, and what to do about it.
async fn probe(ready: &Ready, judges: &[Judging<'_>]) -> Result<()> {
    let variants = join_all(ready.live.iter().map(|variant| ask(ready, *variant)));
    let judges = judges
        .iter()
        .map(|judging| ask_judge(&ready.plan, *judging));
    let judges = join_all(judges);
    let (variants, judges) = join(variants, judges).await;
    let mut told: Vec<(String, &str)> = Vec::new();
    for error in variants.into_iter().chain(judges).flatten() {
        let told_as = (error.to_string(), what_to_do(error.kind));
        // Variants of one model have the same trouble.
        if !told.contains(&told_as) {
            told.push(told_as);
        }
    }
    if told.is_empty() {
        return Ok(());
    }
    let (messages, mut hints): (Vec<String>, Vec<&str>) = told.into_iter().unzip();
    let mut seen = Vec::new();
    hints.retain(|hint| {
        !seen.contains(hint) && {
            seen.push(hint);
            true
        }
    });
    Err(Error::input(messages.join("\n")).hint(hints.join("\nhint: ")))
}

/// What is wrong with the endpoint of a variant, if anything is.
async fn ask(ready: &Ready, variant: usize) -> Option<ModelError> {
    let plan = &ready.plan;
    let id = plan.grid.ids_of(variant, 0).next()?;
    let key = plan.grid.key(id);
    let caller = caller();
    let request = Request {
        case: &key.case,
        seed: key.seed,
        rng_seed: plan.rng_seed(id),
        conversation: &plan.conversation(id),
        caller: &caller,
    };
    let reply = plan.variants[variant].model.complete(&request).await;
    reply.err().filter(is_wrong)
}

/// What is wrong with a judge, if anything is: its endpoint, or that its replies are no grades.
async fn ask_judge(plan: &Plan, judging: Judging<'_>) -> Option<ModelError> {
    let id = plan.grid.ids_of(0, 0).next()?;
    let key = plan.grid.key(id);
    let parts = [
        Part::new("task", "What is 1 + 1?"),
        Part::new("answer", "2"),
    ];
    let asked = Asked {
        case: &key.case,
        seed: key.seed,
        rng_seed: plan.rng_seed(id),
        rubric: "Is the answer right?",
        parts: &parts,
    };
    let graded = judging.judge.ask(&asked, &caller()).await;
    graded.err().filter(is_wrong)
}

/// Whether the endpoint does not work: how long a request may be is the session's affair, and how many
/// calls and how much money there may be that of the run.
fn is_wrong(error: &ModelError) -> bool {
    use ModelErrorKind::{Context, RateLimited, Stopped};
    !matches!(error.kind, Context | RateLimited | Stopped(_))
}

fn caller() -> Caller {
    Caller {
        on_behalf: OnBehalf {
            session: None,
            attempt: 0,
            turn: 0,
            purpose: Purpose::Probe,
        },
        watch: Arc::new(Watch::new(Clock::system())),
        purse: None,
    }
}

fn what_to_do(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Auth => {
            "check the key in the variable that api_key_env names, and whether it may use the model"
        }
        ModelErrorKind::NotFound => "check `model` and `base_url` of the model",
        ModelErrorKind::QuotaExhausted => {
            "top the account up, or name another endpoint; `--no-probe` runs what other endpoints serve"
        }
        ModelErrorKind::NotAnApi => {
            "base_url is what stands before /chat/completions, such as https://HOST/v1"
        }
        ModelErrorKind::BadRequest => {
            "look at the parameters of the model and the tools of the session; a model that takes no \
             tools wants tool_mode = \"json\""
        }
        ModelErrorKind::Provider | ModelErrorKind::Timeout => {
            "check that the endpoint is up and that base_url has its scheme, host and port; \
             `--no-probe` begins without asking"
        }
        ModelErrorKind::NoReply => {
            "a judge has to reply with the JSON object that it is asked for: name a model that does, \
             or look at its response_format; `--no-probe` begins without asking"
        }
        _ => "nothing has been run",
    }
}
