//! Whatever a model, an agent or a repository says: no terminal obeys it, whichever command prints it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use holon_testkit::{TestEnv, TestWorkspace};
use serde_json::json;

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Sequences by the rules of terminals: control sequences, strings, single controls in both writings, and what hides or turns text.
fn payloads() -> Vec<String> {
    let mut all = Vec::new();
    for end in [
        "A", "B", "C", "D", "H", "J", "K", "L", "M", "P", "S", "T", "X", "d", "f", "h", "l", "m", "n", "r",
        "s", "u", "c", "t", "p",
    ] {
        for lead in ["\x1b[", "\u{9b}"] {
            all.extend(["", "2", "?25", "1;1"].map(|middle| format!("{lead}{middle}{end}")));
        }
    }
    for string in [
        "]0;title",
        "]8;;http://evil.example",
        "]52;c;cm0gLXJm",
        "]1337;File=x",
        "]777;notify;a;b",
        "P1$r0m",
        "P+q544e",
        "_Ga=T;x",
        "^private",
        "X start",
    ] {
        for end in ["\x07", "\x1b\\", "\u{9c}", ""] {
            all.push(format!("\x1b{string}{end}"));
        }
    }
    all.extend(
        (0..0x20_u8).filter(|byte| !b"\0\t\n".contains(byte)).map(|byte| format!("a{}b", char::from(byte))),
    );
    all.push("a\x7fb".to_owned());
    all.extend((0x80..0xa0_u32).filter_map(char::from_u32).map(|c| format!("a{c}b")));
    for c in [
        '\u{202a}',
        '\u{202b}',
        '\u{202d}',
        '\u{202e}',
        '\u{2066}',
        '\u{2067}',
        '\u{2068}',
        '\u{2069}',
        '\u{200e}',
        '\u{200f}',
        '\u{61c}',
        '\u{200b}',
        '\u{2060}',
        '\u{feff}',
        '\u{2028}',
        '\u{2029}',
        '\u{e0041}',
    ] {
        all.push(format!("safe{c}elif"));
    }
    all.extend(
        [
            "all is well\rall is lost",
            "\u{8}\u{8}\u{8}no",
            "\x1bc",
            "\x1b#8",
            "\x1b(0",
            "\x1b=",
            "\x0e\x0f",
            "\x1b[31mred\x1b[0m",
        ]
        .map(str::to_owned),
    );
    all.push(format!("{}\x1b[2J", "x".repeat(100_000)));
    all
}

/// What a terminal would obey in this output; ends of lines and tabs are fine.
fn obeyed(text: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    let at = text.char_indices().find(|(_, c)| {
        let hides = matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
        hides || (c.is_control() && !"\n\t".contains(*c))
    })?;
    let from = text[..at.0].char_indices().rev().nth(40).map_or(0, |(at, _)| at);
    Some(text[from..].chars().take(80).collect::<String>().escape_debug().to_string())
}

/// Asks in a pipe and on a terminal, and holds both outputs to the rule; in a pipe what is asked for byte by byte is left out.
#[track_caller]
fn is_obeyed_by_nobody(env: &TestEnv, repo: &TestWorkspace, args: &[&str], expect: &str, as_it_is: bool) {
    let output = env.holon(args).cwd(repo.path()).run();
    let both = format!("{}{}", output.stdout, output.stderr);
    assert!(both.contains(expect), "{args:?} says something of it: {both}");
    if !as_it_is {
        assert_eq!(obeyed(&both), None, "{args:?} in a pipe");
    }
    assert_eq!(obeyed(&output.stderr), None, "{args:?} beside a pipe");
    let words: Vec<String> = args.iter().map(|arg| format!("'{}'", arg.replace('\'', "'\\''"))).collect();
    let line = format!("exec '{}' {}", env.binary().display(), words.join(" "));
    let call = env.program("script").args(["-q", "-e", "-c", &line, "/dev/null"]).cwd(repo.path());
    let empty = env.write("work/nothing", "");
    let shown = call
        .stdin_from(empty)
        .env("SHELL", "/bin/sh")
        .env("TERM", "xterm")
        .env("CI", "1")
        .env("NO_COLOR", "1")
        .run();
    assert!(shown.stdout.contains(expect), "{args:?} on a terminal: {}", shown.stdout);
    assert_eq!(obeyed(&shown.stdout), None, "{args:?} on a terminal");
}

