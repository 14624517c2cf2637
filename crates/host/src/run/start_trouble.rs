//! Why a program does not start behind the walls, in one sentence that names what is missing, with the remedy.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::ActiveRun;
use super::inside_view::InsideView;
use super::snapshot::RunStage;
use crate::error::HostError;

/// The longest first line of a script that the kernel reads.
const FIRST_LINE: usize = 256;
/// How much of what an agent printed last is looked through.
const LAST_OUTPUT: u64 = 8 * 1024;

/// What is missing, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StartTrouble {
    pub message: String,
    pub hint: String,
}

impl ActiveRun<'_> {
    /// The same error, or what is missing where the walls stood and the agent did not start in them.
    pub(super) fn explained(&self, stage: &RunStage, error: HostError) -> HostError {
        let walls = matches!(error, HostError::Walls { .. });
        match walls.then(|| self.start_trouble(stage)).flatten() {
            Some(StartTrouble { message, hint }) => HostError::Walls { message, hint: Some(hint) },
            None => error,
        }
    }

    /// What keeps the agent's program from starting, if its file tells.
    pub(super) fn start_trouble(&self, stage: &RunStage) -> Option<StartTrouble> {
        self.with_view(stage, |program, view, on_path| look(program, view, on_path))
    }

    /// What an agent that has just ended did not find, if it is no more than that.
    pub(super) fn end_trouble(&self, stage: &RunStage, code: i32) -> Option<StartTrouble> {
        let said = self.last_output();
        let started = matches!(code, 126 | 127).then(|| self.start_trouble(stage)).flatten();
        started.or_else(|| self.with_view(stage, |_, view, on_path| said_missing(code, &said, view, on_path)))
    }

    fn with_view<T>(
        &self,
        stage: &RunStage,
        look: impl FnOnce(&str, &InsideView<'_>, &dyn Fn(&str) -> Option<PathBuf>) -> Option<T>,
    ) -> Option<T> {
        // An image knows its own programs.
        if stage.backend.brings_its_system() || self.is_native() {
            return None;
        }
        let argv = self.agent_argv();
        let located = self.plan.agent.located.as_ref().map(|located| located.program.clone());
        let program = located.or_else(|| argv.first().map(PathBuf::from))?;
        let job = self.job(stage, argv);
        let path = job.env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, path)| path.as_str());
        let view = InsideView::new(stage.backend.private_root().then_some(&job.mounts), path);
        let host_path = (self.host.env)("PATH").unwrap_or_default();
        let on_path = |name: &str| {
            std::env::split_paths(&host_path).map(|folder| folder.join(name)).find(|file| file.is_file())
        };
        look(&program.to_string_lossy(), &view, &on_path)
    }

    fn last_output(&self) -> String {
        let read = || {
            let file = File::open(self.folder.evidence().join("agent.log")).ok()?;
            let from = file.metadata().ok()?.len().saturating_sub(LAST_OUTPUT);
            let mut bytes = vec![0; LAST_OUTPUT as usize];
            let read = file.read_at(&mut bytes, from).ok()?;
            bytes.truncate(read);
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().unwrap_or_default()
    }
}

/// Looks at the file of a program, and at what its first line or its header names.
fn look(
    program: &str,
    view: &InsideView<'_>,
    on_path: &dyn Fn(&str) -> Option<PathBuf>,
) -> Option<StartTrouble> {
    let Some(file) = view.program(program) else {
        return Some(absent(&format!("the program `{program}`"), program, on_path));
    };
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut head = Vec::new();
    File::open(&file).ok()?.take(FIRST_LINE as u64).read_to_end(&mut head).ok()?;
    if let Some(line) = head.strip_prefix(b"#!") {
        return script(&name, line, view, on_path);
    }
    let header = ElfHeader::read(&file, &head)?;
    if Some(header.machine) != ElfHeader::of_this_process() {
        return Some(StartTrouble {
            message: format!("`{name}` is built for another kind of processor"),
            hint: "install the build for this machine".into(),
        });
    }
    let loader = header.loader?;
    view.on_host(Path::new(&loader))
        .is_none()
        .then(|| absent(&format!("`{name}` is started by the loader `{loader}`, which"), &loader, on_path))
}

