//! `holon serve` with many streams open, many threads stored, and readers that do not read.

use std::time::{Duration, Instant};

use crate::BenchFailure;
use crate::chat::{LoadClient, LoadResult, MeasuredServer, p99};
use crate::report::{ReportRow, SuiteReport, TargetBound};
use crate::scratch::BenchContext;

/// Streams that are open at the same time.
const STREAMS: usize = 1000;
/// Threads that are stored, each with a turn.
const STORED: usize = 10_000;
/// Between two streams that begin.
const PACE: Duration = Duration::from_millis(12);
/// Words of each stream, a second apart: the first one must still be going on when the last one begins.
const BEATS: usize = 20;
/// Readers that do not read, and how much each is sent.
const LAZY: usize = 50;
const LAZY_BYTES: usize = 4_000_000;

/// Turns of a long thread.
const TURNS: usize = 1000;
/// What the last of them may take, beside the tenth.
const MOST_TIMES: f64 = 2.0;
const MOST_MS: f64 = 100.0;
const MOST_KB: f64 = 200.0;
/// What readers that do not read may cost together, and what may stay of all the work, in MB: far less than what was sent.
const MOST_MB: f64 = 50.0;

/// Fills the server, then loads it three times: by itself, after long answers, and with readers that do not read them.
pub(super) fn measure(bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let (stored, streams) = if bench.quick { (STORED / 10, STREAMS / 10) } else { (STORED, STREAMS) };
    let served = MeasuredServer::start(bench)?;
    let empty = served.memory_kb()?;
    let threads = fill(&served, stored)?;
    let idle = served.memory_kb()?;
    let grown = served.database() as f64 / 1024.0 / stored as f64;
    let mut rows = vec![
        ReportRow::samples(
            format!("memory for each of {stored} idle threads"),
            "KB",
            &[(idle - empty) / stored as f64],
        )
        .median_target(TargetBound::AtMost(MOST_KB)),
        ReportRow::samples("database for each of their turns", "KB", &[grown]),
    ];
    let some = &threads[..streams.min(threads.len())];
    let message = format!("say words beats:{BEATS}");
    let load = LoadResult::streams(&served, some, &message, PACE);
    let mut errors = load.errors.clone();
    rows.extend(times(&load, &format!("{streams} streams")));
    let during = served.memory_kb()?;
    rows.push(ReportRow::samples(format!("memory after {streams} streams"), "MB", &[during / 1024.0]));

    // The same answers to readers who read them: what long answers cost is not what their readers cost.
    attentive(&served)?;
    let (heard_out, control) = beside(&served, some, &message)?;
    errors.extend(control.errors.iter().cloned());
    rows.extend(times(&control, &format!("{streams} streams, after {LAZY} long answers that were read")));
    let lazy = lazy(&served)?;
    let (unread, load) = beside(&served, some, &message)?;
    errors.extend(load.errors.iter().cloned());
    rows.extend(times(&load, &format!("{streams} streams, {LAZY} readers that do not read")));
    drop(lazy);
    let sent = (LAZY * LAZY_BYTES) >> 20;
    let cost = |kb: f64| (kb / 1024.0).max(0.0);
    rows.push(ReportRow::samples(
        format!("memory after {LAZY} answers of {sent} MB that were read"),
        "MB",
        &[cost(heard_out)],
    ));
    rows.push(
        ReportRow::samples(
            format!("memory for readers that do not read {sent} MB"),
            "MB",
            &[cost(unread - heard_out)],
        )
        .median_target(TargetBound::AtMost(MOST_MB)),
    );
    rows.push(long_thread(&served, if bench.quick { TURNS / 5 } else { TURNS })?);
    served.settle()?;
    let after = served.memory_kb()?;
    rows.push(ReportRow::samples("memory after all of this", "MB", &[after / 1024.0]));
    rows.push(
        ReportRow::samples("of that, kept since the first streams", "MB", &[cost(after - during)])
            .median_target(TargetBound::AtMost(MOST_MB)),
    );
    let failed = errors.len() as f64;
    rows.push(
        ReportRow::samples("streams that failed", "", &[failed]).median_target(TargetBound::AtMost(0.0)),
    );
    errors.sort();
    errors.dedup();
    let mut notes: Vec<String> = errors.into_iter().take(5).collect();
    notes.push(format!(
        "a stream begins every {} ms and lasts {BEATS} s; the model, on the same cores, says its first word at once",
        PACE.as_millis()
    ));
    Ok(SuiteReport { rows, notes })
}

