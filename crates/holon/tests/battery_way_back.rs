//! People, agents, applies, undoes and kills at random moments: no line a person saved is ever lost.
//!
//! `HOLON_SEED` chooses other moments; `HOLON_KILLS` how many there are for each identity and place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use holon_testkit::{CommandEnd, TestEnv, for_each_identity};

const BIN: &str = env!("CARGO_BIN_EXE_holon");
const FILES: usize = 8;
/// Small files beside them in some rounds, so that an apply is more than a handful.
const MANY: usize = 24;

/// Random numbers that are the same for the same seed.
#[derive(Clone)]
struct SeededMoments(u64);

impl SeededMoments {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A person at work in a folder, and every line they saved that they did not take away themselves.
struct WorkingPerson {
    dir: PathBuf,
    owner: (u32, u32),
    variables: Vec<(OsString, OsString)>,
    dice: SeededMoments,
    saved: BTreeSet<String>,
    /// The files that messages named so far.
    told: BTreeSet<PathBuf>,
    next: u64,
}

fn lines_of_a_person(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| line.starts_with("person-")).map(str::to_owned)
}

impl WorkingPerson {
    fn text(&self, path: &Path) -> Option<String> {
        fs::read_to_string(path).ok()
    }

    /// Saves a file as editors do: in place, or beside and renamed. What they save over is exactly known, because they
    /// may have read the file a moment ago and it is theirs to save over what came since.
    fn save(&mut self, path: &Path, text: &str) {
        let over = if self.dice.roll(2) == 0 { in_place(path, text) } else { self.beside(path, text) };
        let Some(over) = over else { return };
        let _ = std::os::unix::fs::lchown(path, Some(self.owner.0), Some(self.owner.1));
        self.took_away(&over);
        self.saved.extend(lines_of_a_person(text));
    }

    fn beside(&self, path: &Path, text: &str) -> Option<String> {
        let new = path.with_extension("saving");
        fs::write(&new, text).unwrap();
        let to = |flags| rustix::fs::renameat_with(CWD, &new, CWD, path, flags);
        loop {
            match to(RenameFlags::EXCHANGE) {
                Ok(()) => {
                    let over = fs::read_to_string(&new).unwrap();
                    fs::remove_file(&new).unwrap();
                    return Some(over);
                }
                Err(Errno::NOENT) => {}
                Err(other) => panic!("{other}"),
            }
            match to(RenameFlags::NOREPLACE) {
                Ok(()) => return Some(String::new()),
                Err(Errno::EXIST) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }

    fn took_away(&mut self, text: &str) {
        for line in lines_of_a_person(text) {
            self.saved.remove(&line);
        }
    }

    fn delete(&mut self, path: &Path) {
        let gone = path.with_extension("deleting");
        if fs::rename(path, &gone).is_ok() {
            let text = fs::read_to_string(&gone).unwrap();
            self.took_away(&text);
            fs::remove_file(&gone).unwrap();
        }
    }

    /// Reads what a command printed: a file that it names is found again whatever is printed later.
    fn read(&mut self, told: &str) {
        let named = told.split_whitespace().filter(|word| word.starts_with('/'));
        self.told.extend(named.map(PathBuf::from).filter(|path| path.is_file()));
    }

    /// Git as this person calls it; what it refuses does not matter here.
    fn git(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(args).current_dir(&self.dir).env_clear().envs(self.variables.iter().cloned());
        if self.owner.0 != rustix::process::geteuid().as_raw() {
            git.gid(self.owner.1).uid(self.owner.0);
        }
        String::from_utf8_lossy(&git.output().unwrap().stdout).into_owned()
    }

    /// The lines that wait in stashes.
    fn stashed(&self) -> String {
        let stashes = self.git(&["stash", "list", "--format=%H"]);
        let stashes: Vec<&str> = stashes.lines().collect();
        if stashes.is_empty() {
            return String::new();
        }
        self.git(&[&["grep", "-h", "-e", "^person-"], stashes.as_slice()].concat())
    }

    /// Their own new files of earlier go, so that a later round does not take longer than the first.
    fn tidy_up(&mut self) {
        for path in files(&self.dir).into_keys() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("mine-") || name.starts_with("moved-") {
                self.delete(&path);
            }
        }
    }

    fn act(&mut self) {
        let path = self.dir.join(format!("f{}", self.dice.roll(FILES)));
        self.next += 1;
        let token = format!("person-{}-{}", self.next, self.dice.roll(1_000_000));
        match self.dice.roll(48) {
            0..4 => {
                // A new file of their own.
                let path = self.dir.join(format!("mine-{}", self.next));
                self.save(&path, &format!("{token}\n"));
            }
            4..8 => {
                // Moved to another name, with all that is in it.
                let to = self.dir.join(format!("moved-{}", self.next));
                let _ = fs::rename(&path, to);
            }
            8 => self.delete(&path),
            9 => drop(self.git(&["commit", "-qam", "by the way"])),
            10 => drop(self.git(&["stash", "push", "-q"])),
            11 => drop(self.git(&["stash", "pop", "-q"])),
            _ => {
                let Some(text) = self.text(&path) else {
                    self.save(&path, &format!("{token}\n"));
                    return;
                };
                let mut lines: Vec<&str> = text.lines().collect();
                let at = self.dice.roll(lines.len() + 1);
                lines.insert(at, &token);
                let text = lines.join("\n") + "\n";
                self.save(&path, &text);
            }
        }
    }
}

/// Writes into the file that stands there; returns what was in it.
fn in_place(path: &Path, text: &str) -> Option<String> {
    let mut file = fs::File::options().read(true).write(true).create(true).truncate(false).open(path).ok()?;
    let mut over = String::new();
    file.read_to_string(&mut over).unwrap();
    file.set_len(0).unwrap();
    file.rewind().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    Some(over)
}

/// Every file below a folder, but for the repository's own.
fn files(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let text = fs::read_to_string(&path).unwrap_or_default();
                all.insert(path, text);
            } else if entry.file_name() != ".git" {
                folders.push(path);
            }
        }
    }
    all
}

