//! Bytes from strangers, many of them: seeds that are mutated, the same way each time, until something gives.
//!
//! A target is an ordinary test named `fuzz_TARGET` that calls [`fuzz`]. Its seeds, and every input that once broke it, are the
//! files of `fuzz/TARGET` in its crate; all of them are tried first. Then come mutations: `HOLON_FUZZ_EXECUTIONS` of them, a
//! short run where it is not set. There is no instrumentation, so what the target says of an input is what guides: inputs with
//! an outcome that was not seen before are mutated further.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How many mutations a run has; `HOLON_FUZZ_SEED` makes others than usual.
pub const EXECUTIONS: &str = "HOLON_FUZZ_EXECUTIONS";
const SEED: &str = "HOLON_FUZZ_SEED";
/// The short run of the ordinary tests.
const FEW: u64 = 3_000;
/// Larger inputs only cost time: what is bounded by size has tests of its own.
const LARGEST: usize = 16 << 10;
/// Inputs that are worth mutating, beside the seeds.
const MOST_KEPT: usize = 600;
/// A parser that takes longer for so few bytes hangs, as far as whoever waits for it is concerned.
const SLOW: Duration = Duration::from_secs(5);
/// When the process is ended because an input never comes back.
const NEVER: Duration = Duration::from_secs(60);
/// Values at which parsers change their mind.
const ODD: &[&[u8]] = &[
    b"0",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x00",
    b"\x80",
    b"\0",
    b"\r\n",
    b"\n\n",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"\xed\xa0\x80",
    b"\"",
    b"\\",
    b"{}",
    b"[[[[[[[[",
    b"../",
    b"\\u0000",
    b"\\ud800",
    b"%00",
    b"'",
    b"~",
    b"null",
    b"\t",
    b"  ",
];

/// Tries `run` on the seeds of the target `name` below `crate_folder`, then on mutations made of them and of `words`. `run` says
/// in a few words what it made of the input.
#[track_caller]
pub fn fuzz(crate_folder: &str, name: &str, words: &[&str], run: impl Fn(&[u8]) -> String) {
    let folder = Path::new(crate_folder).join("fuzz").join(name);
    let seeds = seeds(&folder);
    assert!(!seeds.is_empty(), "{} has no seeds", folder.display());
    let number = |variable: &str, otherwise| match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")),
        Err(_) => otherwise,
    };
    let executions: u64 = number(EXECUTIONS, FEW);
    let mut random = FuzzRandom(number(SEED, 1) ^ fnv(name.as_bytes()));
    let watch = HangWatch::new(name);
    let mut outcomes = BTreeSet::new();
    let mut pool = Vec::new();
    for seed in &seeds {
        outcomes.insert(tried(name, seed, &run, &watch));
        pool.push(seed.clone());
    }
    for _ in 0..executions {
        let input = mutated(&pool, words, &mut random);
        let outcome = tried(name, &input, &run, &watch);
        if pool.len() < seeds.len() + MOST_KEPT && outcomes.insert(outcome) {
            pool.push(input);
        }
    }
    println!("fuzz {name}: {executions} executions, {} seeds, {} outcomes", seeds.len(), outcomes.len());
}

fn seeds(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).map(|all| all.flatten().collect::<Vec<_>>()).unwrap_or_default();
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a seed can be read")).collect()
}

/// What the target says of an input; a panic or a long wait keeps the input and fails the test.
fn tried(name: &str, input: &[u8], run: &impl Fn(&[u8]) -> String, watch: &HangWatch) -> u64 {
    watch.begin(input);
    let begun = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| run(input)));
    let took = begun.elapsed();
    watch.end();
    let Ok(outcome) = outcome else {
        let kept = keep(name, input);
        panic!("{name} panics at {}: mend it, and keep the file in fuzz/{name}", kept.display());
    };
    assert!(took < SLOW, "{name} takes {took:?} for {} bytes: {}", input.len(), keep(name, input).display());
    fnv(outcome.as_bytes())
}

/// Writes an input down where a person finds it.
fn keep(name: &str, input: &[u8]) -> PathBuf {
    let folder = std::env::temp_dir().join("holon-fuzz").join(name);
    let path = folder.join(format!("{:016x}", fnv(input)));
    fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input)).expect("a found input can be kept");
    path
}

/// Ends the process when an input never comes back: a thread cannot be stopped otherwise.
struct HangWatch {
    tell: mpsc::Sender<Option<Vec<u8>>>,
}