/// What the first line of a script asks for and is not there.
fn script(
    name: &str,
    line: &[u8],
    view: &InsideView<'_>,
    on_path: &dyn Fn(&str) -> Option<PathBuf>,
) -> Option<StartTrouble> {
    let line =
        String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default()).into_owned();
    if line.ends_with('\r') {
        return Some(StartTrouble {
            message: format!(
                "the first line of `{name}` has line ends of Windows, so its interpreter is not found"
            ),
            hint: format!("give it line ends of Unix: sed -i 's/\\r$//' {name}"),
        });
    }
    let mut words = line.split_whitespace();
    let interpreter = words.next().unwrap_or_default();
    let asked = format!("`{name}` begins with `#!{}`, and `{interpreter}`", line.trim());
    if view.on_host(Path::new(interpreter)).is_none() {
        return Some(absent(&asked, interpreter, on_path));
    }
    if Path::new(interpreter).file_name().is_none_or(|name| name != "env") {
        return None;
    }
    let wanted = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    let asked = format!("`{name}` begins with `#!{}`, and `{wanted}`", line.trim());
    view.program(wanted).is_none().then(|| absent(&asked, wanted, on_path))
}

/// That something is not there: `subject` is what the sentence is about.
fn absent(subject: &str, wanted: &str, on_path: &dyn Fn(&str) -> Option<PathBuf>) -> StartTrouble {
    let here = if wanted.contains('/') {
        let path = PathBuf::from(wanted);
        path.exists().then_some(path)
    } else {
        on_path(wanted)
    };
    match here {
        Some(file) => StartTrouble {
            message: format!("{subject} is not visible inside the walls"),
            hint: format!(
                "it is at {} here: `holon agents add` with the agent's path or package describes the agent with what it \
                 needs; for one mode, `paths` below its [expose] shows a folder",
                file.display()
            ),
        },
        None => StartTrouble {
            message: format!("{subject} is not installed on this machine"),
            hint: "install it for the whole system, or correct what names it".into(),
        },
    }
}

/// What the last lines of an agent's output name as missing.
fn said_missing(
    code: i32,
    said: &str,
    view: &InsideView<'_>,
    on_path: &dyn Fn(&str) -> Option<PathBuf>,
) -> Option<StartTrouble> {
    let lines = || said.lines().rev().take(40).map(str::trim);
    if let Some(library) = lines().find_map(|line| {
        let (_, rest) = line.split_once("error while loading shared libraries: ")?;
        rest.split(':').next()
    }) {
        return Some(StartTrouble {
            message: format!("the agent needs the library `{library}`, which is not inside the walls"),
            hint: "install it for the whole system; libraries in a home or below /opt are not shown inside"
                .into(),
        });
    }
    if let Some(module) = lines().find_map(|line| {
        let (_, rest) = line.split_once("ModuleNotFoundError: No module named ")?;
        rest.split(['\'', '"']).nth(1)
    }) {
        return Some(StartTrouble {
            message: format!("the agent needs the Python module `{module}`, which is not inside the walls"),
            hint: "an agent given by its path is shown alone, and so is what is installed for you only: install it into \
                   an environment of its own (`holon agents add pip:NAME`)"
                .into(),
        });
    }
    if code != 127 {
        return None;
    }
    let command = lines().find_map(|line| {
        let head = line.strip_suffix(": not found").or_else(|| line.strip_suffix(": command not found"))?;
        head.rsplit(": ").next().filter(|word| !word.contains(' '))
    })?;
    let missing = view.program(command).is_none();
    missing.then(|| absent(&format!("the agent calls `{command}`, which"), command, on_path))
}

/// What the header of a program of the machine's own form says.
#[derive(Debug, PartialEq, Eq)]
struct ElfHeader {
    machine: u16,
    loader: Option<String>,
}

impl ElfHeader {
    fn of_this_process() -> Option<u16> {
        let mut head = Vec::new();
        File::open("/proc/self/exe").ok()?.take(FIRST_LINE as u64).read_to_end(&mut head).ok()?;
        number(&head, 18)
    }

