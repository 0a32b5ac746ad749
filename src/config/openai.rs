//! Models behind an endpoint that speaks the chat-completions dialect.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{audit::Audit, headers, kinds::Misfit, settings::Name, url};
use crate::{
    domain::{Price, ResponseFormat},
    error::Result,
};

/// What asks a live model: the endpoint, the model there, and what it may take.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenAi {
    /// What stands before `/chat/completions`; no slash at its end, scheme and host in lower case.
    pub base_url: String,
    /// The model as the endpoint knows it.
    pub model: String,
    /// The environment variable that holds the key; none: no key is sent.
    pub api_key_env: Option<String>,
    /// The header that the key is sent in, as it is; none: `authorization`, after `Bearer `.
    pub api_key_header: Option<String>,
    /// Sent along with each request; they hold no key, and nothing that the client sets.
    pub headers: Vec<(String, String)>,
    /// Whether the session's seed is sent.
    pub send_seed: bool,
    /// How a JSON object is asked for in json tool mode.
    pub response_format: ResponseFormat,
    /// What tokens cost.
    pub price: Option<Price>,
    /// The most US dollars that the model may cost in a run.
    pub max_cost_usd: Option<f64>,
    /// Calls at the same time to begin with, at least 1; there may be fewer by `slots_max`.
    pub slots_start: u32,
    /// The most calls at the same time, at least 1; none: `run.concurrency`.
    pub slots_max: Option<u32>,
    /// The most requests in a minute, at least 1.
    pub requests_per_minute: Option<u64>,
    /// The most tokens in a minute, in and out together, at least 1.
    pub tokens_per_minute: Option<u64>,
    /// How often a call is tried, at least 1; 429 never counts.
    pub max_tries: u32,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long a whole reply may take.
    pub timeout: Duration,
    /// The most tokens of a reply, as `max_completion_tokens`, else `max_tokens`, of the parameters
    /// of who asks: of a variant with its own over those of the model.
    pub output_limit: Option<u64>,
}

impl OpenAi {
    /// What makes an endpoint: its address, and the variable with the key for it. Models of one share
    /// its slots, rates and troubles.
    #[must_use]
    pub fn endpoint(&self) -> (&str, Option<&str>) {
        (&self.base_url, self.api_key_env.as_deref())
    }
}

#[derive(Deserialize)]
struct Table {
    base_url: Option<String>,
    model: Option<String>,
    api_key_env: Option<String>,
    api_key_header: Option<String>,
    headers: toml::Table,
    send_seed: bool,
    response_format: ResponseFormat,
    #[serde(default)]
    price: Prices,
    max_cost_usd: Option<f64>,
    slots: Slots,
    #[serde(default)]
    rates: Rates,
    max_tries: u32,
    connect_timeout_s: f64,
    timeout_s: f64,
}

#[derive(Deserialize, Default)]
struct Prices {
    input: Option<f64>,
    cached: Option<f64>,
    output: Option<f64>,
}

#[derive(Deserialize)]
struct Slots {
    start: u32,
    max: Option<u32>,
}

#[derive(Deserialize, Default)]
struct Rates {
    requests_per_minute: Option<u64>,
    tokens_per_minute: Option<u64>,
}

/// The model of a table of this kind; none when it lacks what it needs, which has been told.
pub(super) fn build(audit: &mut Audit<'_>, at: &Name) -> Result<Option<OpenAi>> {
    let table: Table = audit.settings.read(&["models", &at.name])?;
    let base_url = table.base_url.as_deref().map(url::base_url);
    let base_url = match base_url {
        Some(Err(misfit)) => {
            audit.tell(&["models", &at.name, "base_url"], misfit);
            None
        }
        Some(Ok(base_url)) => Some(base_url),
        None => None,
    };
    key(audit, at, &table);
    let headers: Vec<(String, String)> = table
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    for misfit in headers::faults(&headers, table.api_key_header.as_deref()) {
        audit.tell(&["models", &at.name, "headers"], misfit);
    }
    let prices = ["input", "cached", "output"];
    audit.whole(
        &["models", &at.name, "price"],
        &prices,
        &["input", "output"],
    );
    let price = table.price.input.zip(table.price.output);
    let (Some(base_url), Some(model)) = (base_url, table.model) else {
        return Ok(None);
    };
    Ok(Some(OpenAi {
        base_url,
        model,
        api_key_env: table.api_key_env,
        api_key_header: table.api_key_header,
        headers,
        send_seed: table.send_seed,
        response_format: table.response_format,
        price: price.map(|(input, output)| Price {
            input,
            cached: table.price.cached,
            output,
        }),
        max_cost_usd: table.max_cost_usd,
        slots_start: table.slots.start,
        slots_max: table.slots.max,
        requests_per_minute: table.rates.requests_per_minute,
        tokens_per_minute: table.rates.tokens_per_minute,
        max_tries: table.max_tries,
        connect_timeout: Duration::from_secs_f64(table.connect_timeout_s),
        timeout: Duration::from_secs_f64(table.timeout_s),
        output_limit: None,
    }))
}

