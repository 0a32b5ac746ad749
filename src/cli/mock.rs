//! `farm mock CASES`: the scripts of a case file, served as a live model would answer.

use std::{collections::HashMap, time::Duration};

use jiff::SignedDuration;
use secrecy::SecretString;
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};

use super::{
    args::{InputArgs, MockArgs},
    exit::{Exit, print, say},
    keys,
    live::Live,
    models::Makings,
    recordings::Recordings,
    setup,
};
use crate::{
    config::{ModelConfig, ModelKind, Until},
    domain::CaseId,
    error::{Context, Error, Result},
    mock::{Answer, Answers, Mock, Options, Shares, Stats},
    report::text::{count, plural, usd},
};

/// `farm mock CASES`.
pub(super) fn mock(args: &MockArgs) -> Result<Exit> {
    let span = args.span.as_deref().map(span).transpose()?;
    let options = options(args)?;
    options.check()?;
    let runtime = Runtime::new().internal(|| "the async runtime did not start".to_owned())?;
    let stats = runtime.block_on(async {
        // Heard before anybody can know that it listens.
        let asked_to_stop = asked_to_stop();
        let (_, mock) = Mock::start(options).await?;
        print(&format!("{}\n", mock.base_url()))?;
        tokio::select! {
            () = asked_to_stop => {}
            () = over(span) => {}
        }
        Ok::<_, Error>(mock.stop().await)
    })?;
    say(&told(&stats));
    Ok(Exit::Done)
}

/// What the server is told.
fn options(args: &MockArgs) -> Result<Options> {
    let (model, answers) = scripts(args)?;
    let key = args.key_env.as_deref().map(key).transpose()?;
    Ok(Options {
        port: args.port,
        latency: args.latency,
        shares: Shares {
            rate_limited: args.rate_limited,
            failing: args.failing,
            hanging: args.hanging,
            reset: args.reset,
            half: args.half,
            malformed: args.malformed,
        },
        faults_seed: args.faults_seed,
        retry_after: args.retry_after,
        requests_per_minute: args.requests_per_minute,
        price: args.price,
        reports: args.reports.into(),
        key,
        ..Options::new(model.name.to_string(), model.tool_mode, answers)
    })
}

/// The model whose scripts are served, and they. What is sealed is not read.
fn scripts(args: &MockArgs) -> Result<(ModelConfig, Answers)> {
    let input = InputArgs {
        cases: args.cases.clone(),
        config: args.config.clone(),
        models: args.model.clone().into_iter().collect(),
        seeds: args.seeds.clone(),
        run_seed: args.run_seed,
        unscored: true,
        ..InputArgs::default()
    };
    let inputs = setup::read(&input.request()?)?;
    if !inputs.problems.is_empty() {
        return Err(Error::problems(inputs.problems));
    }
    let models = inputs.config.variants.iter().map(|variant| &variant.model);
    let scripted = models
        .into_iter()
        .find(|model| matches!(model.kind, ModelKind::Scripted { .. }));
    let model = scripted.cloned().ok_or_else(|| {
        Error::input("no scripted model is selected")
            .hint("name one of the config with --model, or add one: kind = \"scripted\"")
    })?;
    let (lines, cases): (Vec<usize>, Vec<_>) = inputs.cases.into_iter().unzip();
    let lines: HashMap<CaseId, usize> = cases.iter().map(|c| c.id.clone()).zip(lines).collect();
    let place = |case: &CaseId| (args.cases.as_path(), lines.get(case).copied().unwrap_or(0));
    let run = &inputs.config.run;
    let seeds = run.seeds.range();
    let makings = Makings {
        cases: &cases,
        seeds: seeds.clone(),
        scripts: &inputs.scripts,
        recordings: &Recordings::default(),
        live: &Live::of(&inputs.config, true),
        place: &place,
    };
    let ModelKind::Scripted { scripts: from, .. } = &model.kind else {
        return Err(Error::internal("a model that is not scripted was selected"));
    };
    let scripts = makings.scripts_of(&model, from.as_ref())?;
    let answers = cases.into_iter().map(|case| Answer {
        every: scripts.every(&case.id),
        of_one_seed: scripts.of_one_seed(&case.id).collect(),
        case: case.id,
        task: case.task,
    });
    let answers = Answers::new(answers.collect(), run.run_seed, seeds);
    Ok((model, answers))
}

/// The key in an environment variable.
fn key(name: &str) -> Result<SecretString> {
    keys::key(name).map_err(|what| {
        Error::input(format!("--key-env: the environment variable {name} {what}"))
            .hint("set it for the server and for the runs that ask it")
    })
}

/// How long to serve.
fn span(text: &str) -> Result<Duration> {
    let wrong = || {
        let error = Error::input(format!("--for: {text:?} is no span of time"));
        error.hint("write one such as 90s, 8h or 1h30m (units d, h, m, s)")
    };
    match text.parse() {
        Ok(Until::In(span)) => SignedDuration::try_into(span).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

/// Comes when that time is over; without one, never.
async fn over(span: Option<Duration>) {
    match span {
        Some(span) => tokio::time::sleep(span).await,
        None => std::future::pending().await,
    }
}

/// Comes with the first SIGINT or SIGTERM; they are heard from the call on.
fn asked_to_stop() -> impl Future<Output = ()> {
    let streams = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    async move {
        let (Ok(mut interrupt), Ok(mut terminate)) = streams else {
            say("warning: signals cannot be heard; Ctrl-C ends farm at once");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

/// What the server has seen, for a person.
fn told(stats: &Stats) -> String {
    let of = &stats.outcomes;
    let outcomes = [
        (of.ok, "ok"),
        (of.malformed, "malformed"),
        (of.error, "scripted errors"),
        (of.rate_limited, "rate limited"),
        (of.failing, "failing"),
        (of.hanging, "hanging"),
        (of.reset, "reset"),
        (of.half, "half sent"),
        (of.refused, "refused"),
        (of.gone, "gone"),
    ];
    let seen: Vec<String> = outcomes
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", count(n)))
        .collect();
    let mut told = plural(stats.requests, "request");
    if !seen.is_empty() {
        told += &format!(
            ": {}; at most {} at once; charged {}",
            seen.join(", "),
            count(stats.highest_in_flight),
            usd(stats.charged_usd),
        );
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::Outcomes;

    #[test]
    fn spans_of_time() {
        assert_eq!(span("1h30m").unwrap(), Duration::from_secs(5_400));
        for text in ["", "8", "none", "07:00", "0s", "2026-12-01T07:00:00Z"] {
            let error = span(text).unwrap_err();
            assert!(error.message.contains("is no span"), "{}", error.message);
        }
    }

    #[test]
    fn what_was_seen_in_one_line() {
        assert_eq!(told(&Stats::default()), "0 requests");
        let stats = Stats {
            requests: 1_300,
            outcomes: Outcomes {
                ok: 1_200,
                half: 100,
                ..Outcomes::default()
            },
            highest_in_flight: 64,
            charged_usd: 1.5,
            ..Stats::default()
        };
        let want = "1,300 requests: 1,200 ok, 100 half sent; at most 64 at once; charged $1.500";
        assert_eq!(told(&stats), want);
    }
}
