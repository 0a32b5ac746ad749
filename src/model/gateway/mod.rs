//! The way of every call to a live endpoint: money, a slot, the endpoint's rates, the books, the
//! call itself; and again after a failure that may pass.

mod charge;
mod endpoint;
mod rate;
mod retry;
mod retry_after;
mod slots;
mod till;

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

pub use charge::{Reach, charge};
pub use endpoint::{Endpoint, EndpointOptions};
pub use retry_after::retry_after;
pub use till::Till;

use self::{
    retry::{After, Tries, Wish, after},
    slots::{Ended, Slot},
};
use super::{Caller, ModelError, ModelErrorKind, Retry, Stop, money::Hold};
use crate::domain::{Activity, BooksLost, Price, Purpose, Usage};

/// Tries of a probe: what is wrong is to be told soon.
const PROBE_TRIES: u32 = 2;

/// One model's way to its endpoint.
pub struct Line {
    /// The model's name in the config.
    pub model: String,
    /// Where it is served.
    pub endpoint: Arc<Endpoint>,
    /// What its calls are paid from.
    pub till: Arc<Till>,
    /// The place of its account there.
    pub account: usize,
    /// What its tokens cost, if that is known.
    pub price: Option<Price>,
    /// The most tokens of one reply, if they are limited.
    pub output_limit: Option<u64>,
    /// Tries of one call, at least one; refusals for too many requests use up none.
    pub max_tries: u32,
}

/// A call, whoever it is sent by.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// On whose behalf.
    pub caller: &'a Caller,
    /// What its pauses are drawn from.
    pub rng_seed: u64,
    /// Bytes of its request.
    pub bytes: usize,
}

/// What came of sending a call once.
pub struct Sent<T> {
    /// The reply, or why there is none.
    pub reply: Result<T, ModelError>,
    /// What the endpoint says that it took, also in an error.
    pub usage: Option<Usage>,
    /// How far the call came.
    pub reach: Reach,
    /// How long the endpoint asks to wait.
    pub retry_after: Option<Duration>,
}

impl Line {
    /// Makes a call: as often as it takes, and as may be. `send` sends it once. Dropping the future
    /// abandons the call; what was sent by then is taken to cost all that it can.
    ///
    /// # Errors
    /// When the endpoint gave no reply; when no further call is made for this caller.
    pub async fn call<T, F: Future<Output = Sent<T>>>(
        &self,
        call: Call<'_>,
        send: impl Fn() -> F,
    ) -> Result<T, ModelError> {
        let mut tries = Tries::default();
        let mut refused_since = None;
        let is_probe = call.caller.on_behalf.purpose == Purpose::Probe;
        let max_tries = match is_probe {
            true => self.max_tries.min(PROBE_TRIES),
            false => self.max_tries,
        };
        loop {
            let (sent, told) = self.once(call, &send).await?;
            let error = match sent.reply {
                Ok(reply) => return Ok(reply),
                Err(error) => unquoted(error, call.caller.on_behalf.purpose),
            };
            let mut wish = Wish {
                pause: sent.retry_after,
                refusing: Duration::ZERO,
            };
            if error.kind == ModelErrorKind::RateLimited {
                tries.refused += 1;
                let since = *refused_since.get_or_insert(told);
                wish.refusing = told - since.max(self.endpoint.answered());
            } else {
                tries.failed += 1;
                refused_since = None;
            }
            let address = (call.rng_seed, call.caller.on_behalf.turn);
            tracing::debug!(model = self.model, %error, ?tries, "a call failed");
            // Who says that it gets too many requests is there, and takes them.
            let is_answer = is_probe && error.kind == ModelErrorKind::RateLimited;
            match after(error.clone(), tries, max_tries, wish, address) {
                After::Again(_) if is_answer => return Err(self.named(error)),
                After::Again(pause) => {
                    let _waiting = call.caller.watch.waits(Activity::Backoff, Some(pause));
                    let pause = tokio::time::sleep_until(told + pause);
                    self.endpoint.unless_parked(pause).await?;
                }
                After::GiveUp(error) => return Err(self.named(error)),
                // A probe stands before the run: whoever asks is told what is wrong.
                After::Park(error) if is_probe => return Err(self.named(error)),
                After::Park(error) => {
                    let error = self.named(error);
                    return Err(self.endpoint.park(error));
                }
            }
        }
    }

    /// Sends a call once, when it may be; with when its end was known.
    async fn once<T, F: Future<Output = Sent<T>>>(
        &self,
        call: Call<'_>,
        send: &impl Fn() -> F,
    ) -> Result<(Sent<T>, Instant), ModelError> {
        let most = self
            .price
            .map(|price| price.at_most(call.bytes, self.output_limit.unwrap_or(0)));
        // An estimate: four bytes a token.
        let tokens = call.bytes as u64 / 4 + self.output_limit.unwrap_or(0);
        // It may be parked meanwhile: then nobody waits for its money, slots and rates any longer.
        let ready = self.endpoint.unless_parked(self.ready(call, most, tokens));
        let (mut hold, mut slot) = ready.await??;
        if self.till.is_interrupted() {
            // What is ready may be so since others were dropped already.
            std::future::pending::<()>().await;
        }
        let mut booked = None;
        if let (Some(hold), Some(usd)) = (&mut hold, most) {
            booked = Some(self.book(call, usd).await?);
            hold.sent();
        }
        slot.sent();
        let sent = send().await;
        let told = Instant::now();
        let ended = match &sent.reply {
            Ok(_) => Ended::Succeeded,
            Err(e) if e.kind == ModelErrorKind::RateLimited => Ended::Refused,
            Err(_) => Ended::Failed,
        };
        slot.ended(ended);
        if ended != Ended::Refused {
            self.endpoint.answers(told);
        }
        if let Some(used) = sent.usage.and_then(|u| Some(u.tokens_in? + u.tokens_out?)) {
            self.endpoint.used(tokens, used);
        }
        self.settle(call, &sent, hold, (booked, most)).await?;
        Ok((sent, told))
    }

