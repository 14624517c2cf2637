//! `cargo xtask bench`: measure what is shipped.

use crate::{XtaskFailure, process, project};

/// `cargo xtask bench [ARGUMENTS]`; the arguments go to the program that measures.
pub(crate) fn run(args: &[&str]) -> Result<(), XtaskFailure> {
    process::show(project::cargo().args([
        "build",
        "--profile",
        "dist",
        "--package",
        "holon",
        "--package",
        "holon-bench",
    ]))?;
    let target = project::metadata()?.target;
    let results = target.join("bench");
    std::fs::create_dir_all(&results)
        .map_err(|error| format!("cannot make {}: {error}", results.display()))?;
    let built = target.join("dist");
    let mut bench = std::process::Command::new(built.join("holon-bench"));
    bench.current_dir(project::root()).args(args);
    process::show(bench.env("HOLON_BIN", built.join("holon")).env("HOLON_BENCH_DIR", &results))?;
    println!("results: {}", results.display());
    Ok(())
}
