//! A plan holds no credential, what it names is filled in when the run is done again, and each file of the configuration is
//! opened once for all of a command.

use std::fs;
use std::mem::MaybeUninit;
use std::path::Path;

use holon_testkit::{Invocation, TestEnv, TestWorkspace};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

use crate::{BIN, SUMMARY};

const SECRET: &str = "a-value-nobody-may-read";

const CASSETTE: &str = "- tool: edit_file\n  args: { path: a.txt, old: one, new: two }\n\
                        - tool: execute\n  args: { command: grep -q two a.txt }\n\
                        - tool: finish\n  args: { summary: Done. }\n";

fn scene() -> (TestEnv, TestWorkspace) {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    (env, repo)
}

#[test]
fn a_stored_plan_names_credentials_and_holds_none() {
    let (env, repo) = scene();
    let tape = env.write("work/tape.yaml", CASSETTE);
    let check = format!("test {SECRET} != x && grep -q . a.txt");
    let call = |call: Invocation| call.env("DOCS_TOKEN", SECRET).cwd(repo.path());
    let run = env.holon(["run", "--mode", "execute", "--goal", "Do it", "--check", &check, "--replay"]);
    call(run.arg(&tape)).run().assert_code(0);
    let folder = env.runs().pop().expect("a run");
    let stored = fs::read_to_string(folder.join("run-plan.json")).unwrap();
    assert!(!stored.contains(SECRET) && stored.contains("[redacted:DOCS_TOKEN]"), "{stored}");
    call(env.holon(["runs", "replay", "last"])).run().assert_code(0);
    // Without the variable nobody knows what stood there.
    let lost = env.holon(["runs", "replay", "last"]).cwd(repo.path()).run();
    lost.assert_code(1).assert_stderr("a credential that was not written down");
}

/// Counts how often a file is opened while something is done. The kernel queues each opening and closing before it
/// returns to whoever opens, so nothing is missed and nothing has to be waited for.
fn opened(file: &Path, work: impl FnOnce()) -> usize {
    let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, file, WatchFlags::OPEN | WatchFlags::CLOSE).unwrap();
    work();
    let mut room = [MaybeUninit::uninit(); 64 << 10];
    let mut reader = inotify::Reader::new(&watch, &mut room);
    let events = std::iter::from_fn(|| match reader.next() {
        Ok(event) => Some(event.events()),
        Err(rustix::io::Errno::AGAIN) => None,
        Err(error) => panic!("the watch cannot be read: {error}"),
    });
    events.filter(|flags| flags.contains(ReadFlags::OPEN)).count()
}

#[test]
fn each_file_of_the_configuration_is_opened_once_for_all_of_a_command() {
    let agent = format!(
        "{SUMMARY}out=/holon/output\ncase \"$HOLON_MODE\" in\nplan)\n    \
         printf '# Goal\\nChange a.\\n# Context\\nA file.\\n# Steps\\n1. Append.\\n# Risks\\nNone.\\n# Verification\\nLook.\\n' \
         > $out/plan.md\n    echo '{{\"steps\":[{{\"id\":\"1\",\"title\":\"Append\"}}]}}' > $out/plan.json ;;\n*)\n    \
         echo changed >> a.txt ;;\nesac\n"
    );
    for (mode, flags) in [
        ("execute", &["--no-auto-checks"][..]),
        ("plan-then-execute", &["--gate", "auto"][..]),
        ("orchestrate", &[][..]),
    ] {
        let (env, repo) = scene();
        let own = env.write("config/holon/config.toml", "[breaker]\nfailures = 4\n");
        let agent = env.write("work/agent.sh", &agent);
        fs::set_permissions(&agent, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let count = opened(&own, || {
            let run = env.holon(["run", "--mode", mode, "--goal", "Change a", "--quiet", "--agent"]);
            run.arg(&agent).args(flags).cwd(repo.path()).run();
        });
        assert_eq!(count, 1, "{mode}: config.toml was opened {count} times");
    }
}