/// What is wrong with where the key is, and how it is sent. Nothing is quoted: what stands in place
/// of a name may be the key itself.
fn key(audit: &mut Audit<'_>, at: &Name, table: &Table) {
    let misfit = |message: &str, hint: &str| Misfit {
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    };
    let is_name = |name: &String| {
        name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !looks_like_key(name)
    };
    if !table.api_key_env.as_ref().is_none_or(is_name) {
        let misfit = misfit(
            "is no name of an environment variable",
            "name the variable that holds the key, such as \"OPENROUTER_API_KEY\"",
        );
        audit.tell(&["models", &at.name, "api_key_env"], misfit);
    } else if table
        .api_key_env
        .as_ref()
        .is_some_and(|name| name.starts_with("FARM_"))
    {
        let hint = "name another one: FARM_RUN_SEEDS and its like set keys of the config";
        let misfit = misfit("is a variable that farm takes for config of its own", hint);
        audit.tell(&["models", &at.name, "api_key_env"], misfit);
    }
    let Some(header) = &table.api_key_header else {
        return;
    };
    let path = ["models", &at.name, "api_key_header"];
    if !headers::is_name(header) {
        let hint = "name the header alone, such as \"x-api-key\"";
        audit.tell(&path, misfit("is no name of a header", hint));
    } else if headers::is_own(header) {
        let hint = "name the one that the endpoint looks for";
        audit.tell(&path, misfit("is a header that farm sets itself", hint));
    }
    let key_env = ["models", &at.name, "api_key_env"];
    if audit.settings.is_missing(&key_env) {
        let hint = "add api_key_env, the environment variable that holds the key";
        audit.tell(&path, misfit("there is no key to send", hint));
    }
}

/// Names of variables are short words: a long one with small letters and digits is a key that was
/// pasted in the wrong place.
fn looks_like_key(name: &str) -> bool {
    let has = |is: fn(&u8) -> bool| name.as_bytes().iter().any(is);
    name.len() >= 20 && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
}

/// Parameters that farm sets itself, each with what to do instead.
const RESERVED: [(&str, &str); 6] = [
    ("model", "set `model` in the table of the model"),
    (
        "messages",
        "set `session.prompt`; the task is that of the case",
    ),
    (
        "tools",
        "name them in `session.tools`, or in the `tools` of a variant or case",
    ),
    ("seed", "set `run.run_seed`; `send_seed = false` sends none"),
    ("stream", "leave it out: replies are not streamed"),
    (
        "n",
        "leave it out: `run.seeds` says how often a case is run",
    ),
];

/// The parameters that limit a reply; the first that is there holds.
const LIMITS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// What is wrong with parameters that are to be sent to an endpoint.
pub(super) fn faults(parameters: &Map<String, Value>) -> Vec<Misfit> {
    let reserved = RESERVED
        .iter()
        .filter(|(name, _)| parameters.contains_key(*name));
    let reserved = reserved.map(|(name, instead)| Misfit {
        message: format!("`{name}` is set by farm itself"),
        hint: Some((*instead).to_owned()),
    });
    let limits = LIMITS.iter().filter_map(|name| {
        let limit = parameters.get(*name)?;
        let is_limit = limit.as_u64().is_some_and(|limit| limit > 0);
        (!is_limit).then(|| Misfit {
            message: format!("{name} must be a whole number of at least 1, is {limit}"),
            hint: None,
        })
    });
    reserved.chain(limits).collect()
}

/// The most tokens of a reply that is asked for with these parameters.
pub(super) fn output_limit(parameters: &Map<String, Value>) -> Option<u64> {
    let mut limits = LIMITS.iter().filter_map(|name| parameters.get(*name));
    limits.next()?.as_u64()
}
