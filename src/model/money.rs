//! The cap on money: what a call can cost is reserved before it, what it cost is settled after it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as Turnstile, Notify};

use super::{Stop, Watch};
use crate::domain::Activity;

/// Trillionths of a US dollar: sums of them are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Pico(u128);

const PICOS: f64 = 1e12;

impl Pico {
    /// US dollars, rounded up: what is spent is never taken for less.
    #[must_use]
    pub fn at_least(usd: f64) -> Self {
        // A cast stops at the ends of the range.
        Self((usd * PICOS).ceil() as u128)
    }

    /// US dollars, rounded down: a cap is never taken for more.
    #[must_use]
    pub fn at_most(usd: f64) -> Self {
        Self((usd * PICOS).floor() as u128)
    }

    /// In US dollars.
    #[must_use]
    pub fn usd(self) -> f64 {
        self.0 as f64 / PICOS
    }

    fn plus(self, more: Self) -> Self {
        Self(self.0.saturating_add(more.0))
    }

    fn minus(self, less: Self) -> Self {
        Self(self.0.saturating_sub(less.0))
    }
}

/// What may be spent, and what has been. Pure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    cap: Option<Pico>,
    spent: Pico,
    reserved: Pico,
}

/// What becomes of a wish to reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It fits.
    Now,
    /// It may fit when calls in flight cost less than they might.
    Later,
    /// It never will: too much has been spent.
    Never,
}

impl Account {
    /// An account with this cap, in US dollars, of which `spent` is gone already.
    #[must_use]
    pub fn new(cap_usd: Option<f64>, spent_usd: f64) -> Self {
        Self {
            cap: cap_usd.map(Pico::at_most),
            spent: Pico::at_least(spent_usd),
            reserved: Pico::default(),
        }
    }

    /// Whether that much more can be reserved.
    #[must_use]
    pub fn fit(&self, more: Pico) -> Fit {
        let spent = self.spent.plus(more);
        match self.cap {
            Some(cap) if spent > cap => Fit::Never,
            Some(cap) if spent.plus(self.reserved) > cap => Fit::Later,
            _ => Fit::Now,
        }
    }

    /// What has been spent and what may be of that which is reserved.
    #[must_use]
    pub fn booked(&self) -> Pico {
        self.spent.plus(self.reserved)
    }

    fn reserve(&mut self, more: Pico) {
        self.reserved = self.reserved.plus(more);
    }

    fn settle(&mut self, reserved: Pico, spent: Pico) {
        self.reserved = self.reserved.minus(reserved);
        self.spent = self.spent.plus(spent);
    }
}

/// The money of a run: its own account and one for each of its models.
#[derive(Debug)]
pub struct Money {
    accounts: Mutex<Accounts>,
    /// Those who have to wait for money of one model line up here: who comes first is served first.
    lines: Vec<Turnstile<()>>,
    /// Something was settled.
    settled: Notify,
}

#[derive(Debug)]
struct Accounts {
    run: Account,
    models: Vec<Account>,
    /// How many stand in the line of each model: nobody passes them by.
    in_line: Vec<u32>,
}

impl Accounts {
    fn fit(&self, model: usize, more: Pico) -> Result<Fit, Stop> {
        match (self.run.fit(more), self.models[model].fit(more)) {
            (_, Fit::Never) => Err(Stop::Model),
            (Fit::Never, _) => Err(Stop::Run),
            (Fit::Now, Fit::Now) => Ok(Fit::Now),
            _ => Ok(Fit::Later),
        }
    }

    /// Reserves, if that can be now.
    fn take(&mut self, model: usize, more: Pico) -> Result<Fit, Stop> {
        let fit = self.fit(model, more)?;
        if fit == Fit::Now {
            self.run.reserve(more);
            self.models[model].reserve(more);
        }
        Ok(fit)
    }
}

/// A place in the line of a model; dropped, it is left.
struct InLine<'a> {
    money: &'a Money,
    model: usize,
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.money.accounts().in_line[self.model] -= 1;
    }
}

