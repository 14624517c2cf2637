//! The repository a script is about, and the turns of its agent as they are written down.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::words::{CHECKS, NOUNS, ScriptLanguage, TONGUES, WORDS};
use crate::lost::script::{AgentScript, ScriptCommit};

/// SplitMix64.
pub(super) struct ScriptDice(u64);

impl ScriptDice {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    pub(super) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// What every script of a seed is made with.
pub(super) struct ScriptWorld {
    pub(super) dice: ScriptDice,
    pub(super) files: BTreeMap<String, String>,
    pub(super) commits: Vec<ScriptCommit>,
    pub(super) tongue: &'static ScriptLanguage,
    /// The file that matters, what it has to say, and the case about it.
    pub(super) path: String,
    pub(super) right: String,
    pub(super) case: String,
    /// The file of the check, and the command that runs it.
    pub(super) check: String,
    pub(super) command: String,
    turns: String,
}

impl ScriptWorld {
    pub(super) fn new(seed: u64, family: usize) -> Self {
        let mut dice = ScriptDice(seed.wrapping_mul(1_000).wrapping_add(family as u64));
        let tongue = &TONGUES[(seed as usize).wrapping_add(family) % TONGUES.len()];
        let (noun, good, bad) = (*dice.pick(&NOUNS), *dice.pick(&WORDS), "wrong");
        // Half of them speak as tests do everywhere.
        let (check, yes, no) = if dice.below(2) == 0 { CHECKS[0] } else { *dice.pick(&CHECKS) };
        let path = format!("{}/{noun}.{}", tongue.folder, tongue.end);
        let case = format!("{noun} says {good}");
        let right = tongue.word.replace("{}", good);
        let (yes, no) = (yes.replace("{}", &case), no.replace("{}", &case));
        let text = format!("if grep -qF '{right}' {path}; then echo '{yes}'; else echo '{no}'; exit 1; fi\n");
        let files = BTreeMap::from([
            (path.clone(), format!("{}\n", tongue.word.replace("{}", bad))),
            ("Makefile".to_owned(), format!("test:\n\t@sh {check}\n")),
            (check.to_owned(), text),
        ]);
        let (check, command) = (check.to_owned(), "make test".to_owned());
        let (commits, turns) = (Vec::new(), String::new());
        Self { dice, files, commits, tongue, path, right, case, check, command, turns }
    }

    /// A check of one's own instead of the one about the word.
    pub(super) fn judge(&mut self, check: &str) {
        self.files.insert(self.check.clone(), check.to_owned());
    }

    /// The check without a Makefile: its command is known to nobody.
    pub(super) fn unknown(&mut self) {
        self.files.remove("Makefile");
        self.command = format!("sh {}", self.check);
    }

    pub(super) fn file(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.files.insert(path.into(), text.into());
    }

    /// A path among the sources.
    pub(super) fn source(&self, name: &str) -> String {
        format!("{}/{name}.{}", self.tongue.folder, self.tongue.end)
    }

    pub(super) fn function(&self, name: &str, value: impl std::fmt::Display) -> String {
        self.tongue.function.replace("NAME", name).replace("VALUE", &value.to_string())
    }

    pub(super) fn add(&mut self, turn: &Value) {
        let _ = writeln!(self.turns, "- {turn}");
    }

    pub(super) fn call(&mut self, tool: &str, args: Value) {
        self.add(&json!({"tool": tool, "args": args}));
    }

    pub(super) fn read(&mut self, path: &str) {
        self.call("read_file", json!({"path": path}));
    }

    pub(super) fn read_part(&mut self, path: &str, offset: usize, limit: usize) {
        self.call("read_file", json!({"path": path, "offset": offset, "limit": limit}));
    }

    pub(super) fn exec(&mut self, command: &str) {
        self.call("execute", json!({"command": command}));
    }

    pub(super) fn write(&mut self, path: &str, text: &str) {
        self.call("write_file", json!({"path": path, "content": text}));
    }

    pub(super) fn edit(&mut self, path: &str, old: &str, new: &str) {
        self.call("edit_file", json!({"path": path, "old": old, "new": new}));
    }

    pub(super) fn run_check(&mut self) {
        let command = self.command.clone();
        self.exec(&command);
    }

    pub(super) fn repair(&mut self) {
        let (path, right) = (self.path.clone(), self.right.clone());
        self.read(&path);
        self.write(&path, &format!("{right}\n"));
        self.run_check();
    }

    pub(super) fn finish(&mut self) {
        self.call("finish", json!({"summary": "Done."}));
    }

    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.turns)
    }

    /// Other files of the language, by number.
    pub(super) fn others(&mut self, count: usize) -> Vec<String> {
        let word = *self.dice.pick(&WORDS);
        let paths: Vec<String> = (0..count).map(|at| self.source(&format!("part{at}"))).collect();
        for (at, path) in paths.iter().enumerate() {
            let line = self.tongue.word.replace("{}", &format!("{word} {at}"));
            self.file(path, format!("{line}\n"));
        }
        paths
    }

    pub(super) fn script(self, family: &str, goal: String, parts: [String; 3]) -> AgentScript {
        let [opening, circle, repair] = parts;
        let lost = !circle.is_empty();
        let side = if lost { "lost" } else { "healthy" };
        AgentScript {
            name: format!("{side}-{family}-{}", self.tongue.name),
            family: family.to_owned(),
            language: self.tongue.name.to_owned(),
            about: format!("Made from the grammar: {family}"),
            goal,
            names: if lost { vec![self.case] } else { Vec::new() },
            proof: self.command,
            keep: vec!["Makefile".to_owned(), self.check],
            rounds: if lost { 60 } else { 200 },
            arguments: Vec::new(),
            files: self.files,
            commits: self.commits,
            opening,
            circle,
            repair,
        }
    }
}
