//! `cargo xtask bench`: measure a release build.

use crate::{Failure, process, project};

/// `cargo xtask bench [ARGUMENTS]`; the arguments go to the program that measures.
pub(crate) fn run(args: &[&str]) -> Result<(), Failure> {
    process::show(project::cargo().args([
        "build",
        "--release",
        "--package",
        "holon",
        "--package",
        "holon-bench",
    ]))?;
    let target = project::metadata()?.target;
    let results = target.join("bench");
    std::fs::create_dir_all(&results)
        .map_err(|error| format!("cannot make {}: {error}", results.display()))?;
    let release = target.join("release");
    let mut bench = std::process::Command::new(release.join("holon-bench"));
    bench.current_dir(project::root()).args(args);
    process::show(bench.env("HOLON_BIN", release.join("holon")).env("HOLON_BENCH_DIR", &results))?;
    println!("results: {}", results.display());
    Ok(())
}