/// A text as a cassette holds it: whatever is not plain in escapes.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            ' '..='~' => c.to_string(),
            _ => format!("\\U{:08x}", u32::from(c)),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_models_words_are_obeyed_by_no_terminal() {
    let all = payloads();
    assert!(all.len() >= 200, "{}", all.len());
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let said = format!("first words\n{}\nlast words", all.join("\n"));
    let tape = env.write("work/tape.yaml", format!("- text: {}\n", quoted(&said)));
    for more in [&[][..], &["--whole"]] {
        let args = [&["ask", "What is it?", "--replay", path(&tape)], more].concat();
        is_obeyed_by_nobody(&env, &repo, &args, "last words", false);
    }
    is_obeyed_by_nobody(&env, &repo, &["chat", "-m", "hello", "--replay", path(&tape)], "last words", false);
    is_obeyed_by_nobody(&env, &repo, &["chat", "--list"], "hello", false);
}

#[test]
fn an_agents_and_a_repositorys_words_are_obeyed_by_no_terminal() {
    let env = TestEnv::new(BIN);
    let said = format!("first words\n{}\nlast words\n", payloads().join("\n"));
    let repo = env
        .repo()
        .file("a.txt", "one\n")
        .file(
            ".holon/agents/odd.toml",
            format!(
                "name = \"odd\"\nkind = \"exec\"\ndescription = {}\ncommand = [\"/bin/true\"]\n",
                json!("odd \u{9b}2J \u{202e} words")
            ),
        )
        .commit("first");
    let words = env.write("work/words", &said);
    let agent = env.agent("agent.sh", "#!/bin/sh\ncat /holon/input/context/words; cat /holon/input/context/words >&2\ncp /holon/input/context/words a.txt\n\
         cp /holon/input/context/words \"$(printf 'odd\\033[2Jname')\"\ncp /holon/input/context/words /holon/output/summary.md\n");
    let goal = "odd \x1b]52;c;eA==\x07 \u{9b}2J \u{202e} goal";
    let run = ["run", "--goal", goal, "--agent", path(&agent), "--context", path(&words)];
    is_obeyed_by_nobody(&env, &repo, &run, "", false);
    for (args, expect, as_it_is) in [
        (&["runs", "list"][..], "goal", false),
        (&["runs", "list", "--json"], "goal", false),
        (&["runs", "show", "last"], "goal", false),
        (&["runs", "show", "last", "--json"], "run_id", true),
        (&["runs", "show", "last", "--events"], "last words", true),
        (&["runs", "show", "last", "--supervisor"], "", false),
        (&["runs", "diff", "last"], "last words", true),
        (&["runs", "diff", "last", "--stat"], "a.txt", false),
        (&["runs", "verify", "last"], "", false),
        (&["runs", "apply", "last"], "", false),
        (&["audit"], "", false),
        (&["agents", "list"], "odd", false),
        (&["modes", "list"], "plan", false),
        (&["run", "--agent", "odd \x1b[2J", "--goal", "x"], "odd", false),
        (&["doctor"], "Walls", false),
    ] {
        is_obeyed_by_nobody(&env, &repo, args, expect, as_it_is);
    }
}

#[test]
fn a_patch_in_a_pipe_is_the_same_byte_by_byte() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let mut bytes = payloads().join("\r\n").into_bytes();
    bytes.extend(b"\xe9t\xe9 \xff\r\nno end of a line");
    let words = env.write("work/words", &bytes);
    let agent = env.agent(
        "agent.sh",
        "#!/bin/sh\ncp /holon/input/context/words a.txt\necho ok > /holon/output/summary.md\n",
    );
    let run = ["run", "--goal", "x", "--agent", path(&agent), "--context", path(&words)];
    env.holon(run).cwd(repo.path()).run().assert_code(0);
    let line = format!("'{}' runs diff last | git apply", env.binary().display());
    env.program("sh").args(["-c", &line]).cwd(repo.path()).run().assert_code(0);
    assert!(std::fs::read(repo.path().join("a.txt")).unwrap() == bytes, "the patch says something else");
}

#[test]
fn our_own_colours_reach_a_terminal() {
    let env = TestEnv::new(BIN);
    let repo = env.repo().file("a.txt", "one\n").commit("first");
    let tape = env.write("work/tape.yaml", "- text: \"**bold** and \\x1b[2J\\x1b[31mred\"\n");
    let line = format!("exec '{}' chat -m hello --replay '{}'", env.binary().display(), tape.display());
    let call = env.program("script").args(["-q", "-e", "-c", &line, "/dev/null"]).cwd(repo.path());
    let shown = call.env("SHELL", "/bin/sh").env("TERM", "xterm").env("CI", "1").run();
    assert!(shown.stdout.contains("\x1b[1m") && shown.stdout.contains("\x1b[0m"), "{:?}", shown.stdout);
    assert!(!shown.stdout.contains("\x1b[2J") && !shown.stdout.contains("\x1b[31mred"), "{:?}", shown.stdout);
}
