//! Agents made from a grammar: the same for the same seed, and other words, lengths and languages for every other.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::script::Script;

/// Languages: where sources are, how they end, and how a line of them looks.
const LANGUAGES: [(&str, &str, &str, &str); 10] = [
    ("rust", "src", "rs", "pub const WORD: &str = \"{}\";"),
    ("python", "app", "py", "WORD = \"{}\""),
    ("go", "pkg", "go", "const Word = \"{}\""),
    ("java", "src/main/java", "java", "String WORD = \"{}\";"),
    ("typescript", "lib", "ts", "export const word = \"{}\""),
    ("ruby", "lib", "rb", "WORD = \"{}\""),
    ("haskell", "src", "hs", "word = \"{}\""),
    ("ocaml", "lib", "ml", "let word = \"{}\""),
    ("zig", "src", "zig", "const word = \"{}\";"),
    ("elixir", "lib", "ex", "@word \"{}\""),
];
const NOUNS: [&str; 12] = [
    "ledger", "parser", "router", "cache", "planner", "scanner", "mixer", "index", "broker", "crate",
    "loader", "meter",
];
const WORDS: [&str; 12] = [
    "amber", "cobalt", "jade", "ivory", "scarlet", "teal", "umber", "violet", "ochre", "coral", "azure",
    "sepia",
];
const REPAIRS: [&str; 6] = [
    "Fix {} so that the checks pass",
    "Repair {}: a check fails",
    "Behebe den Fehler in {}",
    "修复 {} 中的错误",
    "{} のバグを直してください",
    "Corrige l'erreur dans {}",
];
const CHANGES: [&str; 5] = [
    "Make every file below {} say its new word",
    "Replace the word in all files of {}",
    "Ersetze das Wort in allen Dateien unter {}",
    "把 {} 下所有文件中的词换掉",
    "{} 以下のすべてのファイルの単語を置き換える",
];

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// What every script of a seed is made with.
struct World {
    dice: Dice,
    files: BTreeMap<String, String>,
    /// The file that matters, what it has to say, and the case about it.
    path: String,
    right: String,
    case: String,
    language: &'static str,
    folder: String,
    end: &'static str,
    line: &'static str,
    turns: String,
}

impl World {
    fn new(seed: u64, family: usize) -> Self {
        let mut dice = Dice(seed.wrapping_mul(1_000).wrapping_add(family as u64));
        let (language, folder, end, line) = LANGUAGES[(seed as usize).wrapping_add(family) % LANGUAGES.len()];
        let (noun, good, bad) = (*dice.pick(&NOUNS), *dice.pick(&WORDS), "wrong");
        let path = format!("{folder}/{noun}.{end}");
        let case = format!("{noun} says {good}");
        let right = line.replace("{}", good);
        let check = format!(
            "if grep -qF '{right}' {path}; then echo 'ok 1 - {case}'; else echo 'not ok 1 - {case}'; exit 1; fi\n"
        );
        let files = BTreeMap::from([
            (path.clone(), format!("{}\n", line.replace("{}", bad))),
            ("Makefile".to_owned(), "test:\n\t@sh check.sh\n".to_owned()),
            ("check.sh".to_owned(), check),
        ]);
        let folder = folder.to_owned();
        Self { dice, files, path, right, case, language, folder, end, line, turns: String::new() }
    }

    fn add(&mut self, turn: &str) {
        let _ = writeln!(self.turns, "- {turn}");
    }

    fn read(&mut self, path: &str) {
        self.add(&format!("{{ tool: read_file, args: {{ path: {path} }} }}"));
    }

    fn exec(&mut self, command: &str) {
        self.add(&format!("{{ tool: execute, args: {{ command: '{}' }} }}", command.replace('\'', "''")));
    }

    fn write(&mut self, path: &str, text: &str) {
        let text = text.replace('\'', "''");
        self.add(&format!("{{ tool: write_file, args: {{ path: '{path}', content: '{text}' }} }}"));
    }

    fn repair(&mut self) {
        let (path, right) = (self.path.clone(), self.right.clone());
        self.read(&path);
        self.write(&path, &right);
        self.exec("make test");
    }

    fn finish(&mut self) {
        self.add("{ tool: finish, args: { summary: Done. } }");
    }

    fn take(&mut self) -> String {
        std::mem::take(&mut self.turns)
    }

    /// Other files of the language, by number.
    fn others(&mut self, count: usize) -> Vec<String> {
        let (folder, end, line) = (self.folder.clone(), self.end, self.line);
        let word = *self.dice.pick(&WORDS);
        let paths = (0..count).map(|at| format!("{folder}/part{at}.{end}"));
        let paths: Vec<String> = paths.collect();
        for (at, path) in paths.iter().enumerate() {
            self.files.insert(path.clone(), format!("{}\n", line.replace("{}", &format!("{word} {at}"))));
        }
        paths
    }

    fn script(self, family: &str, goal: String, opening: String, circle: String, repair: String) -> Script {
        let lost = !circle.is_empty();
        Script {
            name: format!("{}-{family}-{}", if lost { "lost" } else { "healthy" }, self.language),
            about: format!("Made from the grammar: {family}"),
            goal,
            names: if lost { vec![self.case] } else { Vec::new() },
            proof: "make test".to_owned(),
            keep: vec!["Makefile".to_owned(), "check.sh".to_owned()],
            rounds: if lost { 60 } else { 200 },
            arguments: Vec::new(),
            files: self.files,
            opening,
            circle,
            repair,
        }
    }
}

const LOST: [&str; 8] =
    ["repeats", "rereads", "alternates", "circles", "spreads", "wanders", "says-done", "to-and-fro"];
