//! A copy of the tree in which many changes are built at once: each has a number, and a program that carries the number
//! behaves as if the tree had been changed so.
//!
//! Functions are there in all their versions and ask for the number. A change of anything else (a constant, a type, an
//! attribute) is built on its own, as is one that the compiler does not take beside the others.

mod build;
mod functions;
mod number;
mod share;
mod tree;
mod variant;
mod weave;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use build::{BuildResult, BuiltProgram};
use number::NumberedProgram;
use tree::ChangedFiles;
pub(crate) use tree::TreeCopy;
pub(crate) use variant::{TestVariant, TrialPace, side_by_side};
use weave::{WovenSource, differs_in_bodies, weave};

use crate::{XtaskFailure, process, project, space};

/// How long a build may take, in seconds.
const BUILD_SECONDS: u64 = 1800;
/// So often changes that do not build beside the others are taken out.
const ROUNDS: usize = 6;

/// Some tests of a package: an integration test, or `lib` or `bin` for unit tests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TestBinary {
    pub(crate) package: String,
    pub(crate) binary: String,
}

impl TestBinary {
    /// What it is called in the copy, where unit tests are a target of their own: cargo builds one of the workspace's
    /// with the features of all packages only if it can be named.
    fn target(&self) -> String {
        match self.root() {
            Some(_) => format!("unit_{}_{}", self.binary, self.package.replace('-', "_")),
            None => self.binary.clone(),
        }
    }

    /// The file unit tests begin with.
    fn root(&self) -> Option<&'static str> {
        match self.binary.as_str() {
            "lib" => Some("src/lib.rs"),
            "bin" => Some("src/main.rs"),
            _ => None,
        }
    }
}

/// Tests that were built, and the program they test, if that is one of the same package.
struct NumberedTests {
    tests: NumberedProgram,
    tested: Option<NumberedProgram>,
}

impl NumberedTests {
    fn have_versions(&self) -> bool {
        self.tests.has_versions() || self.tested.as_ref().is_some_and(NumberedProgram::has_versions)
    }
}

/// The copy, its changes and what was built of it.
pub(crate) struct SwitchedCopy {
    tree: TreeCopy,
    target: PathBuf,
    folders: BTreeMap<String, PathBuf>,
    binaries: BTreeSet<TestBinary>,
    /// The changed files as they were.
    originals: ChangedFiles,
    /// The first has the number 1.
    changes: Vec<ChangedFiles>,
    /// The numbers of those that are built on their own.
    apart: BTreeSet<usize>,
    built: BTreeMap<TestBinary, NumberedTests>,
    one_build: Mutex<()>,
}

impl SwitchedCopy {
    /// A copy that can be built in a folder beside the project's own; nothing is built yet.
    pub(crate) fn new(tree: TreeCopy, target: &Path) -> Result<Self, XtaskFailure> {
        let folders = project::metadata()?.packages;
        let own = folders.keys().cloned().collect();
        let copy = Self {
            tree,
            target: target.join("switched"),
            folders,
            binaries: BTreeSet::new(),
            originals: ChangedFiles::new(),
            changes: Vec::new(),
            apart: BTreeSet::new(),
            built: BTreeMap::new(),
            one_build: Mutex::new(()),
        };
        share::share_dependencies(&target.join("debug"), &copy.target.join("debug"), &own);
        Ok(copy)
    }

    /// The files of the tree as they are.
    pub(crate) fn tree(&self) -> &TreeCopy {
        &self.tree
    }

    /// Adds a change and the tests that are to be run with it; returns its number.
    pub(crate) fn add(&mut self, changed: ChangedFiles, binary: TestBinary) -> Result<usize, XtaskFailure> {
        let number = self.changes.len() + 1;
        let mut switchable = true;
        for (file, text) in &changed {
            let original = self.tree.text(file)?.ok_or_else(|| format!("there is no {}", file.display()))?;
            switchable &= differs_in_bodies(&original, text);
            self.originals.insert(file.clone(), original);
        }
        if !switchable {
            self.apart.insert(number);
        }
        self.add_target(&binary)?;
        self.binaries.insert(binary);
        self.changes.push(changed);
        Ok(number)
    }

