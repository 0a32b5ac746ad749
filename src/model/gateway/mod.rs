//! The way of every call to a live endpoint: money, a slot, the endpoint's rates, the books, the
//! call itself; and again after a failure that may pass.

mod charge;
mod endpoint;
mod rate;
mod retry;
mod retry_after;
mod slots;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::time::Instant;

pub use charge::{Reach, charge};
pub use endpoint::{Endpoint, EndpointOptions};
pub use retry_after::retry_after;

use self::{
    retry::{After, Tries, after},
    slots::Ended,
};
use super::{
    Caller, ModelError, ModelErrorKind, Retry, Stop,
    money::{Hold, Money},
};
use crate::domain::{
    Activity, Books, BooksLost, Clock, Price, Purpose, Reservation, Settlement, Usage,
};

/// The money of a run with the books in which it is kept.
pub struct Till {
    /// What may be spent.
    pub money: Arc<Money>,
    /// Where it is booked; none in a run that keeps nothing, such as a probe before the run.
    pub books: Option<Arc<dyn Books>>,
    /// The number of the next call.
    pub next_call: AtomicU64,
    /// Where its times come from.
    pub clock: Clock,
}

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
    pub retry_after: Option<std::time::Duration>,
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
        loop {
            let (sent, told) = self.once(call, &send).await?;
            let error = match sent.reply {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            if error.kind == ModelErrorKind::RateLimited {
                tries.refused += 1;
            } else {
                tries.failed += 1;
            }
            let address = (call.rng_seed, call.caller.on_behalf.turn);
            tracing::debug!(model = self.model, %error, ?tries, "a call failed");
            match after(error, tries, self.max_tries, sent.retry_after, address) {
                After::Again(pause) => {
                    let _waiting = call.caller.watch.waits(Activity::Backoff, Some(pause));
                    tokio::time::sleep_until(told + pause).await;
                }
                After::GiveUp(error) => return Err(self.named(error)),
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
        let watch = &call.caller.watch;
        self.endpoint.is_open()?;
        let most = self
            .price
            .map(|price| price.at_most(call.bytes, self.output_limit.unwrap_or(0)));
        let mut hold = match most {
            None => None,
            Some(usd) => Some(self.reserve(call, usd).await?),
        };
        let mut slot = self.endpoint.slot(watch).await;
        // An estimate: four bytes a token.
        let tokens = call.bytes as u64 / 4 + self.output_limit.unwrap_or(0);
        self.endpoint.pace(tokens, watch).await;
        // It may have been parked meanwhile.
        self.endpoint.is_open()?;
        let mut booked = None;
        if let (Some(hold), Some(usd)) = (&mut hold, most) {
            booked = self.book(call, usd).await?;
            hold.sent();
        }
        slot.sent();
        let sent = send().await;
        slot.ended(match &sent.reply {
            Ok(_) => Ended::Succeeded,
            Err(e) if e.kind == ModelErrorKind::RateLimited => Ended::Refused,
            Err(_) => Ended::Failed,
        });
        let told = Instant::now();
        if let Some(used) = sent.usage.and_then(|u| Some(u.tokens_in? + u.tokens_out?)) {
            self.endpoint.used(tokens, used);
        }
        self.settle(call, &sent, hold, (booked, most)).await?;
        Ok((sent, told))
    }

    async fn reserve(&self, call: Call<'_>, usd: f64) -> Result<Hold, ModelError> {
        let purse = call.caller.purse.as_ref();
        if purse.is_some_and(|purse| !purse.may_spend(usd)) {
            return Err(ModelError {
                kind: ModelErrorKind::SessionCost,
                message: format!(
                    "the next call may cost {usd} USD, which the session may not spend"
                ),
                retry: Retry::No,
            });
        }
        let money = &self.till.money;
        let hold = money.reserve(self.account, usd, &call.caller.watch).await;
        hold.map_err(|stop| self.out_of_money(stop, usd))
    }

    /// Makes a reservation durable; gives its number.
    async fn book(&self, call: Call<'_>, usd: f64) -> Result<Option<u64>, ModelError> {
        let Some(books) = &self.till.books else {
            return Ok(None);
        };
        let number = self.till.next_call.fetch_add(1, Ordering::Relaxed);
        let reservation = Reservation {
            call: number,
            on_behalf: call.caller.on_behalf,
            model: self.model.clone(),
            usd,
            ts: self.till.clock.now(),
        };
        books.reserve(reservation).await.map_err(lost)?;
        Ok(Some(number))
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
            None => self.till.money.book(self.account, usd),
        }
        let booked = match booked {
            Some(number) => Some(number),
            // Without a price nothing was reserved: what it cost is news.
            None if usd > 0.0 => self.book(call, 0.0).await?,
            None => None,
        };
        let (Some(call_number), Some(books)) = (booked, &self.till.books) else {
            return Ok(());
        };
        let settlement = Settlement {
            call: call_number,
            usd,
            is_kept: sent.reply.is_ok() && call.caller.on_behalf.purpose != Purpose::Probe,
        };
        books.settle(settlement).await.map_err(lost)
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
        let spent = self.till.money.of_run().booked().usd();
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

fn lost(BooksLost(why): BooksLost) -> ModelError {
    ModelError {
        kind: ModelErrorKind::BooksLost,
        message: why,
        retry: Retry::No,
    }
}

#[cfg(test)]
mod tests;
