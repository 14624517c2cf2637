//! What an agent may try to get out, as root and as an ordinary user: nothing may come of it.
//!
//! The attempts are in `escape/`: see `escape/probes.py` for how to add one. Each is shown to work in the open first.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "escape/world.rs"]
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_testkit::{TestEnv, for_each_identity};
use world::{EscapeWorld, PYTHON, ProbeRow, rows, with};

const HOLON: &str = env!("CARGO_BIN_EXE_holon");
/// The battery is not allowed to shrink unnoticed.
const FEWEST_PROBES: usize = 300;
/// What the host may need while it looks at what an agent left, in MiB; the largest artifact allowed is 256.
const MOST_MEMORY: u64 = 1024;
const CLASSES: [&str; 9] = ["abi", "env", "fs", "git", "mount", "net", "proc", "process", "tty"];
const PLAN: &str =
    "# Plan\n\n## Goal\nx\n\n## Context\nx\n\n## Steps\n1. x\n\n## Risks\nx\n\n## Verification\nx\n";

#[test]
fn every_probe_works_in_the_open() {
    // Some need root to show anything, some only work as an ordinary user: once is enough.
    let mut best: BTreeMap<String, ProbeRow> = BTreeMap::new();
    for_each_identity(HOLON, |env| {
        let world = EscapeWorld::new(env);
        for row in world.control() {
            let known = best.get(&row.id).map(|known| known.verdict.as_str());
            // Root's reason is the better one: an ordinary user's is often only that it is not root.
            if known.is_none() || row.verdict == "works" || known == Some("broken") {
                best.insert(row.id.clone(), row);
            }
        }
    });
    let all: Vec<ProbeRow> = best.into_values().collect();
    let classes: BTreeSet<&str> = all.iter().map(|row| row.id.split('-').next().unwrap()).collect();
    assert_eq!(classes, BTreeSet::from(CLASSES));
    assert!(all.len() >= FEWEST_PROBES, "only {} probes are left", all.len());
    println!(
        "escape controls: {} probes, {} work in the open, {} cannot here:",
        all.len(),
        with(&all, "works").len(),
        with(&all, "impossible").len()
    );
    for row in with(&all, "impossible") {
        println!("  {}: {}", row.id, row.reason);
    }
    assert_all(
        &all,
        &["works", "impossible"],
        "these probes show nothing, because they fail in the open too",
    );
}

#[test]
fn inv_01_inv_02_nothing_escapes_from_execute() {
    for_each_identity(HOLON, |env| probe(env, "execute", "native"));
}

#[test]
fn inv_01_inv_02_nothing_escapes_from_plan() {
    for_each_identity(HOLON, |env| probe(env, "plan", "native"));
}

#[test]
fn inv_01_inv_02_nothing_escapes_from_a_write_scope() {
    for_each_identity(HOLON, |env| probe(env, "architect", "native"));
}

/// What bubblewrap leaves open of all that is tried, as docs/sandbox.md says: a program's own memory, and endless terminals.
const OPEN_BEHIND_BUBBLEWRAP: &[&str] = &["proc-self-mem", "tty-flood"];

/// Bubblewrap does not start for root, whose folders are closed to the payload.
#[test]
fn inv_01_inv_02_nothing_escapes_from_bubblewrap() {
    for mode in ["execute", "plan"] {
        probe(&TestEnv::as_ordinary(HOLON), mode, "bubblewrap");
    }
}