/// Memory of the server at rest, in KB, and then streams in its state.
fn beside(
    served: &MeasuredServer,
    threads: &[String],
    message: &str,
) -> Result<(f64, LoadResult), BenchFailure> {
    served.settle()?;
    let memory = served.memory_kb()?;
    Ok((memory, LoadResult::streams(served, threads, message, PACE)))
}

/// The first event, which no model is asked for, and the first word.
fn times(load: &LoadResult, what: &str) -> Vec<ReportRow> {
    let (first, word) = (load.milliseconds(|heard| heard.first), load.milliseconds(|heard| heard.word));
    let tail = |name: &str, samples: &[f64]| {
        ReportRow::samples(format!("{name}, {what}: p99"), "ms", &[p99(samples)])
            .median_target(TargetBound::AtMost(MOST_MS))
    };
    vec![
        ReportRow::milliseconds(format!("first event, {what}"), &first),
        tail("first event", &first),
        ReportRow::milliseconds(format!("first word, {what}"), &word),
        tail("first word", &word),
    ]
}

/// Threads with a turn each, made by several clients side by side.
fn fill(served: &MeasuredServer, stored: usize) -> Result<Vec<String>, BenchFailure> {
    const CLIENTS: usize = 8;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..CLIENTS)
            .map(|worker| {
                scope.spawn(move || {
                    let numbers = (worker..stored).step_by(CLIENTS);
                    let made = numbers.map(|number| {
                        let client = LoadClient { port: served.port, user: number };
                        let thread = client.thread(&served.workspace)?;
                        client.say(&thread, "hello")?;
                        Ok((number, thread))
                    });
                    made.collect::<Result<Vec<_>, BenchFailure>>()
                })
            })
            .collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().map_err(|_| "a client panicked".to_owned())??);
        }
        // A thread belongs to the user with its number.
        all.sort();
        Ok(all.into_iter().map(|(_, thread)| thread).collect())
    })
}

/// What a late turn of a thread takes beside an early one: the history must not be paid for again and again. The model is
/// sent everything that was said, which is part of both.
fn long_thread(served: &MeasuredServer, turns: usize) -> Result<ReportRow, BenchFailure> {
    let client = LoadClient { port: served.port, user: 0 };
    let thread = client.thread(&served.workspace)?;
    let mut took = Vec::with_capacity(turns);
    for _ in 0..turns {
        let began = Instant::now();
        client.say(&thread, "hello")?;
        took.push(began.elapsed().as_secs_f64());
    }
    let median = |part: &[f64]| {
        let mut part = part.to_vec();
        part.sort_by(f64::total_cmp);
        part.get(part.len() / 2).copied().unwrap_or(f64::INFINITY)
    };
    let (early, late) = (median(&took[5..15]), median(&took[turns - 10..]));
    Ok(ReportRow::samples(format!("turn {turns} of a thread, beside turn 10"), "times", &[late / early])
        .median_target(TargetBound::AtMost(MOST_TIMES)))
}

/// Long answers that are read.
fn attentive(served: &MeasuredServer) -> Result<(), BenchFailure> {
    (0..LAZY).try_for_each(|number| {
        let client = LoadClient { port: served.port, user: number };
        let thread = client.thread(&served.workspace)?;
        client.say(&thread, &much()).map(drop)
    })
}

fn much() -> String {
    format!("say much bytes:{LAZY_BYTES}")
}

/// Connections whose answers nobody reads.
fn lazy(served: &MeasuredServer) -> Result<Vec<std::net::TcpStream>, BenchFailure> {
    (0..LAZY)
        .map(|number| {
            let client = LoadClient { port: served.port, user: number };
            let thread = client.thread(&served.workspace)?;
            let held = client.ignore(&thread, &much())?;
            client.settled(&thread)?;
            Ok(held)
        })
        .collect()
}
