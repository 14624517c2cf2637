//! The number in a built program that says which version of its functions is switched on; 0 is the original.
//!
//! It stands in the program itself: whatever clears the environment or loses its view of the file system on the way to
//! a test still finds it.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Echo;
use crate::{XtaskFailure, process};

/// How code asks for the number.
pub(crate) const ASK: &str = "crate::holon_version::number()";
/// What stands before the number.
const MARK: &str = "holon version number ";
/// How many digits it has.
const DIGITS: usize = 4;

/// What a crate's root gets so that its functions can ask.
pub(crate) fn module() -> String {
    let (mark, zeros) = (MARK.len(), "0".repeat(DIGITS));
    let length = mark + DIGITS;
    format!(
        "\n#[allow(dead_code)]\nmod holon_version {{\n    \
         static NUMBER: [u8; {length}] = *b\"{MARK}{zeros}\";\n    \
         pub(crate) fn number() -> u32 {{\n        \
         let text: &[u8; {length}] = std::hint::black_box(&NUMBER);\n        \
         text[{mark}..].iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))\n    }}\n}}\n"
    )
}

/// A built program, and where its numbers stand: one for each crate in it.
#[derive(Debug, Clone)]
pub(crate) struct NumberedProgram {
    file: PathBuf,
    places: Vec<u64>,
}

impl NumberedProgram {
    /// Looks for the numbers in a program; tests that only start another one have none.
    pub(crate) fn read(file: &Path) -> Result<Self, XtaskFailure> {
        let mut grep = Command::new("grep");
        grep.env("LC_ALL", "C").args(["--text", "--byte-offset", "--only-matching", "--fixed-strings", MARK]);
        let told = process::tell(grep.arg(file), Echo::Silent)?;
        // The code for "nothing found" is 1.
        if !matches!(told.code, Some(0 | 1)) {
            return Err(format!("cannot look for numbers in {}: {}", file.display(), told.complaint()));
        }
        let place = |line: &String| line.split(':').next().and_then(|offset| offset.parse::<u64>().ok());
        let places = told.lines.iter().filter_map(place).map(|place| place + MARK.len() as u64).collect();
        Ok(Self { file: file.to_owned(), places })
    }

    /// Whether anything can be switched on in it.
    pub(crate) fn has_versions(&self) -> bool {
        !self.places.is_empty()
    }

    /// Writes the program with a number of its own.
    pub(crate) fn write(&self, to: &Path, number: usize) -> Result<(), XtaskFailure> {
        let digits = format!("{number:0DIGITS$}");
        let write = || {
            fs::copy(&self.file, to)?;
            let file = OpenOptions::new().write(true).open(to)?;
            for place in &self.places {
                file.write_all_at(digits.as_bytes(), *place)?;
            }
            fs::set_permissions(to, Permissions::from_mode(0o755))
        };
        process::undisturbed(write).map_err(|error| format!("cannot write {}: {error}", to.display()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_number_of_a_program_is_set() {
        let folder = tempfile::tempdir().unwrap();
        let (built, numbered) = (folder.path().join("built"), folder.path().join("numbered"));
        fs::write(&built, [b"\x7fELF\xff", MARK.as_bytes(), b"0000\0x", MARK.as_bytes(), b"0000"].concat())
            .unwrap();
        NumberedProgram::read(&built).unwrap().write(&numbered, 42).unwrap();
        let expect = [b"\x7fELF\xff", MARK.as_bytes(), b"0042\0x", MARK.as_bytes(), b"0042"].concat();
        assert_eq!(fs::read(numbered).unwrap(), expect);
        fs::write(&built, "nothing").unwrap();
        assert!(!NumberedProgram::read(&built).unwrap().has_versions());
        assert!(NumberedProgram::read(&folder.path().join("missing")).is_err());
    }
}