    /// The numbers of the changes that are built on their own.
    pub(crate) fn apart(&self) -> &BTreeSet<usize> {
        &self.apart
    }

    /// Gives unit tests a name; those of one package are named once.
    fn add_target(&mut self, binary: &TestBinary) -> Result<(), XtaskFailure> {
        let folder = self.folder(binary)?;
        let Some(root) = binary.root().filter(|_| !self.binaries.contains(binary)) else { return Ok(()) };
        let manifest = folder.join("Cargo.toml");
        let text = self.tree.text(&manifest)?.ok_or_else(|| format!("there is no {}", manifest.display()))?;
        let target = format!("\n[[test]]\nname = \"{}\"\npath = \"{root}\"\n", binary.target());
        self.tree.write(&ChangedFiles::from([(manifest, text + &target)]))
    }

    fn folder(&self, binary: &TestBinary) -> Result<PathBuf, XtaskFailure> {
        let folder = self.folders.get(&binary.package);
        folder.cloned().ok_or_else(|| format!("there is no package {}", binary.package))
    }

    /// Builds everything at once.
    pub(crate) fn build(&mut self, pace: TrialPace) -> Result<(), XtaskFailure> {
        for _ in 0..ROUNDS {
            let woven = self.woven();
            self.tree.write(&self.texts(&woven)?)?;
            match self.cargo(self.binaries.iter(), pace)? {
                BuildResult::Built(programs) => return self.keep(&programs),
                BuildResult::Refused(places, complaint) => {
                    let at = |(file, line): &(PathBuf, usize)| {
                        woven.get(file).map(|source| source.at_line(*line).collect::<Vec<_>>())
                    };
                    let refused: BTreeSet<usize> = places.iter().filter_map(at).flatten().collect();
                    if refused.is_empty() {
                        return Err(format!("the copy of the tree does not build: {complaint}"));
                    }
                    self.apart.extend(refused);
                }
            }
        }
        Err(format!("the copy of the tree does not build after changes were taken out {ROUNDS} times"))
    }

    /// The changed files with all the versions of their functions.
    fn woven(&self) -> BTreeMap<PathBuf, WovenSource> {
        let versions = |file: &PathBuf| -> Vec<(usize, &str)> {
            let all = self.changes.iter().enumerate().map(|(at, change)| (at + 1, change));
            let switched = all.filter(|(number, _)| !self.apart.contains(number));
            switched.filter_map(|(number, change)| Some((number, change.get(file)?.as_str()))).collect()
        };
        let weave = |(file, text): (&PathBuf, &String)| (file.clone(), weave(text, &versions(file)));
        self.originals.iter().map(weave).collect()
    }

    /// What is written into the copy: the woven files, and in the roots of their crates what they ask.
    fn texts(&self, woven: &BTreeMap<PathBuf, WovenSource>) -> Result<ChangedFiles, XtaskFailure> {
        let mut texts: ChangedFiles =
            woven.iter().map(|(file, source)| (file.clone(), source.text.clone())).collect();
        let module = number::module();
        let crates: BTreeSet<PathBuf> = woven.keys().filter_map(|file| source_folder(file)).collect();
        for root in crates.iter().flat_map(|folder| ["lib.rs", "main.rs"].map(|root| folder.join(root))) {
            let text = match texts.remove(&root) {
                Some(text) => Some(text),
                None => self.tree.text(&root)?,
            };
            if let Some(text) = text {
                let text = if text.ends_with(&module) { text } else { text + &module };
                texts.insert(root, text);
            }
        }
        Ok(texts)
    }