/// All probes of a mode in one run, then a look at the host.
fn probe(env: &TestEnv, mode: &str, sandbox: &str) {
    let world = EscapeWorld::new(env);
    let before = world.before();
    let script = format!(
        "#!/bin/sh\n{PYTHON} -B -E /holon/workspace/.probe/probes.py inside /holon/workspace/.probe/{mode}.json \
         /holon/output/probes.jsonl || exit 9\nprintf '# Summary\\n\\nprobed\\n' > /holon/output/summary.md\n\
         printf '{}' > /holon/output/plan.md\n",
        PLAN.replace('\n', "\\n")
    );
    let name = format!("probes-{mode}-{sandbox}");
    let (output, out) = world.run(&name, mode, &script, &["--verify", "full", "--sandbox", sandbox]);
    let manifest = output.manifest(&out);
    assert_eq!(manifest["status"], "completed", "{output}");
    assert_eq!(manifest["breaches"].as_array().map_or(0, Vec::len), 0, "{manifest:#}");
    let rows = rows(&out.join("probes.jsonl"));
    println!(
        "escape battery ({}, {mode}, {sandbox}): {} probes, {} blocked, {} informational, {} escapes",
        env.identity().name(),
        rows.len(),
        with(&rows, "blocked").len(),
        with(&rows, "informational").len(),
        with(&rows, "escape").len()
    );
    for row in with(&rows, "informational") {
        println!("  {}: {}", row.id, row.result);
    }
    let (known, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| {
        let open = row.verdict == "escape" && OPEN_BEHIND_BUBBLEWRAP.contains(&row.id.as_str());
        // Nothing of the first process is there to be asked for.
        let hidden = row.verdict == "unexpected" && row.id.contains("-init") && row.result == "ENOENT";
        sandbox == "bubblewrap" && (open || hidden)
    });
    let rows_and_known = rows.len() + known.len();
    assert_all(&rows, &["blocked", "informational"], "not blocked, or blocked for the wrong reason");
    assert!(rows_and_known >= FEWEST_PROBES, "only {rows_and_known} probes ran");
    world.assert_untouched(&before);
    world.assert_secret_kept(&output, &out);
    // What the host does later with what the agent left must not run any of it either.
    for args in [["runs", "list"], ["runs", "show"], ["runs", "diff"]] {
        let mut args = args.to_vec();
        args.extend((args[1] != "list").then_some("last"));
        let shown = world.holon(&args).run();
        // A mode that delivers no patch has none to show.
        let none = args[1] == "diff" && shown.code == 1 && shown.stderr.contains("delivered no patch");
        assert!(none || shown.code == 0, "{args:?}: {shown:?}");
    }
    world.assert_untouched(&before);
    world.holon(&["runs", "apply", "last"]).run();
    let canary =
        fs::read_dir(env.root().join("canary")).unwrap().flatten().map(|e| e.file_name()).collect::<Vec<_>>();
    assert!(canary.is_empty(), "the host ran what the agent planted: {canary:?}");
    drop(world);
    env.assert_nothing_left();
}

#[track_caller]
fn assert_all(rows: &[ProbeRow], good: &[&str], message: &str) {
    let bad: Vec<_> = rows.iter().filter(|row| !good.contains(&row.verdict.as_str())).collect();
    let list: Vec<_> =
        bad.iter().map(|row| format!("  {} {}: {}", row.verdict, row.id, row.result)).collect();
    assert!(bad.is_empty(), "{message}:\n{}", list.join("\n"));
}

/// What an agent can leave in its output folder for the host to stumble over.
struct OutputTrap {
    name: &'static str,
    mode: &'static str,
    /// What the agent does before writing what it owes; CANARY, SECRET and HOME stand for paths of the host.
    script: &'static str,
    /// How the run may end.
    codes: &'static [i32],
}

