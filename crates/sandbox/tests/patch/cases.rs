//! What agents do to workspaces, as data.

use std::fs;
use std::path::Path;

use crate::world::{git, git_command, link, mode, write};

/// What must come of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaseExpectation {
    /// A patch that reproduces the result.
    Patch,
    /// No change at all.
    Nothing,
    /// A refusal whose message contains this.
    Refused(&'static str),
}

pub(crate) struct PatchCase {
    pub(crate) name: &'static str,
    pub(crate) base: fn(&Path),
    pub(crate) change: fn(&Path),
    pub(crate) expect: CaseExpectation,
}

const BINARY: &[u8] = b"\x7fELF\x00\x01\x02\xff\xfe\n\x00tail";

/// A repository with history, uncommitted work, untracked and ignored files, and awkward names.
pub(crate) fn dirty(dir: &Path) {
    git(dir, &["init", "-q", "-b", "main"]);
    files(dir);
    git(dir, &["add", "."]);
    git(dir, &["add", "-f", "tracked.log", "target/kept"]);
    git(dir, &["commit", "-qm", "first"]);
    write(dir, "README.md", "# Title\nedited but not committed\n");
    write(dir, "notes.txt", "untracked\n");
    write(dir, "target/out.o", "object");
    fs::remove_file(dir.join("src/dead.rs")).unwrap();
    write(dir, "staged.txt", "staged\n");
    git(dir, &["add", "staged.txt"]);
}

pub(crate) fn files(dir: &Path) {
    write(dir, "README.md", "# Title\n");
    write(dir, "src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n");
    write(dir, "src/dead.rs", "// dead\n");
    write(dir, "src/deep/er/file.rs", "// deep\n");
    write(dir, "data.bin", BINARY);
    write(dir, "run.sh", "#!/bin/sh\necho run\n");
    mode(dir, "run.sh", 0o755);
    link(dir, "link", "README.md");
    write(dir, "docs/a.md", "a\nb\nc\nd\ne\nf\n");
    write(dir, "docs/b.md", "b\n");
    write(dir, "crlf.txt", "one\r\ntwo\r\n");
    write(dir, "latin1.txt", b"caf\xe9\nna\xefve\n");
    write(dir, "empty", "");
    write(dir, "with space.txt", "space\n");
    write(dir, "new\nline", "newline\n");
    write(dir, "quo\"te\\s", "quotes\n");
    write(dir, b"lat\xe9n", "latin\n");
    write(dir, ".gitignore", "target/\n*.log\n");
    write(dir, "tracked.log", "tracked although ignored\n");
    write(dir, "target/kept", "tracked inside an ignored directory\n");
}

fn plain(dir: &Path) {
    files(dir);
}

fn unborn(dir: &Path) {
    git(dir, &["init", "-q"]);
    files(dir);
}

fn sha256(dir: &Path) {
    git(dir, &["init", "-q", "--object-format=sha256"]);
    files(dir);
    git(dir, &["add", "."]);
    git(dir, &["commit", "-qm", "first"]);
    write(dir, "README.md", "dirty\n");
}

fn sparse(dir: &Path) {
    dirty(dir);
    git(dir, &["stash", "-q", "-u"]);
    git(dir, &["sparse-checkout", "set", "--no-cone", "/src/", "/README.md"]);
}

fn worktree(dir: &Path) {
    let main = dir.parent().unwrap().join("main");
    fs::create_dir(&main).unwrap();
    dirty(&main);
    fs::remove_dir(dir).unwrap();
    git(&main, &["worktree", "add", "-q", dir.to_str().unwrap()]);
    write(dir, "README.md", "dirty in the worktree\n");
}

fn submodule(dir: &Path) {
    let lib = dir.parent().unwrap().join("lib");
    fs::create_dir(&lib).unwrap();
    dirty(&lib);
    let outer = dir.parent().unwrap().join("outer");
    fs::create_dir(&outer).unwrap();
    git(&outer, &["init", "-q"]);
    git(&outer, &["submodule", "add", "-q", lib.to_str().unwrap(), "sub"]);
    // The submodule's checkout becomes the workspace.
    fs::remove_dir(dir).unwrap();
    fs::rename(outer.join("sub"), dir).unwrap();
    let modules = outer.join(".git/modules/sub");
    write(dir, ".git", format!("gitdir: {}\n", modules.display()));
    git(&outer, &["config", "-f", ".git/modules/sub/config", "core.worktree", dir.to_str().unwrap()]);
    write(dir, "README.md", "dirty in the submodule\n");
}