impl Money {
    /// Of a run and its models, which callers know by their place in `models`.
    #[must_use]
    pub fn new(run: Account, models: Vec<Account>) -> Arc<Self> {
        Arc::new(Self {
            lines: models.iter().map(|_| Turnstile::new(())).collect(),
            accounts: Mutex::new(Accounts {
                run,
                in_line: vec![0; models.len()],
                models,
            }),
            settled: Notify::new(),
        })
    }

    /// Reserves US dollars for a call of a model; waits while calls in flight may yet free some.
    ///
    /// # Errors
    /// Whose cap it is under which the call will never fit.
    pub async fn reserve(
        self: &Arc<Self>,
        model: usize,
        usd: f64,
        watch: &Watch,
    ) -> Result<Hold, Stop> {
        let more = Pico::at_least(usd);
        let hold = || Hold {
            money: self.clone(),
            model,
            reserved: more,
            is_sent: false,
        };
        {
            let mut accounts = self.accounts();
            if accounts.in_line[model] == 0 && accounts.take(model, more)? == Fit::Now {
                return Ok(hold());
            }
            accounts.in_line[model] += 1;
        }
        let _place = InLine { money: self, model };
        let _waiting = watch.waits(Activity::Money, None);
        let _turn = self.lines[model].lock().await;
        loop {
            // Listened for before the look: what is settled in between is not missed.
            let settled = self.settled.notified();
            let fit = self.accounts().take(model, more)?;
            if fit == Fit::Now {
                return Ok(hold());
            }
            settled.await;
        }
    }

    /// Books a cost for which nothing was reserved.
    pub fn book(&self, model: usize, usd: f64) {
        self.settle(model, Pico::default(), Pico::at_least(usd));
    }

    /// Books a cost of a model that has no account any more.
    pub fn book_for_run(&self, usd: f64) {
        let spent = Pico::at_least(usd);
        self.accounts().run.settle(Pico::default(), spent);
    }

    /// The account of the run as it stands.
    #[must_use]
    pub fn of_run(&self) -> Account {
        self.accounts().run
    }

    /// The account of a model as it stands.
    #[must_use]
    pub fn of_model(&self, model: usize) -> Account {
        self.accounts().models[model]
    }

    fn settle(&self, model: usize, reserved: Pico, spent: Pico) {
        let mut accounts = self.accounts();
        accounts.run.settle(reserved, spent);
        accounts.models[model].settle(reserved, spent);
        drop(accounts);
        self.settled.notify_waiters();
    }

    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reservation. One that is dropped without being settled was worth nothing if its call was never
/// sent, and all of it if it was: nobody knows what that cost.
#[derive(Debug)]
pub struct Hold {
    money: Arc<Money>,
    model: usize,
    reserved: Pico,
    is_sent: bool,
}

impl Hold {
    /// The call goes out now.
    pub fn sent(&mut self) {
        self.is_sent = true;
    }

    /// The call cost that many US dollars.
    pub fn settle(mut self, usd: f64) {
        let reserved = std::mem::take(&mut self.reserved);
        self.is_sent = false;
        self.money.settle(self.model, reserved, Pico::at_least(usd));
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let spent = if self.is_sent {
            self.reserved
        } else {
            Pico::default()
        };
        if self.reserved > Pico::default() {
            self.money.settle(self.model, self.reserved, spent);
        }
    }
}

/// What one session may spend of its own limit, apart from the caps of run and model.
#[derive(Debug)]
pub struct Purse(Mutex<Account>);

impl Purse {
    /// With this limit in US dollars, of which `spent` is gone already.
    #[must_use]
    pub fn new(max_usd: f64, spent_usd: f64) -> Self {
        Self(Mutex::new(Account::new(Some(max_usd), spent_usd)))
    }

    /// Whether a call that costs at most `usd` may be made.
    #[must_use]
    pub fn may_spend(&self, usd: f64) -> bool {
        self.account().fit(Pico::at_least(usd)) == Fit::Now
    }

    /// A call cost that much.
    pub fn spend(&self, usd: f64) {
        self.account().settle(Pico::default(), Pico::at_least(usd));
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
