//! The kill switch, as two tokens that anyone may pull.

use tokio_util::sync::CancellationToken;

/// Ends a run early.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Nothing new starts; sessions in flight finish.
    pub wind_down: CancellationToken,
    /// Sessions in flight are dropped; what is durable stays.
    pub interrupt: CancellationToken,
}

impl Shutdown {
    /// Waits until either is pulled.
    pub(super) async fn pulled(&self) {
        tokio::select! {
            () = self.wind_down.cancelled() => {}
            () = self.interrupt.cancelled() => {}
        }
    }

    /// Whether either is pulled.
    pub(super) fn is_pulled(&self) -> bool {
        self.wind_down.is_cancelled() || self.interrupt.is_cancelled()
    }
}