    /// Waits until a call may be made: for money, a slot and the rates.
    async fn ready(
        &self,
        call: Call<'_>,
        most: Option<f64>,
        tokens: u64,
    ) -> Result<(Option<Hold>, Slot<'_>), ModelError> {
        let watch = &call.caller.watch;
        let hold = match most {
            None => None,
            Some(usd) => Some(self.reserve(call, usd).await?),
        };
        let slot = self.endpoint.slot(watch).await;
        self.endpoint.pace(tokens, watch).await;
        Ok((hold, slot))
    }

    async fn reserve(&self, call: Call<'_>, usd: f64) -> Result<Hold, ModelError> {
        let purse = call.caller.purse.as_ref();
        if purse.is_some_and(|purse| !purse.may_spend(usd)) {
            return Err(ModelError {
                kind: ModelErrorKind::SessionCost,
                message: format!(
                    "the next call may cost {usd:.6} USD, which the session may not spend"
                ),
                retry: Retry::No,
            });
        }
        let money = self.till.money();
        let hold = money.reserve(self.account, usd, &call.caller.watch).await;
        hold.map_err(|stop| self.out_of_money(stop, usd))
    }

    /// Makes a reservation durable; gives its number.
    async fn book(&self, call: Call<'_>, usd: f64) -> Result<u64, ModelError> {
        let on_behalf = call.caller.on_behalf;
        let booked = self.till.reserve(on_behalf, &self.model, usd).await;
        booked.map_err(lost)
    }

    /// Books what a call cost.
    async fn settle<T>(
        &self,
        call: Call<'_>,
        sent: &Sent<T>,
        hold: Option<Hold>,
        (booked, most): (Option<u64>, Option<f64>),
    ) -> Result<(), ModelError> {
        let usd = charge(sent.reply.is_ok(), sent.reach, sent.usage, self.price, most);
        let Some(usd) = usd else { return Ok(()) };
        if let Some(purse) = &call.caller.purse {
            purse.spend(usd);
        }
        match hold {
            Some(hold) => hold.settle(usd),
            None => self.till.money().book(self.account, usd),
        }
        let number = match booked {
            Some(number) => number,
            // Without a price nothing was reserved: what it cost is news.
            None if usd > 0.0 => self.book(call, 0.0).await?,
            None => return Ok(()),
        };
        let is_kept = sent.reply.is_ok() && call.caller.on_behalf.purpose != Purpose::Probe;
        self.till.settle(number, usd, is_kept).await.map_err(lost)
    }

    /// An error that says which model of which host it is about.
    fn named(&self, error: ModelError) -> ModelError {
        let (model, host) = (&self.model, self.endpoint.host());
        ModelError {
            message: format!("model {model} at {host}: {}", error.message),
            ..error
        }
    }

    fn out_of_money(&self, stop: Stop, usd: f64) -> ModelError {
        let money = self.till.money();
        let account = match stop {
            Stop::Model => money.of_model(self.account),
            Stop::Run | Stop::Endpoint => money.of_run(),
        };
        let spent = account.booked().usd();
        let what = match stop {
            Stop::Model => format!("model {} may spend", self.model),
            Stop::Run | Stop::Endpoint => "the run may spend".to_owned(),
        };
        let to_do = match stop {
            Stop::Model => format!("raise models.{}.max_cost_usd", self.model),
            Stop::Run | Stop::Endpoint => "resume with a higher --max-cost".to_owned(),
        };
        ModelError {
            kind: ModelErrorKind::Stopped(stop),
            message: format!(
                "a call that may cost {usd:.6} USD is more than {what} beside the {spent:.6} USD \
                 that are booked: {to_do}"
            ),
            retry: Retry::No,
        }
    }
}

/// Endpoints may quote what they were sent, and what a session is graded by is sealed: of what is said
/// to that, only the kind is told.
fn unquoted(error: ModelError, purpose: Purpose) -> ModelError {
    match purpose {
        Purpose::Grade => ModelError {
            message: "what it said is left out, for it may quote what is sealed".to_owned(),
            ..error
        },
        Purpose::Turn | Purpose::Judge | Purpose::Probe => error,
    }
}

fn lost(BooksLost(why): BooksLost) -> ModelError {
    ModelError {
        kind: ModelErrorKind::BooksLost,
        message: why,
        retry: Retry::No,
    }
}

#[cfg(test)]
mod tests;
