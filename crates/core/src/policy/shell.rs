//! Finds every simple command a POSIX shell line would run, without running anything.
//!
//! What is understood is split exactly; what is not is refused, and the rules treat a refused line as the worst case.

use std::fmt;

mod reader;
mod word;

/// The longest line that is looked at.
const MAX_LINE: usize = 64 * 1024;

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellWord {
    /// Its text is known.
    Literal(String),
    /// Its text depends on variables, files or other commands.
    Dynamic,
}

impl ShellWord {
    /// The text, when it is known.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Dynamic => None,
        }
    }
}

/// One command with its arguments, redirections left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Names of the variables set in front of it.
    pub assignments: Vec<String>,
    /// The program and its arguments.
    pub words: Vec<ShellWord>,
}

impl fmt::Display for SimpleCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.assignments.iter().map(|name| format!("{name}=…"));
        let words = self.words.iter().map(|w| w.text().unwrap_or("…").to_owned());
        let text = names.chain(words).collect::<Vec<_>>().join(" ");
        let short: String = text.chars().take(120).collect();
        f.write_str(&short)
    }
}

/// Why a line could not be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnparsableLine(pub &'static str);

/// Every simple command in a line: pipelines, lists, subshells, substitutions and here-documents included.
pub fn split(line: &str) -> Result<Vec<SimpleCommand>, UnparsableLine> {
    if line.len() > MAX_LINE {
        return Err(UnparsableLine("the line is too long"));
    }
    if line.contains('\0') {
        return Err(UnparsableLine("the line contains a NUL byte"));
    }
    reader::read(line)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn check(line: &str, expect: &[&str]) {
        let got: Vec<String> = split(line).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(got, expect, "{line}");
    }

    #[test]
    fn every_command_of_a_line_is_found() {
        check("git status", &["git status"]);
        check("a && b || c; d & e | f |& g", &["a", "b", "c", "d", "e", "f", "g"]);
        check("(a; b) && { c; d; }", &["a", "b", "c", "d"]);
        check("echo $(rm -rf x) done", &["rm -rf x", "echo … done"]);
        check("echo `rm x`", &["rm x", "echo …"]);
        check("echo \"now $(date +%s)\"", &["date +%s", "echo …"]);
        check("echo '$(not run)'", &["echo $(not run)"]);
        check("X=1 Y=$(z) cmd a", &["z", "X=… Y=… cmd a"]);
        check("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
        check("while read x; do echo $x; done < file", &["read x", "echo …"]);
        check("for f in a $(ls); do rm $f; done", &["ls", "rm …"]);
        check("! grep x file", &["grep x file"]);
        check("time -p make", &["make"]);
        check("a 2>&1 >out <in", &["a"]);
        check("a >$(b)", &["b", "a"]);
        check("diff <(a) <(b)", &["a", "b", "diff … …"]);
        check("a # b; c", &["a"]);
        check("a \\\n b", &["a b"]);
        check("a\nb\n", &["a", "b"]);
        check("echo \"${x:-$(y)}\"", &["y", "echo …"]);
        check("[[ -f x && -n $(y) ]] && z", &["y", "z"]);
        check("echo $((1 + 2))", &["echo …"]);
        check("g\"i\"t 'pu'sh", &["git push"]);
        check("", &[]);
        check("a &> log", &["a"]);
        check("ls *.rs {a,b} ~/x", &["ls … … …"]);
        check("[ -f x ]", &["[ -f x ]"]);
    }

    #[test]
    fn here_documents_are_text_unless_they_run_something() {
        check("cat <<'EOF' > f\n$(not run); rm x\nEOF\necho y", &["cat", "echo y"]);
        check("cat <<EOF\n$(run me)\nEOF\necho y", &["cat", "run me", "echo y"]);
        check("cat <<-EOF | b\n\ttext `c`\n\tEOF\nd", &["cat", "b", "c", "d"]);
        check("cat <<<\"$(a)\"", &["a", "cat"]);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for line in [
            "echo 'open",
            "echo \"open",
            "echo $(open",
            "echo `open",
            "a)",
            "(a",
            "case x in x) a;; esac",
            "f() { a; }",
            "function f { a; }",
            "a=(1 2)",
            "echo ${x",
            "((1))",
            "select x in a; do b; done",
            "coproc a",
            "echo $((1; rm x) )",
            "${ a; }",
            "fi x",
            "a\0b",
        ] {
            assert!(split(line).is_err(), "{line}: {:?}", split(line));
        }
    }

    #[test]
    fn nesting_is_bounded() {
        assert!(split(&format!("{}a{}", "$(".repeat(5000), ")".repeat(5000))).is_err());
        assert!(split(&format!("{}a{}", "(".repeat(5000), ")".repeat(5000))).is_err());
        assert!(split(&format!("echo {}", "${a:-".repeat(9000))).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
        #[test]
        fn never_panics(line in "[a-c $(){}`'\"\\\\;&|<>=#!\\[\\]\\n0-9-]{0,60}") {
            let _ = split(&line);
        }

        #[test]
        fn never_panics_on_any_text(line in "\\PC{0,60}") {
            let _ = split(&line);
        }

        #[test]
        fn plain_words_come_back(words in prop::collection::vec("[a-z0-9./_-]{1,8}", 1..5)) {
            prop_assume!(!["if", "do", "fi", "for", "case", "then", "else", "elif", "done", "esac", "time", "while", "until", "select", "coproc", "function"].contains(&words[0].as_str()));
            let commands = split(&words.join(" ")).unwrap();
            prop_assert_eq!(commands.len(), 1);
            let texts: Vec<&str> = commands[0].words.iter().filter_map(ShellWord::text).collect();
            prop_assert_eq!(texts, words.iter().map(String::as_str).collect::<Vec<_>>());
        }

        #[test]
        fn quoting_keeps_a_word_whole(text in "[ -&(-~]{0,20}") {
            let commands = split(&format!("echo '{text}'")).unwrap();
            prop_assert_eq!(commands[0].words[1].text(), Some(text.as_str()));
        }
    }
}