    fn cargo<'a>(
        &self,
        binaries: impl Iterator<Item = &'a TestBinary>,
        pace: TrialPace,
    ) -> Result<BuildResult, XtaskFailure> {
        let targets: BTreeSet<String> = binaries.map(TestBinary::target).collect();
        let cargo = build::command(self.tree.path(), &self.target, targets.iter().map(String::as_str));
        build::build(&mut pace.within(BUILD_SECONDS, &cargo), self.tree.path())
    }

    /// Keeps what was built: later builds write to the same files.
    fn keep(&mut self, programs: &[BuiltProgram]) -> Result<(), XtaskFailure> {
        let kept = self.target.join("built");
        make_folder(&kept)?;
        for binary in self.binaries.clone() {
            let (tests, tested) = self.programs(programs, &binary)?;
            let keep = |program: &BuiltProgram| {
                let file = kept.join(program.file.file_name().unwrap_or_default());
                copy_program(&program.file, &file)?;
                NumberedProgram::read(&file)
            };
            let numbered = NumberedTests { tests: keep(tests)?, tested: tested.map(keep).transpose()? };
            if !numbered.have_versions() {
                return Err(format!("no version can be switched on in {} {}", binary.package, binary.binary));
            }
            self.built.insert(binary, numbered);
        }
        Ok(())
    }

    /// The tests among the programs, and the one they test.
    fn programs<'a>(
        &self,
        programs: &'a [BuiltProgram],
        binary: &TestBinary,
    ) -> Result<(&'a BuiltProgram, Option<&'a BuiltProgram>), XtaskFailure> {
        let (folder, target) = (self.folder(binary)?, binary.target());
        let of_package = || programs.iter().filter(|program| program.package == folder);
        let tests = of_package().find(|program| program.tests && program.name == target);
        let tests = tests.ok_or_else(|| format!("{} has no tests {}", binary.package, binary.binary))?;
        Ok((tests, of_package().find(|program| !program.tests)))
    }

    /// The tests with one change, or with none for the number 0.
    pub(crate) fn variant(
        &self,
        number: usize,
        binary: &TestBinary,
        pace: TrialPace,
    ) -> Result<Result<TestVariant, String>, XtaskFailure> {
        let package = self.tree.path().join(self.folder(binary)?);
        let mut variant = TestVariant::new(&self.target, package, pace)?;
        if self.apart.contains(&number) {
            let _one = self.one_build.lock().unwrap_or_else(PoisonError::into_inner);
            let programs = match self.build_apart(number, binary, pace)? {
                BuildResult::Built(programs) => programs,
                BuildResult::Refused(_, complaint) => {
                    return Ok(Err(format!("it does not build: {complaint}")));
                }
            };
            let (tests, tested) = self.programs(&programs, binary)?;
            variant.put(tests, tested, |program, to| copy_program(&program.file, to))?;
        } else {
            let built = self.built.get(binary).ok_or_else(|| format!("{} was not built", binary.binary))?;
            variant.put(&built.tests, built.tested.as_ref(), |program, to| program.write(to, number))?;
        }
        Ok(Ok(variant))
    }

    fn build_apart(
        &self,
        number: usize,
        binary: &TestBinary,
        pace: TrialPace,
    ) -> Result<BuildResult, XtaskFailure> {
        let woven = self.texts(&self.woven())?;
        let mut changed = self.changes[number - 1].clone();
        // A root keeps what the other functions of its crate ask.
        for (file, text) in &mut changed {
            if woven.get(file).is_some_and(|text| text.ends_with(&number::module())) {
                text.push_str(&number::module());
            }
        }
        self.tree.write(&changed)?;
        let result = self.cargo(std::iter::once(binary), pace);
        self.tree.write(&woven)?;
        result
    }

    /// Gives the room back.
    pub(crate) fn give_back(&self) {
        space::give_back(&self.target);
    }
}

/// `crates/x/src` of a file in there.
fn source_folder(file: &Path) -> Option<PathBuf> {
    file.ancestors().find(|folder| folder.ends_with("src")).map(Path::to_owned)
}

fn make_folder(folder: &Path) -> Result<(), XtaskFailure> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

fn copy_program(from: &Path, to: &Path) -> Result<(), XtaskFailure> {
    let copied = process::undisturbed(|| fs::copy(from, to));
    copied.map(drop).map_err(|error| format!("copying {} to {}: {error}", from.display(), to.display()))
}