const TRAPS: &[OutputTrap] = &[
    // The host reads.
    OutputTrap {
        name: "summary-link",
        mode: "execute",
        script: "ln -s SECRET /holon/output/summary.md",
        codes: &[1],
    },
    OutputTrap { name: "plan-link", mode: "plan", script: "ln -s SECRET /holon/output/plan.md", codes: &[1] },
    OutputTrap {
        name: "extra-link",
        mode: "execute",
        script: "ln -s SECRET /holon/output/extra.txt",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "folder-link",
        mode: "execute",
        script: "ln -s HOME /holon/output/home",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "patch-link-read",
        mode: "plan",
        script: "ln -s SECRET /holon/output/diff.patch",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "summary-fifo",
        mode: "execute",
        script: "mkfifo /holon/output/summary.md",
        codes: &[1],
    },
    OutputTrap { name: "extra-fifo", mode: "execute", script: "mkfifo /holon/output/extra", codes: &[0, 1] },
    OutputTrap {
        name: "patch-fifo",
        mode: "plan",
        script: "mkfifo /holon/output/diff.patch",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "manifest-fifo",
        mode: "plan",
        script: "mkfifo /holon/output/manifest.json",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "patch-zero",
        mode: "plan",
        script: "ln -s /dev/zero /holon/output/diff.patch",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "socket",
        mode: "execute",
        script: "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/holon/output/s\")'",
        codes: &[0, 1],
    },
    // The host writes.
    OutputTrap {
        name: "patch-link",
        mode: "execute",
        script: "ln -s CANARY/file /holon/output/diff.patch",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "manifest-link",
        mode: "execute",
        script: "ln -s CANARY/file /holon/output/manifest.json",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "evidence-link",
        mode: "execute",
        script: "ln -s CANARY /holon/output/evidence",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "manifest-folder",
        mode: "execute",
        script: "mkdir -p /holon/output/manifest.json/x",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "patch-folder",
        mode: "execute",
        script: "mkdir -p /holon/output/diff.patch/x",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "evidence-folder",
        mode: "execute",
        script: "mkdir -p /holon/output/evidence/events.jsonl",
        codes: &[0, 1],
    },
    // The host counts, names, copies.
    OutputTrap {
        name: "set-id",
        mode: "execute",
        script: "cp /bin/true /holon/output/suid; chmod 6755 /holon/output/suid; mkdir /holon/output/d; chmod 7777 /holon/output/d; cp /bin/true ./suid; chmod 6755 ./suid",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "locked",
        mode: "execute",
        script: "mkdir -p /holon/output/locked/in locked/in; echo x > /holon/output/locked/f; chmod 000 /holon/output/locked locked",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "names",
        mode: "execute",
        script: "cd /holon/output && python3 -c '\nimport os\nfor n in [b\"a\\nb\", b\"q\\\"\\x27\", b\"\\xff\\xfe\", b\".git\", b\".GIT\", b\".git \", b\"x\"*255, b\"\\x1b[31m\", b\"-rf\", b\"~\", b\"$(id)\"]:\n  open(n, \"w\").write(\"x\")\n  open(b\"/holon/workspace/\" + n, \"w\").write(\"x\") if n[:4].lower() != b\".git\" else None\n'",
        codes: &[0, 1, 2],
    },
    OutputTrap {
        name: "deep",
        mode: "execute",
        script: "python3 -c '\nimport os\nfor top in (\"/holon/output\", \"/holon/workspace\"):\n  os.chdir(top)\n  for i in range(10000):\n    os.mkdir(\"d\"); os.chdir(\"d\")\n  open(\"bottom\", \"w\").write(\"x\")\n'",
        codes: &[0, 1, 2],
    },
    OutputTrap {
        name: "huge-folder",
        mode: "execute",
        script: "mkdir /holon/output/many; python3 -c '\nfor i in range(20000): open(\"/holon/output/many/%d\" % i, \"w\").close()\n'",
        codes: &[0, 1],
    },
    OutputTrap {
        name: "sparse",
        mode: "execute",
        script: "for i in 1 2 3 4 5 6; do truncate -s 2G /holon/output/sparse$i; truncate -s 1T /holon/output/huge$i; truncate -s 2G ./sparse$i; done 2>/dev/null",
        codes: &[0, 1, 2],
    },
    // The agent's last words.
    OutputTrap {
        name: "kill-all",
        mode: "execute",
        script: "sh -c 'kill -9 1; kill -STOP 1; kill -9 -1'",
        codes: &[1],
    },
    OutputTrap {
        name: "forged",
        mode: "execute",
        script: "printf '{\"status\":\"completed\",\"outcome\":\"success\"}' > /holon/output/manifest.json; exit 3",
        codes: &[1],
    },
    OutputTrap {
        name: "configuration",
        mode: "execute",
        script: "mkdir -p .holon/modes .holon/agents; printf 'name=\"plan\"\\n[workspace]\\naccess=\"rw\"\\n' > .holon/modes/plan.toml; printf 'sandbox=\"none\"\\n' > holon.toml",
        codes: &[0, 1, 2],
    },
];