const HEALTHY: [&str; 8] =
    ["reads-much", "shell", "rename", "document", "tests-first", "waits", "red-before", "unknown-runner"];

/// All scripts of a seed: one of each family.
pub fn scripts(seed: u64) -> Vec<Script> {
    let lost = LOST.iter().enumerate().map(|(at, family)| lost(seed, at, family));
    lost.chain(HEALTHY.iter().enumerate().map(|(at, family)| healthy(seed, at, family))).collect()
}

fn lost(seed: u64, at: usize, family: &str) -> Script {
    let mut world = World::new(seed, at);
    let goal = world.dice.pick(&REPAIRS).replace("{}", &world.path);
    let reads = 3 + world.dice.below(12);
    let others = world.others(reads);
    for path in &others[..world.dice.below(reads)] {
        world.read(path);
    }
    let opening = world.take();
    let (path, line) = (world.path.clone(), world.line);
    match family {
        "repeats" => world.exec("make test"),
        "rereads" => others.iter().for_each(|path| world.read(path)),
        "alternates" => {
            world.read(&others[0]);
            world.exec(&format!("wc -l {path}"));
        }
        "circles" => {
            world.write(&path, &line.replace("{}", "try {n}"));
            world.exec("make test");
        }
        "spreads" => world.write("notes/more{n}.md", "More about it."),
        "wanders" => world.exec("cat nowhere/at-all"),
        "says-done" => {
            world.read(&path);
            world.finish();
        }
        _ => {
            world.write(&path, &line.replace("{}", "left"));
            world.write(&path, &line.replace("{}", "right"));
        }
    }
    let circle = world.take();
    world.repair();
    world.finish();
    let repair = world.take();
    world.script(family, goal, opening, circle, repair)
}

fn healthy(seed: u64, at: usize, family: &str) -> Script {
    let mut world = World::new(seed, at + LOST.len());
    let mut goal = world.dice.pick(&REPAIRS).replace("{}", &world.path);
    let many = 10 + world.dice.below(40);
    let others = world.others(many);
    let (path, line, right) = (world.path.clone(), world.line, world.right.clone());
    match family {
        "reads-much" => others.iter().for_each(|path| world.read(path)),
        "shell" => others.iter().for_each(|path| world.exec(&format!("cat {path}"))),
        "rename" => {
            goal = world.dice.pick(&CHANGES).replace("{}", &world.folder);
            for (at, path) in others.iter().enumerate() {
                world.write(path, &line.replace("{}", &format!("new {at}")));
                if at % 9 == 8 {
                    world.exec("make test");
                }
            }
        }
        "document" => {
            goal = format!("Write the manual in docs/, and make {path} right");
            for at in 0..many / 2 {
                world.exec(&format!("mkdir -p docs; echo \"## Section {at}\" >> docs/manual.md"));
            }
        }
        "tests-first" => {
            for at in 0..many / 2 {
                let grown: Vec<String> = (0..=at).map(|n| line.replace("{}", &format!("step {n}"))).collect();
                world.write(&path, &grown.join(" \\\\ "));
                world.write(&format!("{}/step{at}.{}", world.folder.clone(), world.end), "begun");
                world.exec("make test");
            }
            goal = format!("Make {path} say the right word, test first, step by step");
        }
        "waits" => {
            world.exec("echo 0 > /tmp/progress");
            for _ in 0..4 + many / 4 {
                world.exec("sleep 0.1; cat /tmp/progress");
            }
        }
        "red-before" => {
            let check = world.files.get("check.sh").cloned().unwrap_or_default();
            world.files.insert(
                "check.sh".to_owned(),
                format!("echo 'not ok 2 - the moon is full'; red=1\n{check}exit $red\n"),
            );
            goal = format!("Write the right word into {path}");
            world.exec("make test");
            world.write(&path, &right);
            world.exec("make test");
            world.finish();
            let opening = world.take();
            let proof = format!("grep -qF '{right}' {path}");
            let script = world.script(family, goal, opening, String::new(), String::new());
            return Script { proof, ..script };
        }
        _ => {
            let check = world.files.remove("check.sh").unwrap_or_default();
            world.files.remove("Makefile");
            world.files.insert("verify".to_owned(), check);
            world.exec("sh verify");
            for at in 0..4 {
                world.write(&format!("{}/more{at}.{}", world.folder.clone(), world.end), "more");
                world.exec("sh verify");
            }
            world.write(&path, &right);
            world.exec("sh verify");
            world.finish();
            let opening = world.take();
            let script = world.script(family, goal, opening, String::new(), String::new());
            return Script { proof: "sh verify".to_owned(), keep: vec!["verify".to_owned()], ..script };
        }
    }
    world.repair();
    world.finish();
    let opening = world.take();
    world.script(family, goal, opening, String::new(), String::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lost::script::turns;

    #[test]
    fn every_seed_gives_every_family_and_the_same_one_the_same() {
        for seed in 0..50 {
            let made = scripts(seed);
            assert_eq!(made.iter().filter(|script| script.is_lost()).count(), LOST.len());
            assert_eq!(made.len(), LOST.len() + HEALTHY.len());
            for (script, again) in made.iter().zip(scripts(seed)) {
                assert_eq!(format!("{script:?}"), format!("{again:?}"));
                for part in [&script.opening, &script.circle, &script.repair] {
                    turns(part, 3).unwrap_or_else(|error| panic!("{}: {error}\n{part}", script.name));
                }
            }
        }
        assert_ne!(format!("{:?}", scripts(1)), format!("{:?}", scripts(2)));
        let languages: std::collections::BTreeSet<String> =
            scripts(7).iter().filter_map(|s| s.name.rsplit('-').next().map(str::to_owned)).collect();
        assert!(languages.len() >= 8, "{languages:?}");
    }
}
