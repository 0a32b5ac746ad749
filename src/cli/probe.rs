//! Asks each live variant and judge once before a run: what is wrong with an endpoint is told once,
//! and not by every session.

use std::{sync::Arc, time::Duration};

use futures_util::future::{join, join_all};
use tokio::{runtime::Runtime, time::timeout};

use super::{exit::say, live::host, setup::Ready};
use crate::{
    config::{ModelConfig, ModelKind},
    domain::{Clock, OnBehalf, Purpose, SessionId},
    error::{Error, Result},
    model::{Asked, Caller, Judge, ModelError, ModelErrorKind, Part, Request, Retry, Watch},
    report::text::plural,
    run::Plan,
};

/// The longest that a probe takes: an endpoint that hangs is told of soon, though a model may be given
/// longer for a reply.
const PATIENCE: Duration = Duration::from_secs(120);

/// Probes the live variants and judges of a run that is about to begin, unless the config says not
/// to.
///
/// # Errors
/// What is wrong with an endpoint.
pub(super) fn before(runtime: &Runtime, ready: &Ready, is_told: bool) -> Result<()> {
    let judges = judges(ready);
    let (variants, all) = (ready.live.len(), ready.live.len() + judges.len());
    if !ready.config.run.probe || all == 0 {
        return Ok(());
    }
    if is_told {
        let kinds = [(variants, "live variant"), (judges.len(), "judge")];
        let kinds = kinds.iter().filter(|(n, _)| *n > 0);
        let kinds: Vec<String> = kinds.map(|(n, what)| plural(*n as u64, what)).collect();
        say(&format!(
            "asking each of {} once; `--no-probe` begins without",
            kinds.join(" and ")
        ));
    }
    runtime.block_on(probe(ready, &judges))
}

/// The judges that ask a live model, with that.
fn judges(ready: &Ready) -> Vec<(&ModelConfig, &Judge)> {
    let config = &ready.config;
    let of_steps = config.session.judge.as_ref().map(|judge| &judge.model);
    let of_steps = of_steps.zip(ready.plan.variants[0].judge.as_ref());
    let of_steps = of_steps.map(|(model, of)| (model, &of.judge));
    let of_sessions = config.score_judge.as_ref().map(|grader| &grader.model);
    let of_sessions = of_sessions.zip(ready.grader.as_ref());
    let all = of_steps.into_iter().chain(of_sessions);
    all.filter(|(model, _)| matches!(model.kind, ModelKind::OpenAi(_)))
        .collect()
}

/// Sends the first request of the first session of each of these variants, and drops the reply; has
/// judges grade a sum.
///
/// # Errors
/// What is wrong with an endpoint, and what to do about it.
async fn probe(ready: &Ready, judges: &[(&ModelConfig, &Judge)]) -> Result<()> {
    let variants = join_all(ready.live.iter().map(|variant| ask(ready, *variant)));
    let asked = judges
        .iter()
        .map(|(model, judge)| ask_judge(&ready.plan, model, judge));
    let judges = join_all(asked);
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
    hints.dedup();
    Err(Error::input(messages.join("\n")).hint(hints.join("\nhint: ")))
}

/// What is wrong with the endpoint of a variant, if anything is.
async fn ask(ready: &Ready, variant: usize) -> Option<ModelError> {
    let plan = &ready.plan;
    let id = SessionId(plan.grid.span().start + variant as u64);
    let key = plan.grid.key(id);
    let caller = caller();
    let request = Request {
        case: &key.case,
        seed: key.seed,
        rng_seed: plan.rng_seed(id),
        conversation: &plan.conversation(id),
        caller: &caller,
    };
    let call = plan.variants[variant].model.complete(&request);
    in_time(&ready.config.variants[variant].model, call).await
}

/// What is wrong with a judge, if anything is: its endpoint, or that its replies are no grades.
async fn ask_judge(plan: &Plan, model: &ModelConfig, judge: &Judge) -> Option<ModelError> {
    let id = SessionId(plan.grid.span().start);
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
    let error = in_time(model, judge.ask(&asked, &caller())).await?;
    // That of the endpoint names it already.
    Some(match error.kind {
        ModelErrorKind::NoReply => named(model, error),
        _ => error,
    })
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

/// The error of a call, and that it takes too long.
async fn in_time<T>(
    model: &ModelConfig,
    call: impl Future<Output = Result<T, ModelError>>,
) -> Option<ModelError> {
    let Ok(result) = timeout(PATIENCE, call).await else {
        let late = ModelError {
            kind: ModelErrorKind::Timeout,
            message: format!("no reply within {} s", PATIENCE.as_secs()),
            retry: Retry::Later,
        };
        return Some(named(model, late));
    };
    let error = result.err()?;
    // The endpoint works: how long a request may be is the session's affair, and how many there may
    // be that of the run.
    let works = [ModelErrorKind::Context, ModelErrorKind::RateLimited];
    (!works.contains(&error.kind)).then_some(error)
}

/// As the gateway names a model in its errors.
fn named(model: &ModelConfig, error: ModelError) -> ModelError {
    let at = match &model.kind {
        ModelKind::OpenAi(live) => format!(" at {}", host(&live.base_url)),
        _ => String::new(),
    };
    ModelError {
        message: format!("model {}{at}: {}", model.name, error.message),
        ..error
    }
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
        ModelErrorKind::NoReply => {
            "a judge has to reply with the JSON object that it is asked for: name a model that does, \
             or look at its response_format; `--no-probe` begins without asking"
        }
        _ => "nothing has been run",
    }
}