#[test]
fn what_is_left_in_the_output_folder_harms_nobody() {
    let mut all_failed = Vec::new();
    for_each_identity(HOLON, |env| {
        let world = EscapeWorld::new(env);
        let place = |path: &str| env.root().join(path).to_str().unwrap().to_owned();
        let mut failed = Vec::new();
        for trap in TRAPS {
            let body = trap
                .script
                .replace("CANARY", &place("canary"))
                .replace("SECRET", &place("victim/secret.txt"))
                .replace("HOME", &place("home"));
            let script = format!(
                "#!/bin/sh\n{body}\ncd /holon/output\n[ -L summary.md ] || [ -p summary.md ] || printf '# Summary\\n\\nx\\n' > summary.md\n\
                 [ -L plan.md ] || printf '{}' > plan.md\nexit 0\n",
                PLAN.replace('\n', "\\n")
            );
            let before = world.before();
            let check =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| spring(&world, trap, &script)));
            let touched =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.assert_untouched(&before)));
            for result in [check, touched] {
                if let Err(panic) = result {
                    let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                    failed.push(format!("{}: {text}", trap.name));
                }
            }
        }
        println!(
            "escape battery ({}, output): {} probes, {} blocked, 0 informational, {} escapes",
            env.identity().name(),
            TRAPS.len(),
            TRAPS.len() - failed.len().min(TRAPS.len()),
            failed.len()
        );
        all_failed.extend(failed.into_iter().map(|text| format!("as {}, {text}", env.identity().name())));
        drop(world);
        env.assert_nothing_left();
    });
    assert!(all_failed.is_empty(), "{}", all_failed.join("\n\n"));
}

fn spring(world: &EscapeWorld<'_>, trap: &OutputTrap, script: &str) {
    // A store of its own, so that what one trap breaks is not blamed on the next.
    let state = world.env.write(format!("state-{}/.keep", trap.name), "").parent().unwrap().to_owned();
    let agent = world.env.agent(trap.name, script);
    let out = world.env.work().join(format!("out-{}", trap.name));
    // A host that reads what a sparse file pretends to hold would take the machine with it; here it only fails.
    let run = |mode: &str, agent: &Path, out: &Path| {
        let mut command =
            world.env.program(PYTHON).args(["-B", "-E"]).arg(world.repo.join(".probe/meter.py")).arg("6000");
        command = command.arg(world.env.binary()).args([
            "run",
            "--mode",
            mode,
            "--goal",
            "probe",
            "--timeout",
            "60s",
        ]);
        command = command.arg("--out").arg(out).arg("--agent").arg(agent).env("XDG_STATE_HOME", &state);
        command.cwd(world.repo.path()).timeout(Duration::from_secs(300)).run()
    };
    let output = run(trap.mode, &agent, &out);
    assert!(!output.timed_out, "the host hung\n{output}");
    assert!(trap.codes.contains(&output.code), "exit code {}\n{output}", output.code);
    let peak = output.stderr.lines().rev().find_map(|line| line.strip_prefix("PEAK ")?.parse::<u64>().ok());
    assert!(peak.is_some_and(|mib| mib <= MOST_MEMORY), "the host took {peak:?} MiB\n{output}");
    let folder = only_run(&state);
    let manifest = output.manifest(folder.join("output"));
    assert_eq!(manifest["exit_code"], output.code, "{output}");
    if manifest["error"]["kind"] == "out" {
        assert!(!out.exists(), "a half-made copy was left in {}", out.display());
    } else {
        assert_eq!(output.manifest(&out), manifest, "the copy tells another story");
        assert_plain(&out);
    }
    for folder in [&out, &state] {
        world.assert_secret_kept(&output, folder);
    }
    let next =
        world.env.agent("next", "#!/bin/sh\nprintf '# Summary\\n\\nx\\n' > /holon/output/summary.md\n");
    let later = run("execute", &next, &world.env.work().join(format!("out-after-{}", trap.name)));
    assert_eq!(later.code, 0, "the next run suffers\n{later}");
}

