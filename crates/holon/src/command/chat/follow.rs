//! Following a turn to its end, ready to stop it.

use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use super::screen::ChatScreen;
use super::signals::Signals;
use super::view::TurnView;
use crate::terminal::TextStyle;
use crate::threads::{ApiTrouble, EventStream, StreamEvent, ThreadsApi};

/// How often signals are looked at.
const LOOK: Duration = Duration::from_millis(30);

/// How following came to its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FollowEnd {
    /// With the turn.
    Over,
    /// The person wants to leave; the turn goes with whoever carries it.
    Left,
}

/// Shows events until the turn is over. The first Ctrl-C stops the turn, the second one leaves. `again` is called when the
/// process goes on after it had been stopped.
pub(super) fn follow(
    api: &ThreadsApi,
    thread: &str,
    events: EventStream<UnixStream>,
    view: &mut TurnView,
    screen: &mut ChatScreen,
    (signals, again): (&Signals, &dyn Fn()),
) -> Result<FollowEnd, ApiTrouble> {
    let mut told = aside(events);
    let (mut stopping, mut stopped) = (false, false);
    let mut attached_again = false;
    loop {
        if signals.must_end() {
            return Ok(FollowEnd::Left);
        }
        if signals.resumed() {
            again();
        }
        if signals.interrupted() {
            if stopping {
                return Ok(FollowEnd::Left);
            }
            stopping = true;
            screen.styled(TextStyle::Dim, "stopping… (Ctrl-C again leaves)");
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
                    return Ok(FollowEnd::Left);
                }
                if event.name == "done" {
                    return Ok(FollowEnd::Over);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            // Whoever carried the turn has gone. What it stored is shown, and how that ended.
            Ok(Err(e)) if attached_again => return Err(ApiTrouble::gone(&e)),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                attached_again = true;
                told = aside(api.follow(thread, view.seq)?);
            }
        }
    }
}

/// Reads on another thread, which goes with the process if it is not waited for.
fn aside(events: EventStream<UnixStream>) -> Receiver<std::io::Result<StreamEvent>> {
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
