//! How long the binary takes to do nothing, and how large it is.

use std::fs;
use std::process::Command;

use crate::Failure;
use crate::command::time;
use crate::peers::{self, PLAIN};
use crate::race::{self, Contender};
use crate::report::{Limit, Report, Row};
use crate::scratch::Bench;

const VERSION: &str = "holon --version";

/// Starts it many times beside a program that does nothing.
pub(super) fn measure(bench: &Bench) -> Result<Report, Failure> {
    let contenders = vec![
        peers::plain(),
        Contender::new(VERSION, || time(Command::new(&bench.holon).arg("--version").env_clear())),
    ];
    let standings = race::run(contenders, bench.rounds(100));
    if standings.of(VERSION).is_empty() {
        return Err(standings.missing.join("; "));
    }
    let plain = Row::milliseconds(PLAIN, standings.of(PLAIN));
    let version = Row::milliseconds(VERSION, standings.of(VERSION)).against(&plain);
    let size = fs::metadata(&bench.holon).map_err(|e| format!("no size of the binary: {e}"))?.len();
    let rows = vec![
        plain,
        version.median_target(Limit::AtMost(10.0)),
        Row::samples("size of the binary", "MB", &[size as f64 / 1e6]).median_target(Limit::AtMost(40.0)),
    ];
    Ok(Report { rows, notes: standings.missing })
}
