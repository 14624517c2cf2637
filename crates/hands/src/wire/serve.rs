//! The hands' end of the channel.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::frame::{self, FrameError};
use super::message::{ExecutorOrder, ExecutorReport, FramePayload, VERSION};
use crate::stop::StopSignal;
use crate::{ExecutorError, ExecutorErrorKind, LocalExecutor, ToolResponse};

/// Carries out what comes in and answers, until the channel ends or what comes makes no sense; then everything that
/// was started is ended. The error says why, if it was not simply the end.
pub fn serve<W: Write + Send + 'static>(
    mut input: impl Read,
    output: W,
    local: LocalExecutor,
) -> Result<(), std::io::Error> {
    let channel = Arc::new(ServedChannel { output: Mutex::new(Some(output)), under_way: Mutex::default() });
    channel.report(&ExecutorReport::Ready { version: VERSION }, &[]);
    let local = Arc::new(local);
    let early = Arc::clone(&local);
    // The shell for the first command starts while the host is still busy with other things.
    let early = std::thread::Builder::new().spawn(move || early.make_ready());
    let ended = obey(&mut input, &channel, &local);
    channel.close();
    // It ends everything when it is dropped, so nobody else may hold it then.
    if let Ok(early) = early {
        let _ = early.join();
    }
    drop(local);
    ended.map_err(|error| match error {
        FrameError::Io(error) => error,
        error => std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string()),
    })
}

fn obey<W: Write + Send + 'static>(
    input: &mut impl Read,
    channel: &Arc<ServedChannel<W>>,
    local: &LocalExecutor,
) -> Result<(), FrameError> {
    while let Some((order, body)) = frame::read::<ExecutorOrder>(input)? {
        match order {
            ExecutorOrder::Stop { id } => channel.stop(id),
            ExecutorOrder::Do { id, mut deed, watched } => {
                if !deed.restore(body) {
                    let error = ExecutorError::new(
                        ExecutorErrorKind::Invalid,
                        "a deed with bytes it has no place for",
                    );
                    channel.report(&ExecutorReport::Failed { id, error }, &[]);
                    continue;
                }
                let stop = Arc::new(StopSignal::default());
                channel.under_way().insert(id, Arc::clone(&stop));
                let (pieces, answer) = (Arc::clone(channel), Arc::clone(channel));
                let pieces = move |piece: &str| {
                    if watched {
                        pieces.report(&ExecutorReport::Piece { id }, piece.as_bytes());
                    }
                };
                local.begin(deed, stop, Box::new(pieces), Box::new(move |result| answer.answer(id, result)));
            }
        }
    }
    Ok(())
}

/// The way back, and what is under way.
struct ServedChannel<W> {
    /// `None` once it broke or ended.
    output: Mutex<Option<W>>,
    under_way: Mutex<HashMap<u64, Arc<StopSignal>>>,
}

impl<W: Write> ServedChannel<W> {
    fn answer(&self, id: u64, result: Result<ToolResponse, ExecutorError>) {
        self.under_way().remove(&id);
        match result {
            Ok(mut done) => {
                let body = done.lighten();
                self.report(&ExecutorReport::Done { id, done }, &body);
            }
            Err(error) => self.report(&ExecutorReport::Failed { id, error }, &[]),
        }
    }

    fn report(&self, report: &ExecutorReport, body: &[u8]) {
        let frame = frame::encode(report, body).or_else(|error| match report {
            ExecutorReport::Done { id, .. } => {
                let message = format!("the answer is too large ({error}): ask for less at once");
                let error = ExecutorError::new(ExecutorErrorKind::TooLarge, message);
                frame::encode(&ExecutorReport::Failed { id: *id, error }, &[])
            }
            _ => Err(error),
        });
        let Ok(frame) = frame else { return };
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let broke = output.as_mut().is_some_and(|output| frame::write(output, &frame).is_err());
        if broke {
            *output = None;
            drop(output);
            self.stop_all();
        }
    }

    fn stop(&self, id: u64) {
        if let Some(stop) = self.under_way().get(&id) {
            stop.ask();
        }
    }

    fn stop_all(&self) {
        self.under_way().values().for_each(|stop| stop.ask());
    }

    fn close(&self) {
        self.stop_all();
        *self.output.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<u64, Arc<StopSignal>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
