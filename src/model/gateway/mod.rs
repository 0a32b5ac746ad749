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
pub use till::{Ends, Till};

use self::{
    retry::{After, Tries, Wish, after},
    slots::{How, Slot},
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

/// A call that is to go out, whoever it is sent by.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
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

/// What a call stands at until it is over.
#[derive(Clone, Copy)]
struct Stake {
    usd: f64,
    /// Whether that is the most that it can cost.
    is_most: bool,
}

/// A call that is reserved in the money of the run and in its books.
struct Reserved {
    hold: Hold,
    /// Its number in the books.
    number: u64,
    stake: Stake,
}

impl Line {
    /// Makes a call: as often as it takes, and as may be. `send` sends it once. Dropping the future
    /// abandons the call; what was sent by then is taken to cost all that it can.
    ///
    /// # Errors
    /// When the endpoint gave no reply; when no further call is made for this caller.
    pub async fn call<T, F: Future<Output = Sent<T>>>(
        &self,
        call: Outgoing<'_>,
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
                    let pause = self.patiently(tokio::time::sleep_until(told + pause));
                    self.endpoint.unless_parked(pause).await??;
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
        call: Outgoing<'_>,
        send: &impl Fn() -> F,
    ) -> Result<(Sent<T>, Instant), ModelError> {
        let stake = self.stake(call.bytes);
        // An estimate: four bytes a token.
        let tokens = call.bytes as u64 / 4 + self.output_limit.unwrap_or(0);
        // It may be parked meanwhile: then nobody waits for its money, slots and rates any longer.
        let ready = self.endpoint.unless_parked(self.ready(call, stake, tokens));
        let (hold, mut slot) = ready.await??;
        if self.till.ends().interrupt.is_cancelled() {
            // What is ready may be so since others were dropped already.
            std::future::pending::<()>().await;
        }
        let reserved = match hold {
            None => None,
            Some((mut hold, stake)) => {
                let number = self.book(call, stake).await?;
                hold.sent();
                Some(Reserved {
                    hold,
                    number,
                    stake,
                })
            }
        };
        slot.sent();
        let sent = send().await;
        let told = Instant::now();
        let ended = match &sent.reply {
            Ok(_) => How::Succeeded,
            Err(e) if e.kind == ModelErrorKind::RateLimited => How::Refused,
            Err(_) => How::Failed,
        };
        slot.ended(ended);
        if ended != How::Refused {
            self.endpoint.answers(told);
        }
        if let Some(used) = sent.usage.and_then(|u| Some(u.tokens_in? + u.tokens_out?)) {
            self.endpoint.used(tokens, used);
        }
        self.settle(call, &sent, reserved).await?;
        Ok((sent, told))
    }

    /// What a call of so many bytes stands at: the most that it can cost, or, where replies have no
    /// limit, what its request can; none where no price is known.
    fn stake(&self, bytes: usize) -> Option<Stake> {
        let usd = self.price?.at_most(bytes, self.output_limit.unwrap_or(0));
        Some(Stake {
            usd,
            is_most: self.output_limit.is_some(),
        })
    }

    /// Waits until a call may be made: for money, a slot and the rates.
    async fn ready(
        &self,
        call: Outgoing<'_>,
        stake: Option<Stake>,
        tokens: u64,
    ) -> Result<(Option<(Hold, Stake)>, Slot<'_>), ModelError> {
        let watch = &call.caller.watch;
        let hold = match stake {
            None => None,
            Some(stake) => Some((self.reserve(call, stake.usd).await?, stake)),
        };
        let slot = self.endpoint.slot(watch).await;
        self.patiently(self.endpoint.pace(tokens, watch)).await?;
        Ok((hold, slot))
    }

    /// Waits for this, as long as the run has patience.
    async fn patiently<T>(&self, wait: impl Future<Output = T>) -> Result<T, ModelError> {
        let ends = self.till.ends();
        tokio::select! {
            biased;
            done = wait => Ok(done),
            () = ends.patience.cancelled() => Err(self.named(ModelError {
                kind: ModelErrorKind::Stopped(Stop::Ending),
                message: "the run winds down, and the call would have to wait longer".to_owned(),
                retry: Retry::No,
            })),
        }
    }

    async fn reserve(&self, call: Outgoing<'_>, usd: f64) -> Result<Hold, ModelError> {
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
    async fn book(&self, call: Outgoing<'_>, stake: Stake) -> Result<u64, ModelError> {
        let on_behalf = call.caller.on_behalf;
        let Stake { usd, is_most } = stake;
        let booked = self.till.reserve(on_behalf, &self.model, usd, is_most);
        booked.await.map_err(lost)
    }

    /// Books what a call cost.
    async fn settle<T>(
        &self,
        call: Outgoing<'_>,
        sent: &Sent<T>,
        reserved: Option<Reserved>,
    ) -> Result<(), ModelError> {
        let stake = reserved.as_ref().map(|reserved| reserved.stake.usd);
        let is_reply = sent.reply.is_ok();
        let usd = charge(is_reply, sent.reach, sent.usage, self.price, stake);
        let Some(usd) = usd else { return Ok(()) };
        if let Some(purse) = &call.caller.purse {
            purse.spend(usd);
        }
        let number = match reserved {
            Some(reserved) => {
                reserved.hold.settle(usd);
                reserved.number
            }
            None if usd <= 0.0 => return Ok(()),
            // Without a price nothing was reserved: what it cost is news.
            None => {
                self.till.money().book(self.account, usd);
                let nothing = Stake {
                    usd: 0.0,
                    is_most: false,
                };
                self.book(call, nothing).await?
            }
        };
        let is_kept = is_reply && call.caller.on_behalf.purpose != Purpose::Probe;
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
        let (account, who, to_do) = match stop {
            Stop::Model => (
                money.of_model(self.account),
                format!("model {}", self.model),
                format!("raise models.{}.max_cost_usd", self.model),
            ),
            Stop::Run | Stop::Endpoint | Stop::Ending => (
                money.of_run(),
                "the run".to_owned(),
                "resume with a higher --max-cost".to_owned(),
            ),
        };
        let spent = account.booked().usd();
        ModelError {
            kind: ModelErrorKind::Stopped(stop),
            message: format!(
                "a call that may cost {usd:.6} USD is more than {who} may spend beside the \
                 {spent:.6} USD that are booked: {to_do}"
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
