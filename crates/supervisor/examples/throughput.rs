//! How many events one core decides on in a second: `cargo run --release -p holon-supervisor --example throughput`.

use std::io::Write;
use std::time::Instant;

use holon_core::ids::RunId;
use holon_core::policy::ToolClass;
use holon_supervisor::event::{
    CheckRan, Evidence, FileChange, FileHash, Finished, KnownCheck, Proposal, RoundEnd, Setup,
};
use holon_supervisor::{Config, Event, Fact, Level, State, step};

/// A run of five hundred rounds with seven calls each, some of them failing.
fn script() -> Result<Vec<Event>, Box<dyn std::error::Error>> {
    let mut facts = vec![Fact::RunStarted(Box::new(Setup {
        run: RunId::from_parts(0, [0; 4]),
        mode: "execute".into(),
        goal: "improve src/a.rs and src/b.rs".into(),
        plan_files: vec![],
        plan_steps: 0,
        checks: vec![KnownCheck { command: "cargo test".into(), asked: false }],
        monorepo: false,
        token_limit: 0,
    }))];
    for round in 1..=500_u32 {
        facts.push(Fact::RoundStarted { round });
        for i in 0..7_u32 {
            let (class, tool) = [
                (ToolClass::Read, "read_file"),
                (ToolClass::Write, "edit_file"),
                (ToolClass::Exec, "execute"),
            ][(i % 3) as usize];
            let call: holon_core::ids::CallId = format!("c{round}-{i}").parse()?;
            let path = format!("src/{}.rs", (round + i) % 40);
            let command = (class == ToolClass::Exec).then(|| format!("./tool --case {i}"));
            facts.push(Fact::ToolProposed(Proposal {
                call: call.clone(),
                tool: tool.into(),
                class,
                targets: vec![path.clone()],
                arguments: format!("{round}-{i}"),
                command,
            }));
            let hash = format!("{round}{i}");
            let mut evidence = Evidence::default();
            match class {
                ToolClass::Read => evidence.read.push(FileHash { path, hash }),
                ToolClass::Write => {
                    evidence.changed.push(FileChange { path, before: "0".into(), after: hash })
                }
                _ => {}
            }
            let ok = class != ToolClass::Exec || round % 5 != 0;
            let error = (!ok).then(|| format!("error: {round} things went wrong in src/a.rs:{round}:{i}"));
            let exit = (class == ToolClass::Exec).then_some(i32::from(!ok));
            facts.push(Fact::ToolFinished(Finished {
                call,
                ok,
                exit,
                check: false,
                error,
                duration_ms: 1,
                evidence,
            }));
        }
        facts.push(Fact::CheckRan(CheckRan {
            call: None,
            command: "cargo test".into(),
            exit: Some(i32::from(round % 3 == 0)),
            passed: 9,
            failed: 1,
            skipped: 0,
            failing: vec!["parse::empty".into()],
            diagnostics: 0,
            duration_ms: 1,
            changed: Vec::new(),
        }));
        facts.push(Fact::RoundEnded(RoundEnd { tokens: 900, diff_lines: round, ..RoundEnd::default() }));
    }
    Ok(facts.into_iter().enumerate().map(|(at, fact)| Event { ts: at as u64, fact }).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let events = script()?;
    let mut out = std::io::stdout().lock();
    for level in [Level::Off, Level::Adaptive, Level::Strict] {
        let (mut count, mut decided) = (0_u64, 0_u64);
        let began = Instant::now();
        while began.elapsed().as_millis() < 1500 {
            let mut state = State::new(Config { level, ..Config::default() });
            for event in &events {
                let (next, effects) = step(state, event);
                state = next;
                decided += effects.len() as u64;
                if state.stopped().is_some() {
                    state = step(state, &Event { ts: 0, fact: Fact::CheckpointResumed }).0;
                }
            }
            count += events.len() as u64;
        }
        let per_second = count as f64 / began.elapsed().as_secs_f64();
        writeln!(
            out,
            "{:9} {per_second:>10.0} events/s, {:.2} effects per event",
            level.name(),
            decided as f64 / count as f64
        )?;
    }
    Ok(())
}
