use std::{num::NonZeroUsize, path::PathBuf};

use clap::{Args, ValueEnum};

use crate::{
    domain::Price,
    mock::{self, Latency},
};

pub const HELP: &str = "\
A request is answered by the script of the case whose task is its first user message, with the reply
that the scripted model would give. The server listens on 127.0.0.1 alone. Its only line on stdout is
the address to give a model as base_url. GET /stats says what it has seen and charged.

Faults are drawn from --faults-seed, the task, the request's seed, the turn and how often the very
request came before: the same requests meet the same faults. Whether a reply is malformed does not
depend on how often it is asked for.";

const FAULTS: &str = "Faults, as shares from 0 to 1";
const LIMITS: &str = "Limits, prices and keys";

/// `farm mock`.
#[derive(Debug, Args)]
pub struct MockArgs {
    /// The case file: one JSON object a line
    #[arg(value_name = "CASES")]
    pub cases: PathBuf,
    /// The config file [default: configs/farm.toml, if it is there]
    #[arg(long, value_name = "FILE", env = "FARM_CONFIG")]
    pub config: Option<PathBuf>,
    /// The scripted model whose scripts are served [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The run seed of the runs that will ask: for scripts of one seed
    #[arg(long, value_name = "N")]
    pub run_seed: Option<u64>,
    /// The seeds of the runs that will ask: N, or A..B for A to B-1
    #[arg(long, value_name = "N|A..B")]
    pub seeds: Option<String>,
    /// The port of 127.0.0.1; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u16,
    /// How long to serve: 90s, 8h, 1h30m [default: until Ctrl-C]
    #[arg(long = "for", value_name = "SPAN")]
    pub span: Option<String>,
    /// How long a completion takes: 200ms, or lognormal:200ms:0.5 (median and sigma)
    #[arg(long, value_name = "TIME", default_value = "0ms")]
    pub latency: Latency,

    /// Requests that are refused with HTTP 429
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, hide_default_value = true, value_parser = share, help_heading = FAULTS)]
    pub rate_limited: f64,
    /// Seconds for the Retry-After of those
    #[arg(long, value_name = "S", help_heading = FAULTS)]
    pub retry_after: Option<u64>,
    /// Requests that are refused with HTTP 500
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, hide_default_value = true, value_parser = share, help_heading = FAULTS)]
    pub failing: f64,
    /// Requests that are never answered: the connection stays open
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, hide_default_value = true, value_parser = share, help_heading = FAULTS)]
    pub hanging: f64,
    /// Requests whose connection is closed without an answer
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, hide_default_value = true, value_parser = share, help_heading = FAULTS)]
    pub reset: f64,
    /// Requests that get half of the body, then the connection is closed
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, hide_default_value = true, value_parser = share, help_heading = FAULTS)]
    pub half: f64,
    /// Replies with a tool call whose arguments are broken JSON; replies without a call stay as they
    /// are
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, hide_default_value = true, value_parser = share, help_heading = FAULTS)]
    pub malformed: f64,
    /// Another seed, other faults
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = FAULTS)]
    pub faults_seed: u64,

    /// Requests that are let through in any 60 seconds; the others get HTTP 429 with Retry-After
    #[arg(long, value_name = "N", help_heading = LIMITS)]
    pub requests_per_minute: Option<NonZeroUsize>,
    /// What a completion is charged: US dollars per million tokens of requests and of replies; a
    /// token is four bytes
    #[arg(long, value_name = "IN,OUT", value_parser = price, help_heading = LIMITS)]
    pub price: Option<Price>,
    /// What replies say of their usage
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Reports::Exact, help_heading = LIMITS)]
    pub reports: Reports,
    /// The environment variable with the bearer key that requests must have, or they get HTTP 401
    #[arg(long, value_name = "NAME", help_heading = LIMITS)]
    pub key_env: Option<String>,
}

/// What replies say of their usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reports {
    /// Tokens, and with --price their cost
    Exact,
    /// Tokens, and never a cost
    Tokens,
    /// Nothing
    None,
    /// Tokens, and half of the cost
    Less,
    /// Tokens, and twice the cost
    More,
}

impl From<Reports> for mock::Reports {
    fn from(reports: Reports) -> Self {
        match reports {
            Reports::Exact => Self::Exact,
            Reports::Tokens => Self::Tokens,
            Reports::None => Self::None,
            Reports::Less => Self::Less,
            Reports::More => Self::More,
        }
    }
}

/// A share from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    match (0.0..=1.0).contains(&share) {
        true => Ok(share),
        false => Err("it is not from 0 to 1".to_owned()),
    }
}

/// Two prices, from 0.
fn price(text: &str) -> Result<Price, String> {
    let usd = |text: &str| {
        let usd: Option<f64> = text.trim().parse().ok();
        usd.filter(|usd| usd.is_finite() && *usd >= 0.0)
    };
    let both = text.split_once(',');
    let both = both.and_then(|(input, output)| Some((usd(input)?, usd(output)?)));
    let (input, output) =
        both.ok_or("write US dollars per million tokens of requests and of replies, such as 3,15")?;
    Ok(Price {
        input,
        cached: None,
        output,
    })
}