fn only_run(state: &Path) -> PathBuf {
    let list =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut runs = list(state.join("holon")).flat_map(|workspace| list(workspace.join("runs")));
    runs.next().expect("a run in the store")
}

/// No link, special file or set-id bit may arrive where the user asked for the artifacts.
fn assert_plain(out: &Path) {
    let mut todo = vec![out.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let meta = entry.metadata().unwrap();
            assert!(meta.is_dir() || meta.is_file(), "{:?} is neither file nor folder", entry.path());
            assert_eq!(meta.permissions().mode() & 0o7000, 0, "{:?} has a set-id bit", entry.path());
            if meta.is_dir() {
                todo.push(entry.path());
            }
        }
    }
}

#[test]
fn a_check_runs_behind_walls_too() {
    for_each_identity(HOLON, |env| {
        let world = EscapeWorld::new(env);
        let before = world.before();
        let canary = env.root().join("canary/check");
        let script = format!(
            "#!/bin/sh\nprintf '#!/bin/sh\\ntouch {0}\\ncat {1} > leaked\\n[ -e {0} ] && exit 1\\nexit 0\\n' > check.sh\n\
             printf '# Summary\\n\\nx\\n' > /holon/output/summary.md\n",
            canary.display(),
            env.root().join("victim/secret.txt").display()
        );
        // The agent writes the check itself, which a person has to allow beforehand.
        let check = ["--check", "sh ./check.sh", "--tests-may-change"];
        let (output, out) = world.run("check", "execute", &script, &check);
        output.assert_code(0);
        world.assert_untouched(&before);
        world.assert_secret_kept(&output, &out);
    });
}

#[test]
fn a_persons_terminal_is_out_of_reach() {
    for_each_identity(HOLON, |env| {
        let world = EscapeWorld::new(env);
        let before = world.before();
        // The sequences set the title, the clipboard, and ask the terminal to type an answer.
        let script = format!(
            "#!/bin/sh\nprintf '\\033]0;OWNED\\007\\033]52;c;T1dORUQ=\\007\\033[6n\\033[>c\\n'\nprintf '\\033]0;OWNED\\007\\n' >&2\n\
             {PYTHON} -c 'import fcntl\nfor fd in (0, 1, 2):\n  try: fcntl.ioctl(fd, 0x5412, b\"x\"); print(\"pushed\")\n  except OSError: pass'\n\
             (exec 3<>/dev/tty) 2>/dev/null && echo opened-the-terminal\nprintf '# Summary\\n\\nx\\n' > /holon/output/summary.md\n"
        );
        let agent = env.agent("terminal", &script);
        let output = env
            .program(PYTHON)
            .args(["-B", "-E"])
            .arg(world.repo.join(".probe/terminal.py"))
            .arg("60")
            .arg(env.binary())
            .args(["run", "--goal", "probe", "--agent"])
            .arg(&agent)
            .cwd(world.repo.path())
            .run();
        let told = output.assert_code(0).json();
        let shown = told["shown"].as_str().unwrap();
        assert_eq!(told["code"], 0, "{shown}");
        assert!(shown.contains("TYPED 0"), "something was typed into the terminal: {shown:?}");
        for text in ["pushed", "opened-the-terminal", "\u{1b}]0;OWNED", "\u{1b}]52", "\u{1b}[6n", "\u{1b}[>c"]
        {
            assert!(!shown.contains(text), "{text:?} reached the terminal: {shown:?}");
        }
        world.assert_untouched(&before);
    });
}
