//! The books of a run's money, and how the run ends, for those who make its calls.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use tokio_util::sync::CancellationToken;

use crate::{
    domain::{Books, BooksLost, Clock, OnBehalf, Reservation, Settlement},
    model::money::Money,
};

/// How a run ends early, as far as its calls are concerned.
#[derive(Debug, Clone, Default)]
pub struct Ends {
    /// No further call is made: whoever wants to make one waits until he is dropped.
    pub interrupt: CancellationToken,
    /// Nobody waits for a rate or for another try any more.
    pub patience: CancellationToken,
}

/// The money of a run with the books in which its calls are kept.
///
/// A run is probed before there is anything that keeps books: what is booked by then is kept back
/// until they are opened.
pub struct Till {
    money: Arc<Money>,
    clock: Clock,
    next_call: AtomicU64,
    state: Mutex<State>,
}

enum State {
    Closed(Vec<Entry>),
    Open(Arc<dyn Books>, Ends),
}

enum Entry {
    Reservation(Reservation),
    Settlement(Settlement),
}

impl Till {
    /// With no books yet.
    #[must_use]
    pub fn new(money: Arc<Money>, clock: Clock) -> Self {
        Self {
            money,
            clock,
            next_call: AtomicU64::new(0),
            state: Mutex::new(State::Closed(Vec::new())),
        }
    }

    /// What may be spent.
    #[must_use]
    pub fn money(&self) -> &Arc<Money> {
        &self.money
    }

    /// Whether the books are open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(&*self.state(), State::Open(..))
    }

    /// Opens the books, in which the next call has number `first`, and enters what was kept back. No
    /// call may be under way.
    ///
    /// Opened again, calls go into these books, with the numbers that follow, and heed these ends.
    ///
    /// # Errors
    /// When they cannot be written.
    pub async fn open(
        &self,
        books: Arc<dyn Books>,
        first: u64,
        ends: Ends,
    ) -> Result<(), BooksLost> {
        let open = State::Open(books.clone(), ends);
        let before = std::mem::replace(&mut *self.state(), open);
        let State::Closed(kept_back) = before else {
            return Ok(());
        };
        self.next_call.fetch_add(first, Ordering::Relaxed);
        for entry in kept_back {
            entry.after(first).enter(&*books).await?;
        }
        Ok(())
    }

    /// Enters a call that is about to be made; gives its number.
    pub(super) async fn reserve(
        &self,
        on_behalf: OnBehalf,
        model: &str,
        usd: f64,
        is_most: bool,
    ) -> Result<u64, BooksLost> {
        let call = self.next_call.fetch_add(1, Ordering::Relaxed);
        let reservation = Reservation {
            call,
            on_behalf,
            model: model.to_owned(),
            usd,
            is_most,
            ts: self.clock.now(),
        };
        self.enter(Entry::Reservation(reservation)).await?;
        Ok(call)
    }

    /// Enters what a call cost.
    pub(super) async fn settle(&self, call: u64, usd: f64, is_kept: bool) -> Result<(), BooksLost> {
        let settlement = Settlement { call, usd, is_kept };
        self.enter(Entry::Settlement(settlement)).await
    }

    /// How the run ends early; before it has begun it does not.
    pub(super) fn ends(&self) -> Ends {
        match &*self.state() {
            State::Open(_, ends) => ends.clone(),
            State::Closed(_) => Ends::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes an entry in the books, or keeps it back until there are any.
    async fn enter(&self, entry: Entry) -> Result<(), BooksLost> {
        let books = match &mut *self.state() {
            State::Open(books, _) => books.clone(),
            State::Closed(kept_back) => {
                kept_back.push(entry);
                return Ok(());
            }
        };
        entry.enter(&*books).await
    }
}

impl Entry {
    /// The same of a call whose number is that much higher.
    fn after(mut self, first: u64) -> Self {
        let (Self::Reservation(Reservation { call, .. })
        | Self::Settlement(Settlement { call, .. })) = &mut self;
        *call += first;
        self
    }

    async fn enter(self, books: &dyn Books) -> Result<(), BooksLost> {
        match self {
            Self::Reservation(call) => books.reserve(call).await,
            Self::Settlement(call) => books.settle(call).await,
        }
    }
}
