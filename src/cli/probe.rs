//! Asks each live variant once before a run: what is wrong with an endpoint is told once, and not by
//! every session.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::runtime::Runtime;

use super::{exit::say, setup::Ready};
use crate::{
    domain::{Clock, OnBehalf, Purpose, SessionId},
    error::{Error, Result},
    model::{Caller, ModelError, ModelErrorKind, Request, Watch},
    report::text::plural,
    run::Plan,
};

/// Probes the live variants of a run that is about to begin, unless the config says not to.
///
/// # Errors
/// What is wrong with an endpoint.
pub(super) fn before(runtime: &Runtime, ready: &Ready, is_told: bool) -> Result<()> {
    if !ready.config.run.probe || ready.live.is_empty() {
        return Ok(());
    }
    if is_told {
        let n = plural(ready.live.len() as u64, "live variant");
        say(&format!(
            "asking each of {n} once; `--no-probe` begins without"
        ));
    }
    runtime.block_on(probe(&ready.plan, &ready.live))
}

/// Sends the first request of the first session of each of these variants, and drops the reply.
///
/// # Errors
/// What is wrong with an endpoint, and what to do about it.
async fn probe(plan: &Plan, variants: &[usize]) -> Result<()> {
    let errors = join_all(variants.iter().map(|variant| ask(plan, *variant))).await;
    let mut told: Vec<(String, &str)> = Vec::new();
    for error in errors.into_iter().flatten() {
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
    hints.dedup();
    Err(Error::input(messages.join("\n")).hint(hints.join("\nhint: ")))
}

/// What is wrong with the endpoint of a variant, if anything is.
async fn ask(plan: &Plan, variant: usize) -> Option<ModelError> {
    let id = SessionId(plan.grid.span().start + variant as u64);
    let key = plan.grid.key(id);
    let caller = Caller {
        on_behalf: OnBehalf {
            session: None,
            attempt: 0,
            turn: 0,
            purpose: Purpose::Probe,
        },
        watch: Arc::new(Watch::new(Clock::system())),
        purse: None,
    };
    let request = Request {
        case: &key.case,
        seed: key.seed,
        rng_seed: plan.rng_seed(id),
        conversation: &plan.conversation(id),
        caller: &caller,
    };
    let error = plan.variants[variant]
        .model
        .complete(&request)
        .await
        .err()?;
    // The endpoint works: how long a request may be is the session's affair, and how many there may
    // be that of the run.
    let works = [ModelErrorKind::Context, ModelErrorKind::RateLimited];
    (!works.contains(&error.kind)).then_some(error)
}

fn what_to_do(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Auth => {
            "check the key in the variable that api_key_env names, and whether it may use the model"
        }
        ModelErrorKind::NotFound => "check `model` and `base_url` of the model",
        ModelErrorKind::QuotaExhausted => "top the account up, or name another endpoint",
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
        _ => "nothing has been run",
    }
}
