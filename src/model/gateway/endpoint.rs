//! One endpoint: its slots, its rates, and whether it is parked.

use std::sync::{Mutex, PoisonError};

use tokio::{sync::SetOnce, time::Instant};

use super::{
    rate::Rates,
    slots::{Slot, Slots, Window},
};
use crate::{
    domain::Activity,
    model::{ModelError, ModelErrorKind, Stop, Watch},
};

/// How an endpoint is treated.
#[derive(Debug, Clone)]
pub struct EndpointOptions {
    /// Its host, with the port where that is not the usual one.
    pub host: String,
    /// Calls at once in the beginning.
    pub slots_start: u32,
    /// Calls at once at most.
    pub slots_max: u32,
    /// Requests a minute.
    pub requests_per_minute: Option<u64>,
    /// Tokens a minute, in and out together.
    pub tokens_per_minute: Option<u64>,
}

/// An endpoint with one key: what all models behind it share.
#[derive(Debug)]
pub struct Endpoint {
    host: String,
    slots: Slots,
    rates: Rates,
    /// When a call was last answered otherwise than that there are too many; before any was, when
    /// this was made.
    answered: Mutex<Instant>,
    /// Why no further call is made.
    parked: SetOnce<ModelError>,
}

impl Endpoint {
    /// An endpoint that has not been called.
    #[must_use]
    pub fn new(options: EndpointOptions) -> Self {
        Self {
            host: options.host,
            slots: Slots::new(Window::new(options.slots_start, options.slots_max)),
            rates: Rates::new(options.requests_per_minute, options.tokens_per_minute),
            answered: Mutex::new(Instant::now()),
            parked: SetOnce::new(),
        }
    }

    /// Its host.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// No further call is made, for this reason; gives what callers are told. The first reason stands.
    pub(super) fn park(&self, error: ModelError) -> ModelError {
        let parked = ModelError {
            kind: ModelErrorKind::Stopped(Stop::Endpoint),
            message: error.to_string(),
            ..error
        };
        match self.parked.set(parked.clone()) {
            Ok(()) => parked,
            Err(_) => self.parked.get().cloned().unwrap_or(parked),
        }
    }

    /// Waits for this, but no longer than calls are made.
    ///
    /// # Errors
    /// Why they are not, once it is parked.
    pub(super) async fn unless_parked<T>(
        &self,
        wait: impl Future<Output = T>,
    ) -> Result<T, ModelError> {
        tokio::select! {
            biased;
            error = self.parked.wait() => Err(error.clone()),
            done = wait => Ok(done),
        }
    }

    /// Waits for a slot.
    pub(super) async fn slot(&self, watch: &Watch) -> Slot<'_> {
        if let Some(slot) = self.slots.try_take() {
            return slot;
        }
        let _waiting = watch.waits(Activity::Slot, None);
        self.slots.take().await
    }

    /// Waits until a request of about `tokens` is within the rates.
    pub(super) async fn pace(&self, tokens: u64, watch: &Watch) {
        let wait = self.rates.take(tokens);
        if !wait.is_zero() {
            let _waiting = watch.waits(Activity::Rate, Some(wait));
            tokio::time::sleep(wait).await;
        }
    }

    /// It has just answered otherwise than that there are too many calls.
    pub(super) fn answers(&self, now: Instant) {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// When it last did so.
    pub(super) fn answered(&self) -> Instant {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request took `used` tokens in place of `taken`.
    pub(super) fn used(&self, taken: u64, used: u64) {
        self.rates.used(taken, used);
    }
}
