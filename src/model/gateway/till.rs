use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use tokio_util::sync::CancellationToken;

use crate::{
    domain::{Books, BooksLost, Clock, OnBehalf, Reservation, Settlement},
    model::money::Money,
};

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
    Open(Arc<dyn Books>, CancellationToken),
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
    /// call may be under way. Once `interrupt` is cancelled no further call is made: whoever wants to
    /// make one waits until he is dropped.
    ///
    /// # Errors
    /// When they cannot be written.
    pub async fn open(
        &self,
        books: Arc<dyn Books>,
        first: u64,
        interrupt: CancellationToken,
    ) -> Result<(), BooksLost> {
        if !self.is_open() {
            self.next_call.fetch_add(first, Ordering::Relaxed);
        }
        let kept_back = {
            let open = State::Open(books.clone(), interrupt);
            std::mem::replace(&mut *self.state(), open)
        };
        let State::Closed(entries) = kept_back else {
            return Ok(());
        };
        for entry in entries {
            match entry {
                Entry::Reservation(call) => {
                    let call = Reservation {
                        call: call.call + first,
                        ..call
                    };
                    books.reserve(call).await?;
                }
                Entry::Settlement(call) => {
                    let call = Settlement {
                        call: call.call + first,
                        ..call
                    };
                    books.settle(call).await?;
                }
            }
        }
        Ok(())
    }

    /// Enters a call that is about to be made; gives its number.
    pub(super) async fn reserve(
        &self,
        on_behalf: OnBehalf,
        model: &str,
        usd: f64,
    ) -> Result<u64, BooksLost> {
        let call = self.next_call.fetch_add(1, Ordering::Relaxed);
        let reservation = Reservation {
            call,
            on_behalf,
            model: model.to_owned(),
            usd,
            ts: self.clock.now(),
        };
        if let Some((books, entry)) = self.books_for(Entry::Reservation(reservation))
            && let Entry::Reservation(reservation) = entry
        {
            books.reserve(reservation).await?;
        }
        Ok(call)
    }

    /// Enters what a call cost.
    pub(super) async fn settle(&self, call: u64, usd: f64, is_kept: bool) -> Result<(), BooksLost> {
        let settlement = Settlement { call, usd, is_kept };
        match self.books_for(Entry::Settlement(settlement)) {
            Some((books, _)) => books.settle(settlement).await,
            None => Ok(()),
        }
    }

    /// Whether no further call is made, since all who make them are about to be dropped.
    pub(super) fn is_interrupted(&self) -> bool {
        match &*self.state() {
            State::Open(_, interrupt) => interrupt.is_cancelled(),
            State::Closed(_) => false,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The books with the entry that is to be made in them; none if it is kept back.
    fn books_for(&self, entry: Entry) -> Option<(Arc<dyn Books>, Entry)> {
        match &mut *self.state() {
            State::Open(books, _) => Some((books.clone(), entry)),
            State::Closed(entries) => {
                entries.push(entry);
                None
            }
        }
    }
}
