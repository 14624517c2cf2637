//! The person at the terminal, whom the native agent may ask.

use std::io::{self, BufRead, IsTerminal};

use holon_agent::{Answer, Answering, Interrupt, Person};
use holon_core::event::{Ask, Question};

use crate::terminal::{Style, Terminal, visible};

/// Asks on standard error and reads answers from standard input.
pub(crate) struct AtTerminal {
    terminal: Terminal,
}

impl AtTerminal {
    /// Someone to ask, if there is anyone: both directions must be a terminal.
    pub(crate) fn present(terminal: &Terminal) -> Option<Self> {
        let there = terminal.stderr.tty && io::stdin().is_terminal();
        there.then(|| Self { terminal: terminal.clone() })
    }

    fn question(&self, question: &Question) -> io::Result<String> {
        let paint = |style, text: &str| self.terminal.stderr.paint(style, text);
        self.terminal.say(&paint(Style::Bold, &format!("\n? {}", visible(&question.text))));
        for (number, option) in question.options.iter().enumerate() {
            self.terminal.say(&format!("  {}. {}", number + 1, visible(option)));
        }
        let how = if question.options.is_empty() { "answer" } else { "number or own answer" };
        self.terminal.say(&paint(Style::Dim, &format!("  ({how}, then Enter)")));
        Ok(choice(&read_line()?, &question.options))
    }

    fn approval(&self, ask: &Ask) -> io::Result<Answer> {
        let what = visible(ask.summary.as_deref().unwrap_or_default());
        let text = format!("\n? {}: {} {what}", visible(&ask.reason), visible(&ask.tool));
        self.terminal.say(&self.terminal.stderr.paint(Style::Bold, &text));
        self.terminal.say("  y to allow it, anything else is a no and goes to the agent as the reason");
        Ok(match read_line()?.as_str() {
            "y" | "Y" | "yes" => Answer::Approved,
            reason => Answer::Rejected(reason.to_owned()),
        })
    }
}

impl Person for AtTerminal {
    fn ask<'a>(&'a self, interrupt: &'a Interrupt) -> Answering<'a> {
        let answers = interrupt.asks.iter().map(|ask| {
            if ask.questions.is_empty() {
                return self.approval(ask);
            }
            ask.questions.iter().map(|q| self.question(q)).collect::<io::Result<_>>().map(Answer::Given)
        });
        // The terminal went away: nobody answers.
        Box::pin(std::future::ready(answers.collect::<io::Result<_>>().ok()))
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