fn lfs(dir: &Path) {
    dirty(dir);
    write(dir, ".gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\n");
    write(dir, "art.psd", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
    git(dir, &["config", "filter.lfs.clean", "false"]);
    git(dir, &["config", "filter.lfs.smudge", "false"]);
}

fn touched(dir: &Path) {
    write(dir, "README.md", "# Title\nedited by the agent\n");
    write(dir, "src/new.rs", "// new\n");
    fs::remove_file(dir.join("src/main.rs")).unwrap();
}

/// Leaves a mark next to the workspace if anything of this is ever run by the host.
fn trap(dir: &Path) -> String {
    let mark = if dir.ends_with("merged") { dir.join("../../ran") } else { dir.join("../../../ran") };
    format!("touch '{}'; cat", mark.display())
}

fn hostile_config(dir: &Path) {
    let trap = trap(dir);
    write(
        dir,
        ".gitattributes",
        "* text eol=crlf ident filter=evil diff=evil merge=evil working-tree-encoding=UTF-16\n",
    );
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "merge.evil.driver",
        "core.fsmonitor",
        "core.sshCommand",
        "diff.external",
        "core.pager",
        "core.editor",
        "uploadpack.packObjectsHook",
        "core.alternateRefsCommand",
    ] {
        git(dir, &["config", key, &trap]);
    }
    git(dir, &["config", "filter.evil.required", "true"]);
    git(dir, &["config", "core.autocrlf", "true"]);
    git(dir, &["config", "core.fileMode", "false"]);
    git(dir, &["config", "core.symlinks", "false"]);
    for hook in
        ["post-index-change", "pre-commit", "post-checkout", "reference-transaction", "pre-applypatch"]
    {
        write(dir, format!(".git/hooks/{hook}"), format!("#!/bin/sh\n{trap}\n"));
        mode(dir, &format!(".git/hooks/{hook}"), 0o755);
    }
    write(dir, ".git/info/attributes", "* filter=evil diff=evil\n");
    write(dir, "new.txt", "$Id$ lf\n");
    touched(dir);
}

fn new_submodule(dir: &Path) {
    let lib = if dir.ends_with("merged") { dir.join("../../lib2") } else { dir.join("../../../lib2") };
    fs::create_dir(&lib).unwrap();
    git(&lib, &["init", "-q"]);
    write(&lib, "lib.c", "int x;\n");
    git(&lib, &["add", "."]);
    git(&lib, &["commit", "-qm", "lib"]);
    git(dir, &["submodule", "add", "-q", lib.canonicalize().unwrap().to_str().unwrap(), "vendor/lib"]);
    // Only the pointer travels: what is checked out is left for `git submodule update`.
    fs::remove_file(dir.join("vendor/lib/lib.c")).unwrap();
}

macro_rules! cases {
    ($($name:literal, $base:expr, $expect:expr, $change:expr;)*) => {
        &[$(PatchCase { name: $name, base: $base, change: $change, expect: $expect }),*]
    };
}

use CaseExpectation::{Nothing, Patch, Refused};