impl HangWatch {
    fn new(name: &str) -> Self {
        let (tell, told) = mpsc::channel::<Option<Vec<u8>>>();
        let name = name.to_owned();
        std::thread::spawn(move || {
            let mut current: Option<Vec<u8>> = None;
            loop {
                match told.recv_timeout(NEVER) {
                    Ok(next) => current = next,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        if let Some(input) = &current {
                            eprintln!("{name} never comes back from {}", keep(&name, input).display());
                            std::process::abort();
                        }
                    }
                }
            }
        });
        Self { tell }
    }

    fn begin(&self, input: &[u8]) {
        let _ = self.tell.send(Some(input.to_vec()));
    }

    fn end(&self) {
        let _ = self.tell.send(None);
    }
}

/// One to eight changes to one of the inputs.
fn mutated(pool: &[Vec<u8>], words: &[&str], random: &mut FuzzRandom) -> Vec<u8> {
    let mut input = pool[random.below(pool.len())].clone();
    for _ in 0..=random.below(8) {
        let at = random.below(input.len() + 1);
        let end = (at + 1 + random.below(24)).min(input.len());
        match random.below(11) {
            0 if at < input.len() => input[at] ^= 1 << random.below(8),
            1 if at < input.len() => input[at] = random.next() as u8,
            2 => input.insert(at, random.next() as u8),
            3 if at < end => drop(input.drain(at..end)),
            4 => input.truncate(at),
            5 if at < end => {
                let piece = input[at..end].repeat(1 + random.below(6));
                input.splice(at..at, piece);
            }
            6 | 7 if !words.is_empty() => {
                let word = words[random.below(words.len())].as_bytes();
                let replaced = if random.below(2) == 0 { at..at } else { at..end.max(at) };
                input.splice(replaced, word.iter().copied());
            }
            8 => {
                let odd = ODD[random.below(ODD.len())];
                input.splice(at..at, odd.iter().copied());
            }
            9 => {
                let other = &pool[random.below(pool.len())];
                let from = random.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ if at < end => input[at..end].reverse(),
            _ => {}
        }
        input.truncate(LARGEST);
    }
    input
}

/// Small, fast and the same everywhere (splitmix64).
struct FuzzRandom(u64);

impl FuzzRandom {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`, which is at least 1.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(seed: &[u8]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("fuzz/it")).unwrap();
        fs::write(dir.path().join("fuzz/it/seed"), seed).unwrap();
        dir
    }

    #[test]
    fn what_panics_is_found_and_kept() {
        let dir = folder(b"key: value");
        let run = |input: &[u8]| {
            assert!(!input.windows(3).any(|three| three == b"key") || !input.contains(&b'~'), "found");
            input.len().to_string()
        };
        let found = catch_unwind(AssertUnwindSafe(|| {
            fuzz(dir.path().to_str().unwrap(), "it", &["~"], run);
        }));
        let told = found.unwrap_err().downcast_ref::<String>().cloned().unwrap();
        let kept = told.split(" at ").nth(1).and_then(|rest| rest.split(": mend").next()).unwrap();
        let input = fs::read(kept).unwrap();
        fs::remove_file(kept).unwrap();
        assert!(input.contains(&b'~') && input.windows(3).any(|three| three == b"key"), "{input:?}");
    }

    #[test]
    fn a_run_is_the_same_each_time_and_tries_its_seeds_first() {
        let dir = folder(b"{\"a\": 1}");
        let all = || {
            let seen = std::cell::RefCell::new(Vec::new());
            fuzz(dir.path().to_str().unwrap(), "it", &["null"], |input| {
                seen.borrow_mut().push(input.to_vec());
                input.len().to_string()
            });
            seen.into_inner()
        };
        let (first, second) = (all(), all());
        assert_eq!(first[0], b"{\"a\": 1}");
        assert!(first == second && first.len() > 1000);
        let different: BTreeSet<&Vec<u8>> = first.iter().collect();
        assert!(different.len() > first.len() / 2, "only {} are different", different.len());
        assert!(first.iter().all(|input| input.len() <= LARGEST));
    }

    #[test]
    fn no_seeds_are_a_mistake() {
        let dir = tempfile::tempdir().unwrap();
        assert!(catch_unwind(|| fuzz(dir.path().to_str().unwrap(), "none", &[], |_| String::new())).is_err());
    }
}