    fn read(file: &Path, head: &[u8]) -> Option<Self> {
        // Of 64 bits, least significant byte first.
        if !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let machine = number(head, 18)?;
        let table = long(head, 32)?;
        let (size, count) = (usize::from(number(head, 54)?), usize::from(number(head, 56)?));
        let open = File::open(file).ok()?;
        let mut rows = vec![0; size.checked_mul(count)?];
        open.read_exact_at(&mut rows, table).ok()?;
        let interpreter = rows.chunks_exact(size.max(1)).find(|row| row.starts_with(&[3, 0, 0, 0]));
        let loader = interpreter.and_then(|row| {
            let mut text = vec![0; usize::try_from(long(row, 32)?).ok().filter(|n| *n < 4096)?];
            open.read_exact_at(&mut text, long(row, 8)?).ok()?;
            let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
            Some(String::from_utf8_lossy(text).into_owned())
        });
        Some(Self { machine, loader })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    fn nowhere(_: &str) -> Option<PathBuf> {
        None
    }

    fn looked(text: &[u8]) -> Option<StartTrouble> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("my-agent");
        fs::write(&file, text).unwrap();
        let view = InsideView::new(None, "/usr/bin:/bin");
        look(file.to_str().unwrap(), &view, &nowhere)
    }

    #[test]
    fn what_a_script_lacks_is_named() {
        assert_eq!(looked(b"#!/bin/sh\nexit 0\n"), None);
        assert_eq!(looked(b"#!/usr/bin/env -S LANG=C sh -e\n"), None);
        for (text, words) in [
            (
                &b"#!/no/such/python -u\n"[..],
                "`my-agent` begins with `#!/no/such/python -u`, and `/no/such/python` is not installed",
            ),
            (
                b"#!/usr/bin/env no-such-node\n",
                "begins with `#!/usr/bin/env no-such-node`, and `no-such-node` is not installed",
            ),
            (b"#!/bin/sh\r\nexit 0\r\n", "has line ends of Windows"),
        ] {
            let trouble = looked(text).unwrap();
            assert!(trouble.message.contains(words), "{trouble:?}");
        }
    }

    #[test]
    fn what_a_program_lacks_is_named() {
        let own = fs::read("/bin/sh").unwrap();
        assert_eq!(looked(&own), None);
        let mut other = own.clone();
        (other[18], other[19]) = (0x7f, 0x7f);
        assert!(looked(&other).unwrap().message.contains("another kind of processor"));
        let header = ElfHeader::read(Path::new("/bin/sh"), &own).unwrap();
        if let Some(loader) = header.loader {
            let at = own.windows(loader.len()).position(|window| window == loader.as_bytes()).unwrap();
            let mut foreign = own.clone();
            foreign[at + 1] = b'X';
            let trouble = looked(&foreign).unwrap();
            assert!(trouble.message.contains("is started by the loader `/X"), "{trouble:?}");
        }
        assert_eq!(looked(b"\x7fELF\x02\x01"), None, "a header that is cut off says nothing");
        assert_eq!(looked(b""), None);
    }

    #[test]
    fn what_an_agent_says_it_lacks_is_taken_up() {
        let view = InsideView::new(None, "/usr/bin:/bin");
        let said =
            |code, text: &str| said_missing(code, text, &view, &nowhere).map(|trouble| trouble.message);
        let library =
            said(127, "x: error while loading shared libraries: libfoo.so.1: cannot open shared object file");
        assert!(library.unwrap().contains("`libfoo.so.1`"));
        let module = "Traceback\nModuleNotFoundError: No module named 'openai'\n";
        assert!(said(1, module).unwrap().contains("`openai`"));
        assert!(
            said(127, "/holon/agent/x: 2: no-such-cli: not found\n").unwrap().contains("calls `no-such-cli`")
        );
        assert!(
            said(127, "bash: line 1: no-such-cli: command not found\n").unwrap().contains("`no-such-cli`")
        );
        assert_eq!(said(1, "no-such-cli: not found"), None, "it went on after that");
        assert_eq!(said(127, "x: 2: sh: not found"), None, "that one is there");
    }

    #[test]
    fn what_is_here_but_not_shown_is_told_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let view = InsideView::new(Some(&[]), "/usr/bin");
        let here = |_: &str| Some(PathBuf::from("/people/u/.nvm/bin/node"));
        let trouble = look("node", &view, &here).unwrap();
        assert_eq!(trouble.message, "the program `node` is not visible inside the walls");
        assert!(
            trouble.hint.contains("/people/u/.nvm/bin/node") && trouble.hint.contains("holon agents add")
        );
        let path = folder.path().to_str().unwrap();
        assert!(look(path, &view, &nowhere).unwrap().message.contains("not visible"));
    }
}