/// Everything that is somewhere a person would look: the tree, their stashes, and the files a message ever named.
fn everywhere(person: &WorkingPerson) -> String {
    let named = person.told.iter().map(|path| fs::read_to_string(path).unwrap_or_default());
    let texts: Vec<String> =
        files(&person.dir).into_values().chain(named).chain([person.stashed()]).collect();
    texts.join("\n")
}

fn assert_kept(person: &mut WorkingPerson, told: &str, doing: &str) {
    person.read(told);
    let all = everywhere(person);
    let there: BTreeSet<&str> = all.lines().collect();
    let lost: Vec<&String> = person.saved.iter().filter(|line| !there.contains(line.as_str())).collect();
    assert!(lost.is_empty(), "{doing}: lost {lost:?}\nlast words:\n{told}\nnamed so far: {:#?}", person.told);
}

/// Lets the person work in the background until the guard is dropped.
struct AtWork {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl AtWork {
    fn begin(person: &Arc<Mutex<WorkingPerson>>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (person, ends) = (Arc::clone(person), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                let pause = {
                    let mut person = person.lock().unwrap();
                    person.act();
                    person.dice.roll(4000) as u64
                };
                // A person's own pace: what is tried is that it does not matter.
                thread::park_timeout(Duration::from_micros(pause));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A program that keeps one file or another open and writes on, as servers do with their logs.
struct KeepsOpen {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<Vec<String>>,
}

impl KeepsOpen {
    fn begin(dir: &Path, mut dice: SeededMoments) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (dir, ends) = (dir.to_owned(), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            let mut wrote = Vec::new();
            let mut open: Option<fs::File> = None;
            loop {
                let last = ends.load(Ordering::Relaxed);
                if !last && (open.is_none() || dice.roll(8) == 0) {
                    let name = match dice.roll(FILES + MANY) {
                        number @ 0..FILES => format!("f{number}"),
                        number => format!("n{}", number - FILES),
                    };
                    open = fs::File::options().append(true).open(dir.join(name)).ok();
                }
                if let Some(file) = &mut open {
                    let line = format!("person-program-{}-{}", wrote.len(), dice.roll(1_000_000_000));
                    file.write_all(format!("{line}\n").as_bytes()).unwrap();
                    wrote.push(line);
                }
                if last {
                    return wrote;
                }
                thread::park_timeout(Duration::from_micros(dice.roll(8000) as u64));
            }
        });
        Self { stop, thread }
    }

    /// One more line into what is open; then it is closed. All the lines it wrote.
    fn end(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn words(output: &CommandEnd) -> String {
    format!("{}\n{}", output.stdout, output.stderr)
}

/// An agent that edits, rewrites, removes and adds files, in this round's own way.
fn agent(dice: &mut SeededMoments, round: u64) -> String {
    let mut script = String::from("#!/bin/sh\n");
    if dice.roll(3) > 0 {
        script.push_str(&format!("for n in n*; do [ -f $n ] && echo agent-{round} >> $n; done\n"));
    }
    for number in 0..FILES {
        let line = format!("agent-{round}-{number}");
        script.push_str(&match dice.roll(6) {
            0 | 1 => format!("echo {line} >> f{number}\n"),
            2 => format!(
                "cp f{number} t 2>/dev/null; {{ echo {line}; cat t; }} > f{number} 2>/dev/null; rm -f t\n"
            ),
            3 => format!("sed -i '2i {line}' f{number} 2>/dev/null\n"),
            // What a person wrote before is theirs to remove; what they write meanwhile must stay.
            4 => format!("grep -q person- f{number} || rm -f f{number}\n"),
            _ => format!("mkdir -p made; echo {line} > made/{round}-{number}\n"),
        });
    }
    script.push_str("echo ok > /holon/output/summary.md\nexit 0\n");
    script
}

struct WayBackScene<'a> {
    env: &'a TestEnv,
    person: Arc<Mutex<WorkingPerson>>,
    dir: PathBuf,
    dice: SeededMoments,
    kills: u64,
}

impl WayBackScene<'_> {
    fn git(&self, args: &[&str]) {
        self.env.program("git").args(args).cwd(&self.dir).run();
    }

    /// One command of holon while the person works, or while a program keeps a file open, or with nobody there; killed
    /// at a random moment, alone or with its group.
    fn cut_off(&mut self, args: &[&str]) {
        let company = self.dice.roll(4);
        let at_work = (company < 2).then(|| AtWork::begin(&self.person));
        let program = (company == 2).then(|| KeepsOpen::begin(&self.dir, self.dice.clone()));
        let alone = (company == 3).then(|| files(&self.dir));
        let call = self.env.holon(args).cwd(&self.dir);
        let running = call.spawn();
        let moment = Duration::from_micros(self.dice.roll(60_000) as u64);
        thread::park_timeout(moment);
        match self.dice.roll(2) {
            // With everything it started.
            0 => drop(running),
            _ => {
                let cut_short = running.kill();
                self.person.lock().unwrap().read(&words(&cut_short));
            }
        }
        drop(at_work);
        self.kills += 1;
        // The next command, whichever it is, puts right what was cut off.
        let next = self.env.holon(["runs", "list"]).cwd(&self.dir).run();
        if let Some(program) = program {
            self.person.lock().unwrap().saved.extend(program.end());
        }
        assert_kept(
            &mut self.person.lock().unwrap(),
            &words(&next),
            &format!("{args:?} killed after {moment:?}"),
        );
        assert!(!stray(&self.dir), "something of an apply stayed in the tree");
        let now = files(&self.dir);
        if alone.is_some_and(|before| before != now) {
            // Not as before, so it must be complete: doing it again changes nothing.
            let again = self.env.holon(args).cwd(&self.dir).run();
            self.person.lock().unwrap().read(&words(&again));
            assert_eq!(
                files(&self.dir),
                now,
                "{args:?} killed after {moment:?} left half:\n{}",
                words(&again)
            );
        }
    }

    /// One command to its end while the person works, or a program, or nobody.
    fn whole(&mut self, args: &[&str]) -> CommandEnd {
        let company = self.dice.roll(4);
        let at_work = (company < 2).then(|| AtWork::begin(&self.person));
        let program = (company == 2).then(|| KeepsOpen::begin(&self.dir, self.dice.clone()));
        let alone = (company == 2).then(|| files(&self.dir));
        let output = self.env.holon(args).cwd(&self.dir).run();
        drop(at_work);
        if let Some(program) = program {
            let wrote = program.end();
            if output.code != 0 && args[1] == "apply" {
                // Refused: but for the files that the program wrote to, the tree is as it was.
                let now = files(&self.dir);
                let written = |text: &str| text.lines().any(|line| wrote.iter().any(|own| own == line));
                for (path, text) in alone.unwrap_or_default() {
                    let found = now.get(&path).map(String::as_str);
                    let same = found == Some(text.as_str()) || found.is_some_and(written);
                    assert!(same, "{args:?} changed {}: {}", path.display(), words(&output));
                }
            }
            self.person.lock().unwrap().saved.extend(wrote);
        }
        assert_kept(&mut self.person.lock().unwrap(), &words(&output), &format!("{args:?}"));
        output
    }

    /// A file with this text, unless one of that name is there.
    fn there(&self, name: &str, text: &str) {
        let path = self.dir.join(name);
        if !path.exists() {
            fs::write(&path, text).unwrap();
            self.env.own(&path);
        }
    }

    fn round(&mut self, number: u64, strategy: &str) {
        self.person.lock().unwrap().tidy_up();
        for file in 0..FILES {
            let text: String = (0..20).map(|line| format!("{file}-{line}\n")).collect();
            self.there(&format!("f{file}"), &text);
        }
        for file in 0..MANY {
            self.there(&format!("n{file}"), &format!("{file}\n"));
        }
        if self.dice.roll(2) == 0 {
            self.git(&["add", "-A"]);
            self.git(&["commit", "-qm", "round"]);
        }
        let script = agent(&mut self.dice, number);
        let agent = self.env.agent(&format!("agent-{number}.sh"), &script);
        let agent = agent.to_str().unwrap().to_owned();
        self.whole(&["run", "--quiet", "--goal", "x", "--snapshot", strategy, "--agent", &agent]);
        for _ in 0..6 {
            match self.dice.roll(3) {
                0 => self.cut_off(&["runs", "undo", "last"]),
                1 if self.dice.roll(3) == 0 => self.cut_off(&["runs", "apply", "last", "--commit"]),
                _ => self.cut_off(&["runs", "apply", "last"]),
            }
        }
        let applied = self.whole(&["runs", "apply", "last"]);
        // A second one says the truth: what is there is there.
        let before = files(&self.dir);
        let again = self.env.holon(["runs", "apply", "last"]).cwd(&self.dir).run();
        assert_kept(&mut self.person.lock().unwrap(), &words(&again), "the second apply");
        if again.code == 0 && words(&again).contains("already") {
            assert_eq!(files(&self.dir), before, "{}", words(&again));
        }
        if applied.code == 0 && again.code == 0 {
            self.whole(&["runs", "undo", "last"]);
        }
    }
}

/// Whether a file that waited for its swap is still there.
fn stray(dir: &Path) -> bool {
    let names = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.map(|name| name.to_string_lossy().into_owned()).any(|name| name.starts_with(".holon-"))
}

fn people_at_work(strategy: &str, in_memory: bool) {
    let wanted = setting("HOLON_KILLS", 130);
    let seed = setting("HOLON_SEED", 20_260_116);
    eprintln!("seed {seed}, {wanted} kills for each identity");
    for_each_identity(BIN, |env| {
        let memory = in_memory.then(|| tempfile::tempdir_in("/dev/shm").unwrap());
        let dir =
            memory.as_ref().map_or_else(|| env.work().join("repo"), |memory| memory.path().join("repo"));
        if let Some(memory) = &memory {
            env.own(memory.path());
        }
        fs::create_dir(&dir).unwrap();
        env.own(&dir);
        let dice = SeededMoments(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let owner = {
            use std::os::unix::fs::MetadataExt;
            let meta = fs::metadata(&dir).unwrap();
            (meta.uid(), meta.gid())
        };
        let person = WorkingPerson {
            dir: dir.clone(),
            owner,
            variables: env.variables(),
            dice: dice.clone(),
            saved: BTreeSet::new(),
            told: BTreeSet::new(),
            next: 0,
        };
        let person = Arc::new(Mutex::new(person));
        let mut place = WayBackScene { env, person, dir, dice, kills: 0 };
        place.git(&["init", "-q"]);
        place.git(&["config", "user.name", "p"]);
        place.git(&["config", "user.email", "p@example.org"]);
        let mut round = 0;
        while place.kills < wanted {
            place.round(round, strategy);
            round += 1;
        }
    });
}

#[test]
fn inv_16_no_line_is_lost_on_an_overlay_whatever_dies() {
    people_at_work("overlay", false);
}

#[test]
fn inv_16_no_line_is_lost_on_a_copy_whatever_dies() {
    people_at_work("copy", false);
}

#[test]
fn inv_16_no_line_is_lost_across_file_systems_whatever_dies() {
    people_at_work("overlay", true);
}

#[test]
fn inv_16_no_line_is_lost_on_a_copy_across_file_systems_whatever_dies() {
    people_at_work("copy", true);
}