pub(crate) const CASES: &[PatchCase] = cases! {
    "nothing", dirty, Nothing, |_| {};
    "text", dirty, Patch, |d| write(d, "src/main.rs", "fn main() {\n    println!(\"bye\");\n}\n");
    "the dirty file", dirty, Patch, |d| write(d, "README.md", "# Title\nedited but not committed\nand more\n");
    "an untracked file", dirty, Patch, |d| write(d, "notes.txt", "untracked\nand changed\n");
    "back to the commit", dirty, Patch, |d| write(d, "README.md", "# Title\n");
    "no newline at the end", dirty, Patch, |d| write(d, "docs/b.md", "b");
    "binary", dirty, Patch, |d| write(d, "data.bin", [BINARY, b"\0more"].concat());
    "binary to text", dirty, Patch, |d| write(d, "data.bin", "text now\n");
    "text to binary", dirty, Patch, |d| write(d, "docs/b.md", BINARY);
    "exec bit on", dirty, Patch, |d| mode(d, "docs/a.md", 0o755);
    "exec bit off", dirty, Patch, |d| mode(d, "run.sh", 0o644);
    "only other mode bits", dirty, Nothing, |d| mode(d, "docs/a.md", 0o600);
    "touched, not changed", dirty, Nothing, |d| write(d, "docs/a.md", "a\nb\nc\nd\ne\nf\n");
    "unreadable, changed", dirty, Patch, |d| { write(d, "docs/a.md", "x\n"); mode(d, "docs/a.md", 0o644); };
    "suid bit", dirty, Nothing, |d| mode(d, "run.sh", 0o6755);
    "symlink changed", dirty, Patch, |d| { fs::remove_file(d.join("link")).unwrap(); link(d, "link", "docs/a.md"); };
    "symlink new, dangling and absolute", dirty, Patch, |d| { link(d, "l1", "nowhere"); link(d, "l2", "/etc/passwd"); };
    "symlink with odd target", dirty, Patch, |d| link(d, "odd", b"sp ace\nnew\xe9\"");
    "file to symlink", dirty, Patch, |d| { fs::remove_file(d.join("docs/b.md")).unwrap(); link(d, "docs/b.md", "a.md"); };
    "symlink to file", dirty, Patch, |d| { fs::remove_file(d.join("link")).unwrap(); write(d, "link", "file\n"); };
    "file to directory", dirty, Patch, |d| { fs::remove_file(d.join("docs/b.md")).unwrap(); write(d, "docs/b.md/in", "x\n"); };
    "directory to file", dirty, Patch, |d| { fs::remove_dir_all(d.join("docs")).unwrap(); write(d, "docs", "file\n"); };
    "directory to symlink", dirty, Patch, |d| { fs::remove_dir_all(d.join("docs")).unwrap(); link(d, "docs", "src"); };
    "symlink to directory", dirty, Patch, |d| { fs::remove_file(d.join("link")).unwrap(); write(d, "link/x", "x\n"); };
    "file moved into a directory of its name", dirty, Patch, |d| {
        fs::rename(d.join("docs/b.md"), d.join("tmp")).unwrap();
        fs::create_dir(d.join("docs/b.md")).unwrap();
        fs::rename(d.join("tmp"), d.join("docs/b.md/b.md")).unwrap();
    };
    "ignored directory to file", dirty, Patch, |d| {
        fs::remove_dir_all(d.join("src")).unwrap();
        write(d, "src", "a file now\n");
    };
    "rename", dirty, Patch, |d| fs::rename(d.join("docs/a.md"), d.join("docs/z.md")).unwrap();
    "rename and edit", dirty, Patch, |d| { fs::remove_file(d.join("docs/a.md")).unwrap(); write(d, "z.md", "a\nb\nc\nd\ne\nF\n"); };
    "swap two files", dirty, Patch, |d| {
        fs::rename(d.join("docs/a.md"), d.join("t")).unwrap();
        fs::rename(d.join("docs/b.md"), d.join("docs/a.md")).unwrap();
        fs::rename(d.join("t"), d.join("docs/b.md")).unwrap();
    };
    "rename over another", dirty, Patch, |d| fs::rename(d.join("docs/a.md"), d.join("docs/b.md")).unwrap();
    "delete", dirty, Patch, |d| fs::remove_file(d.join("docs/a.md")).unwrap();
    "delete a directory", dirty, Patch, |d| fs::remove_dir_all(d.join("src")).unwrap();
    "delete everything", dirty, Patch, |d| {
        for entry in fs::read_dir(d).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
        }
    };
    "delete and make again", dirty, Patch, |d| {
        fs::remove_dir_all(d.join("src")).unwrap();
        write(d, "src/main.rs", "// another\n");
    };
    "delete and make again, the same", dirty, Nothing, |d| {
        let text = fs::read(d.join("docs/a.md")).unwrap();
        fs::remove_file(d.join("docs/a.md")).unwrap();
        write(d, "docs/a.md", text);
    };
    "directory rename", dirty, Patch, |d| move_dir(d, "src", "source");
    "directory rename and edits inside", dirty, Patch, |d| {
        move_dir(d, "src", "source");
        write(d, "source/main.rs", "fn main() {}\n");
        write(d, "source/deep/er/new.rs", "// new\n");
        fs::remove_file(d.join("source/deep/er/file.rs")).unwrap();
    };
    "directory rename twice", dirty, Patch, |d| { move_dir(d, "src", "a"); move_dir(d, "a", "docs/deeper"); };
    "directory rename and back", dirty, Nothing, |d| { move_dir(d, "src", "a"); move_dir(d, "a", "src"); };
    "directories swapped", dirty, Patch, |d| { move_dir(d, "src", "t"); move_dir(d, "docs", "src"); move_dir(d, "t", "docs"); };
    "directory renamed into its own place", dirty, Patch, |d| {
        move_dir(d, "src", "t");
        fs::create_dir(d.join("src")).unwrap();
        move_dir(d, "t", "src/old");
        write(d, "src/main.rs", "// new main\n");
    };
    "subdirectory renamed up", dirty, Patch, |d| move_dir(d, "src/deep", "deep");
    "empty file", dirty, Patch, |d| write(d, "another-empty", "");
    "emptied file", dirty, Patch, |d| write(d, "docs/a.md", "");
    "filled empty file", dirty, Patch, |d| write(d, "empty", "no more\n");
    "deleted empty file", dirty, Patch, |d| fs::remove_file(d.join("empty")).unwrap();
    "empty directory", dirty, Nothing, |d| fs::create_dir(d.join("nothing")).unwrap();
    "crlf", dirty, Patch, |d| write(d, "crlf.txt", "one\r\nTWO\r\nthree\n");
    "crlf to lf", dirty, Patch, |d| write(d, "crlf.txt", "one\ntwo\n");
    "latin-1", dirty, Patch, |d| write(d, "latin1.txt", b"caf\xe9s\nna\xefve\n");
    "nul bytes", dirty, Patch, |d| write(d, "nul", b"a\0b\n");
    "trailing space and tabs", dirty, Patch, |d| write(d, "docs/b.md", "b  \n\t \n \t\n\n\n");
    "names", dirty, Patch, |d| {
        for name in ["with space.txt", "new\nline", "quo\"te\\s"] { write(d, name, "changed\n"); }
        write(d, b"lat\xe9n", "changed\n");
        for name in [" lead", "trail ", "tab\there", "-dash", "a b/c\nd/e", "\u{1f600}", "con", "back\\slash", "*?[x]"] {
            write(d, name, "new\n");
        }
        write(d, b"\xff\xfe/\x01\x7f", "bytes\n");
        write(d, "n".repeat(255), "long\n");
    };
    "names that look like patch lines", dirty, Patch, |d| {
        write(d, "--- a/x", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n");
        write(d, "diff --git a", "diff --git a/x b/x\nGIT binary patch\nliteral 0\n");
    };
    "50 MB", dirty, Patch, |d| write(d, "large.bin", noise(50 << 20));
    "10 MB changed", |d| { dirty(d); write(d, "large.bin", noise(10 << 20)); }, Patch, |d| {
        let mut bytes = noise(10 << 20);
        bytes[5_000_000] ^= 1;
        write(d, "large.bin", bytes);
    };
    "one long line", dirty, Patch, |d| write(d, "long.txt", "x".repeat(3 << 20));
    "deep tree", dirty, Patch, |d| write(d, format!("{}end", "d/".repeat(300)), "deep\n");
    "many files", dirty, Patch, |d| for n in 0..600 { write(d, format!("many/{n}"), format!("{n}\n")); };
    "ignored files", dirty, Nothing, |d| { write(d, "target/debug/x", "x"); write(d, "a.log", "x"); };
    "ignored files deleted", dirty, Nothing, |d| fs::remove_file(d.join("target/out.o")).unwrap();
    "tracked although ignored", dirty, Patch, |d| { write(d, "tracked.log", "x\n"); write(d, "target/kept", "y\n"); };
    "tracked although ignored, deleted", dirty, Patch, |d| fs::remove_file(d.join("tracked.log")).unwrap();
    "the agent's own ignore rules", dirty, Patch, |d| { write(d, ".gitignore", "*\n"); write(d, "src/new.rs", "x\n"); };
    "special files", dirty, Patch, |d| {
        rustix::fs::mkfifoat(rustix::fs::CWD, d.join("fifo"), rustix::fs::Mode::RWXU).unwrap();
        drop(std::os::unix::net::UnixListener::bind(d.join("socket")).unwrap());
        touched(d);
    };
    "git commit", dirty, Patch, |d| { touched(d); git(d, &["add", "-A"]); git(d, &["commit", "-qm", "agent"]); };
    "git commit --amend", dirty, Patch, |d| { touched(d); git(d, &["commit", "-qa", "--amend", "-m", "x"]); };
    "git reset --hard", dirty, Patch, |d| { git(d, &["reset", "-q", "--hard"]); };
    "git stash", dirty, Patch, |d| { git(d, &["stash", "-q", "-u"]); };
    "git checkout of another branch", dirty, Patch, |d| { git(d, &["checkout", "-qfb", "x"]); touched(d); };
    "git gc", dirty, Patch, |d| { touched(d); git(d, &["gc", "-q", "--prune=now"]); };
    "git mv of a directory", dirty, Patch, |d| { move_dir(d, "docs", "manual"); git(d, &["add", "-A"]); };
    "no .git any more", dirty, Patch, |d| { fs::remove_dir_all(d.join(".git")).unwrap(); touched(d); };
    ".git replaced by another repository", dirty, Patch, |d| {
        fs::remove_dir_all(d.join(".git")).unwrap();
        git(d, &["init", "-q"]);
        touched(d);
    };
    "a nested repository", dirty, Patch, |d| { fs::create_dir(d.join("n")).unwrap(); git(&d.join("n"), &["init", "-q"]); write(d, "n/f", "f\n"); };
    "other cases of .git", dirty, Patch, |d| { write(d, "x/.GIT/config", "evil"); write(d, "x/.Git", "evil"); touched(d); };
    "hostile git configuration", dirty, Patch, hostile_config;
    "damaged git", dirty, Patch, |d| { write(d, ".git/index", "rubbish"); write(d, ".git/HEAD", "rubbish"); write(d, ".git/config", "[rubbish"); touched(d); };
    "new submodule", dirty, Patch, new_submodule;
    "looping link to directory", |d| { dirty(d); link(d, "loop", "loop"); }, Refused("symbolic links"), |d| {
        fs::remove_file(d.join("loop")).unwrap();
        write(d, "loop/x", "x\n");
    };
    "link to directory with the same names", |d| { dirty(d); link(d, "alias", "docs"); }, Patch, |d| {
        fs::remove_file(d.join("alias")).unwrap();
        write(d, "alias/a.md", "other\n");
    };
    "names git takes for its own", dirty, Refused("invalid path"), |d| write(d, ".git /config", "x\n");
    "short names git takes for its own", dirty, Refused("invalid path"), |d| write(d, "git~1/config", "x\n");
    "not a repository", plain, Patch, |d| { touched(d); write(d, "a.log", "not ignored here\n"); };
    "without commits", unborn, Patch, touched;
    "sha-256 repository", sha256, Patch, |d| { touched(d); write(d, "data.bin", noise(5000)); fs::remove_file(d.join("link")).unwrap(); };
    "sparse checkout", sparse, Patch, |d| { touched(d); write(d, "docs/a.md", "outside the sparse part\n"); };
    "worktree", worktree, Patch, touched;
    "submodule as workspace", submodule, Patch, touched;
    "lfs pointer", lfs, Patch, |d| write(d, "art.psd", "version https://git-lfs.github.com/spec/v1\noid sha256:aaaa\nsize 2\n");
};

/// `mv`: where the kernel does not rename directories of a lower layer, it copies as everyone's mv does.
fn move_dir(dir: &Path, from: &str, to: &str) {
    if let Some(parent) = dir.join(to).parent() {
        fs::create_dir_all(parent).unwrap();
    }
    let out = std::process::Command::new("mv").args([from, to]).current_dir(dir).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// Bytes that do not compress, always the same.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Whether `git apply` inside the repository rewrites line endings there: then only bytes as such can be
/// compared, outside it.
pub(crate) fn has_conversions(case: &PatchCase) -> bool {
    case.name == "hostile git configuration"
}

pub(crate) fn apply(dir: &Path, patch: &Path, outside: bool) -> std::process::Output {
    let mut command = git_command(dir, &["apply", patch.to_str().unwrap()]);
    if outside {
        command.env("GIT_DIR", "/nonexistent/outside");
    }
    command.output().unwrap()
}
