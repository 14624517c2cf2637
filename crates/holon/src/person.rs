//! The person at the terminal, whom the native agent may ask.

use std::io::{self, BufRead, IsTerminal};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use holon_agent::{Interrupt, PendingPersonReplies, PersonPrompt, PersonReply};
use holon_core::event::{ApprovalRequest, UserQuestion};

use crate::terminal::{Terminal, TextStyle, visible};

/// Asks on standard error and reads answers from standard input.
pub(crate) struct TerminalPerson {
    terminal: Terminal,
}

impl TerminalPerson {
    /// Someone to ask, if there is anyone: both directions must be a terminal.
    pub(crate) fn present(terminal: &Terminal) -> Option<Self> {
        let there = terminal.stderr.tty && io::stdin().is_terminal();
        there.then(|| Self { terminal: terminal.clone() })
    }

    fn answers(&self, interrupt: &Interrupt) -> io::Result<Vec<PersonReply>> {
        let answers = interrupt.asks.iter().map(|ask| {
            if ask.questions.is_empty() {
                return self.approval(ask);
            }
            ask.questions.iter().map(|q| self.question(q)).collect::<io::Result<_>>().map(PersonReply::Given)
        });
        answers.collect()
    }

    fn question(&self, question: &UserQuestion) -> io::Result<String> {
        let paint = |style, text: &str| self.terminal.stderr.paint(style, text);
        self.terminal.say(&paint(TextStyle::Bold, &format!("\n? {}", visible(&question.text))));
        for (number, option) in question.options.iter().enumerate() {
            self.terminal.say(&format!("  {}. {}", number + 1, visible(option)));
        }
        let how = if question.options.is_empty() { "answer" } else { "number or own answer" };
        self.terminal.say(&paint(TextStyle::Dim, &format!("  ({how}, then Enter)")));
        Ok(choice(&read_line()?, &question.options))
    }

    fn approval(&self, ask: &ApprovalRequest) -> io::Result<PersonReply> {
        let what = visible(ask.summary.as_deref().unwrap_or_default());
        let text = format!("\n? {}: {} {what}", visible(&ask.reason), visible(&ask.tool));
        self.terminal.say(&self.terminal.stderr.paint(TextStyle::Bold, &text));
        self.terminal.say("  y to allow it, anything else is a no and goes to the agent as the reason");
        Ok(match read_line()?.as_str() {
            "y" | "Y" | "yes" => PersonReply::Approved,
            reason => PersonReply::Rejected(reason.to_owned()),
        })
    }
}

impl PersonPrompt for TerminalPerson {
    fn ask<'a>(&'a self, interrupt: &'a Interrupt) -> PendingPersonReplies<'a> {
        let (here, interrupt) = (Self { terminal: self.terminal.clone() }, interrupt.clone());
        // The terminal went away: nobody answers.
        Box::pin(ThreadedResult::start(move || here.answers(&interrupt).ok()))
    }
}

/// Something that another thread waits for. A person can take hours, in which a run may be cancelled or run out of time;
/// the thread then stays behind and goes with the process.
struct ThreadedResult<T>(Arc<Mutex<AwaitedResult<T>>>);

struct AwaitedResult<T> {
    result: Option<Option<T>>,
    waker: Option<Waker>,
}

impl<T: Send + 'static> ThreadedResult<T> {
    fn start(work: impl FnOnce() -> Option<T> + Send + 'static) -> Self {
        let shared = Arc::new(Mutex::new(AwaitedResult { result: None, waker: None }));
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            let result = work();
            let mut awaited = theirs.lock().unwrap_or_else(PoisonError::into_inner);
            awaited.result = Some(result);
            if let Some(waker) = awaited.waker.take() {
                waker.wake();
            }
        });
        Self(shared)
    }
}

impl<T> Future for ThreadedResult<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut awaited = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match awaited.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                awaited.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// A number stands for the option it names.
fn choice(answer: &str, options: &[String]) -> String {
    let chosen = answer.parse::<usize>().ok().and_then(|n| options.get(n.checked_sub(1)?));
    chosen.cloned().unwrap_or_else(|| answer.to_owned())
}

fn read_line() -> io::Result<String> {
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_chooses_and_words_are_an_answer() {
        let options = ["left".to_owned(), "right".to_owned()];
        for (answer, expect) in [("2", "right"), ("0", "0"), ("3", "3"), ("neither", "neither"), ("", "")] {
            assert_eq!(choice(answer, &options), expect, "{answer}");
        }
    }
}
