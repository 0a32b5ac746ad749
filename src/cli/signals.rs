//! SIGINT and SIGTERM: first wind down, then interrupt, then out.

use tokio::signal::unix::{SignalKind, signal};

use super::exit::{Exit, say};
use crate::run::Shutdown;

/// Listens until it is aborted. The streams are opened before the first signal can come, and one
/// stream hears every press.
pub(super) async fn listen(shutdown: Shutdown) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) else {
        say("warning: signals cannot be heard; Ctrl-C ends farm at once");
        return;
    };
    for press in 1.. {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        match press {
            1 => {
                say("winding down: sessions in flight finish; once more to drop them");
                shutdown.wind_down.cancel();
            }
            2 => {
                say("interrupted: sessions in flight are dropped; once more to quit at once");
                shutdown.interrupt.cancel();
            }
            _ => std::process::exit(Exit::Killed as i32),
        }
    }
}
