//! The running program as a file that can be shown to the inside, also after it was replaced by a newer one.

use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The kernel's name for it, which still works when the file has none any more; only a file with a name can be mounted.
pub(crate) const RUNNING: &str = "/proc/self/exe";
const COPY: &str = "program-";

/// Where the running program lies; a copy in `folder` if it has been removed or replaced since it was started.
///
/// What runs inside is always of the same version as what watches it. At most one copy is kept in a folder.
pub(crate) fn binary(folder: &Path) -> io::Result<PathBuf> {
    let running = fs::metadata(RUNNING)?;
    let named = fs::read_link(RUNNING)?;
    if fs::metadata(&named).is_ok_and(|there| same(&there, &running)) {
        return Ok(named);
    }
    copy(folder, Path::new(RUNNING), &running)
}

fn same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// A copy of `program` in the folder, made unless it is there already; copies of others go.
fn copy(folder: &Path, program: &Path, known: &Metadata) -> io::Result<PathBuf> {
    let name = format!("{COPY}{}-{}-{}.{}", known.dev(), known.ino(), known.mtime(), known.mtime_nsec());
    let whole = folder.join(&name);
    if fs::metadata(&whole).is_ok_and(|there| there.len() == known.len()) {
        return Ok(whole);
    }
    for other in fs::read_dir(folder)?.flatten() {
        let found = other.file_name();
        if found.to_string_lossy().starts_with(COPY) && found != *name {
            let _ = fs::remove_file(other.path());
        }
    }
    let part = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    io::copy(&mut File::open(program)?, &mut part.as_file())?;
    // Whoever works inside is another user, whatever the umask here.
    part.as_file().set_permissions(Permissions::from_mode(0o755))?;
    // Closed before it has its name (a file that someone writes to cannot be run), and whole when it has.
    part.into_temp_path().persist(&whole)?;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_program_that_is_still_there_is_shown_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let own = binary(folder.path()).unwrap();
        assert!(same(&fs::metadata(&own).unwrap(), &fs::metadata(RUNNING).unwrap()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was copied");
    }

    #[test]
    fn one_copy_is_made_of_each_program_and_the_last_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        fs::create_dir(&state).unwrap();
        let copied = |text: &str| {
            let program = folder.path().join(text);
            fs::write(&program, text).unwrap();
            let path = copy(&state, &program, &fs::metadata(&program).unwrap()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o755);
            path
        };
        let first = copied("first");
        let made = fs::metadata(&first).unwrap().ino();
        let again = copy(&state, Path::new("/nothing"), &fs::metadata(folder.path().join("first")).unwrap());
        assert_eq!(fs::metadata(again.unwrap()).unwrap().ino(), made, "not copied again");
        let second = copied("second");
        assert!(!first.exists() && second.exists());
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1);
    }
}
