//! Following a turn to its end, ready to stop it.

use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::screen::Screen;
use super::signals::Signals;
use super::view::View;
use crate::terminal::Style;
use crate::threads::{Api, Event, Events, Trouble};

/// How often signals are looked at.
const LOOK: Duration = Duration::from_millis(30);

/// How following came to its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Followed {
    /// With the turn.
    Over,
    /// The person wants to leave; the turn goes with whoever carries it.
    Left,
}

/// Shows events until the turn is over. The first Ctrl-C stops the turn, the second one leaves. `again` is called when the
/// process goes on after it had been stopped.
pub(super) fn follow(
    api: &Api,
    thread: &str,
    events: Events<UnixStream>,
    view: &mut View,
    screen: &mut Screen,
    (signals, again): (&Signals, &dyn Fn()),
) -> Result<Followed, Trouble> {
    let mut told = aside(events);
    let (mut stopping, mut stopped) = (false, false);
    let mut attached_again = false;
    loop {
        if signals.must_end() {
            return Ok(Followed::Left);
        }
        if signals.resumed() {
            again();
        }
        if signals.interrupted() {
            if stopping {
                return Ok(Followed::Left);
            }
            stopping = true;
            screen.styled(Style::Dim, "stopping… (Ctrl-C again leaves)");
        }
        // A turn that only just begins cannot be stopped yet.
        if stopping && !stopped {
            stopped = api.cancel(thread)?["cancelled"] == true;
        }
        // A signal handler can set a flag, and not wake a channel.
        match told.recv_timeout(LOOK) {
            Ok(Ok(event)) => {
                view.set_width(screen.width());
                if !screen.show(&view.pieces(&event)) {
                    return Ok(Followed::Left);
                }
                if event.name == "done" {
                    return Ok(Followed::Over);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // Whoever carried the turn has gone. What it stored is shown, and how that ended.
            Ok(Err(e)) if attached_again => return Err(Trouble::gone(&e)),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                attached_again = true;
                told = aside(api.follow(thread, view.seq)?);
            }
        }
    }
}

/// Reads on another thread, which goes with the process if it is not waited for.
fn aside(events: Events<UnixStream>) -> Receiver<std::io::Result<Event>> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for event in events {
            if tell.send(event).is_err() {
                return;
            }
        }
    });
    told
}
