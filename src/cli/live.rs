//! Live models: their endpoints and clients, and the money that they share.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    env,
    sync::Arc,
};

use secrecy::SecretString;

use super::keys;
use crate::{
    config::{self, ModelConfig, ModelKind, Resolved},
    domain::Clock,
    error::{Context, Error, Result},
    model::{
        self, Model, OpenAi,
        gateway::{Endpoint, EndpointOptions, Ends, Line, Till},
        money::{Account, Money as Cap},
        openai::{Client, ClientOptions, Proxies, Settings},
    },
    store::{CallBooks, Handle, Money},
};

/// Endpoints by address and key.
type Endpoints = HashMap<(String, Option<String>), Arc<Endpoint>>;

/// What the live models of a run share.
pub(super) struct Live<'a> {
    config: &'a Resolved,
    till: Arc<Till>,
    /// The place of each model's account, by the model's name.
    accounts: BTreeMap<&'a str, usize>,
    endpoints: RefCell<Endpoints>,
    proxies: Proxies,
    /// Keys that are missing are no problem: nothing will be asked.
    is_dry: bool,
}

impl<'a> Live<'a> {
    /// Of the models that a config has; `is_dry` if none of them will be asked.
    pub fn of(config: &'a Resolved, is_dry: bool) -> Self {
        let mut accounts = BTreeMap::new();
        let mut caps = Vec::new();
        for model in config.models() {
            if let ModelKind::OpenAi(live) = &model.kind
                && !accounts.contains_key(model.name.as_str())
            {
                accounts.insert(model.name.as_str(), caps.len());
                caps.push(Account::new(live.max_cost_usd, 0.0));
            }
        }
        let money = Cap::new(Account::new(config.run.max_cost_usd, 0.0), caps);
        Self {
            config,
            till: Arc::new(Till::new(money, Clock::system())),
            accounts,
            endpoints: RefCell::default(),
            proxies: proxies(),
            is_dry,
        }
    }

    /// The model of a table, as one asks it who has `options`.
    ///
    /// # Errors
    /// When its key is not there, or something cannot be sent.
    pub fn model(
        &self,
        model: &ModelConfig,
        live: &config::OpenAi,
        options: model::Options,
    ) -> Result<Arc<dyn Model>> {
        let client = Client::new(&ClientOptions {
            base_url: live.base_url.clone(),
            key: self.key(model, live)?,
            key_header: live.api_key_header.clone(),
            headers: live.headers.clone(),
            connect_timeout: live.connect_timeout,
            proxies: self.proxies.clone(),
        })
        .map_err(|e| Error {
            message: format!("model {}: {}", model.name, e.message),
            ..e
        })?;
        let name = model.name.as_str();
        let account = self.accounts.get(name).copied();
        let account = account
            .ok_or_else(|| Error::internal(format!("model {name} of the config has no account")))?;
        let line = Line {
            model: name.to_owned(),
            endpoint: self.endpoint(live),
            till: self.till.clone(),
            account,
            price: live.price,
            output_limit: live.output_limit,
            max_tries: live.max_tries,
        };
        let settings = Settings {
            model: live.model.clone(),
            options,
            send_seed: live.send_seed,
            response_format: live.response_format,
            timeout: live.timeout,
        };
        Ok(Arc::new(OpenAi::new(client, line, settings)))
    }

    /// The money of the run, with each live model's account.
    pub fn into_funds(self) -> Funds {
        let accounts = self.accounts.into_iter();
        Funds {
            till: self.till,
            accounts: accounts.map(|(name, at)| (name.to_owned(), at)).collect(),
        }
    }

    /// Models of one address and key share its slots and rates.
    fn endpoint(&self, live: &config::OpenAi) -> Arc<Endpoint> {
        let slots_max = live.slots_max.unwrap_or(self.config.run.concurrency);
        let (address, key) = live.endpoint();
        let key = (address.to_owned(), key.map(str::to_owned));
        let mut endpoints = self.endpoints.borrow_mut();
        let endpoint = endpoints.entry(key).or_insert_with(|| {
            Arc::new(Endpoint::new(EndpointOptions {
                host: host(&live.base_url).to_owned(),
                slots_start: live.slots_start,
                slots_max,
                requests_per_minute: live.requests_per_minute,
                tokens_per_minute: live.tokens_per_minute,
            }))
        });
        endpoint.clone()
    }

    fn key(&self, model: &ModelConfig, live: &config::OpenAi) -> Result<Option<SecretString>> {
        let Some(name) = &live.api_key_env else {
            return Ok(None);
        };
        let what = match keys::key(name) {
            Ok(key) => return Ok(Some(key)),
            Err(_) if self.is_dry => return Ok(None),
            Err(what) => what,
        };
        let path = format!("models.\"{}\".api_key_env", model.name);
        let problem = self
            .config
            .problem(&path, format!("the environment variable {name} {what}"))
            .hint(format!(
                "export {name}=…, or leave api_key_env out if {} wants no key",
                host(&live.base_url)
            ));
        Err(Error::problems(vec![problem]))
    }
}

/// The money of a run, with each live model's account.
pub(super) struct Funds {
    till: Arc<Till>,
    /// The place of each model's account, by the model's name.
    accounts: BTreeMap<String, usize>,
}

impl Funds {
    /// Opens the books of a run in which that much has been spent, and that ends early as `ends` say. When
    /// they were open, only the place changes where they are kept.
    ///
    /// # Errors
    /// When they cannot be written.
    pub async fn open(&self, store: Handle, spent: &Money, ends: Ends) -> Result<()> {
        if !self.till.is_open() {
            for (model, spent) in &spent.models {
                // The money of a model that was taken out of the config is spent all the same.
                match self.accounts.get(model) {
                    Some(account) => self.till.money().book(*account, spent.booked_usd),
                    None => self.till.money().book_for_run(spent.booked_usd),
                }
            }
        }
        let books = Arc::new(CallBooks::new(store));
        let opened = self.till.open(books, spent.next_call, ends).await;
        opened.internal(|| "the books of the run".to_owned())
    }
}

/// The host of an address, with its port if it has one.
pub(super) fn host(base_url: &str) -> &str {
    let rest = base_url
        .split_once("://")
        .map_or(base_url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Proxies as the environment names them: in lower case first, as curl reads them.
fn proxies() -> Proxies {
    let var = |name: &str| {
        let lower = env::var(name.to_ascii_lowercase());
        lower.or_else(|_| env::var(name)).ok()
    };
    Proxies {
        http: var("HTTP_PROXY"),
        https: var("HTTPS_PROXY"),
        all: var("ALL_PROXY"),
        no_proxy: var("NO_PROXY"),
    }
}
