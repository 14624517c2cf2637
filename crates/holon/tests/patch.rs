//! The patch battery, end to end: whatever the agent does to files and to git inside the walls, the delivered patch
//! reproduces its result on a copy of the dirty base, or the run says why there is none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use holon_testkit::{
    TestEnv, TestWorkspace, apply_patch_plain, assert_same_trees, assert_unchanged, copy_tree,
    for_each_identity, tree_state,
};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// What the agent does, as a shell script in the workspace.
struct PatchRunCase {
    name: &'static str,
    script: &'static str,
}

const fn case(name: &'static str, script: &'static str) -> PatchRunCase {
    PatchRunCase { name, script }
}

const CASES: &[PatchRunCase] = &[
    case("nothing", "true"),
    case("text", "echo more >> text.txt; echo new > new.txt"),
    case("binary", "head -c 5000 /dev/urandom > random.bin; printf '\\0\\1\\2' >> data.bin"),
    case("exec bit", "chmod +x text.txt; chmod -x tool.sh"),
    case(
        "symlinks",
        "ln -s text.txt link; ln -sfn nowhere dangling; rm link-to-data; echo file > link-to-data",
    ),
    case("rename", "mv text.txt renamed.txt; mv data.bin sub/moved.bin"),
    case("delete", "rm text.txt; rm -r sub"),
    case("replace a folder by a file", "rm -r sub; echo now a file > sub"),
    case("replace a file by a folder", "rm text.txt; mkdir text.txt; echo x > text.txt/x"),
    case("replace a folder by a new one", "rm -r sub; mkdir sub; echo fresh > sub/only"),
    case("empty files", ": > text.txt; : > empty-new"),
    case(
        "line ends",
        "printf 'a\\r\\nb\\r\\n' > crlf.txt; sed -i 's/$/\\r/' text.txt; printf 'no newline' > text2.txt",
    ),
    case("latin-1", "printf 'caf\\351\\n' > latin1.txt; printf '\\351\\n' >> text.txt"),
    case(
        "odd names",
        "echo x > 'with space'; echo x > \"quo'te\\\"s\"; printf x > \"$(printf 'new\\nline')\"; printf x > \"$(printf 'bytes\\377\\376')\"; echo x > 'back\\slash'; echo x > 日本語; echo x > -dash; echo x > 'tab\tname'",
    ),
    case(
        "touched but equal",
        "touch text.txt; chmod 600 text.txt; chmod 644 text.txt; cp tool.sh t && mv t tool.sh",
    ),
    case(
        "unreadable leavings",
        "echo x > locked; chmod 000 locked; mkdir closed; echo x > closed/in; chmod 000 closed",
    ),
    case("ignored", "mkdir -p target/deep; echo x > target/deep/o; echo y > text.txt"),
    case("a new ignore file", "echo '*' > .gitignore; echo hidden > not-hidden.txt"),
    case(
        "commits",
        "git add -A; echo c >> text.txt; git commit -qam one; echo d >> text.txt; git commit -qam two --amend",
    ),
    case("resets", "git reset -q --hard; echo after > after.txt; git clean -fdq; echo again > again.txt"),
    case(
        "checks out another branch",
        "git stash -q -u; git checkout -q -b other; echo other > text.txt; git commit -qam other",
    ),
    case("deletes .git", "rm -rf .git; echo x >> text.txt"),
    case(
        "starts its own repository",
        "rm -rf .git; git init -q .; git add -A; git commit -qm mine; echo x >> text.txt",
    ),
    case(
        "nested repository",
        "mkdir nested; cd nested; git init -q .; echo inner > inner.txt; git add -A; git commit -qm inner",
    ),
    case(
        "hostile attributes",
        "printf '* text eol=crlf filter=x diff=x -diff binary\\n*.txt working-tree-encoding=UTF-16\\n' > .gitattributes; printf '* binary\\n' > .git/info/attributes; echo x >> text.txt",
    ),
    case(
        "hostile configuration",
        "git config core.autocrlf true; git config core.filemode false; git config core.symlinks false; git config core.ignorecase true; git config core.worktree /tmp; echo x >> text.txt; chmod +x text.txt",
    ),
    case("set-uid files", "cp tool.sh su; chmod 4755 su; chmod 2755 tool.sh"),
    case("hard links", "ln text.txt hard.txt; echo x >> text.txt"),
    case("many files", "mkdir many; i=0; while [ $i -lt 300 ]; do echo $i > many/$i; i=$((i+1)); done"),
    case("large file", "head -c 52428800 /dev/urandom > large.bin"),
];

fn base(env: &TestEnv) -> TestWorkspace {
    env.repo()
        .file("text.txt", "one\ntwo\nthree\n")
        .file("text2.txt", "one\n")
        .file("data.bin", b"\0\x01binary\xff")
        .executable("tool.sh", "#!/bin/sh\n")
        .symlink("link-to-data", "data.bin")
        .file("sub/a", "a\n")
        .file("sub/deep/b", "b\n")
        .file(".gitignore", "target/\n")
        .file("target/old", "built\n")
        .commit("first")
        .file("text2.txt", "dirty\n")
        .file("untracked.txt", "untracked\n")
        .file("sub/untracked", "too\n")
}

/// Leaves a copy of the result for comparison, as far as git could carry it.
const KEEP: &str = "\ncd /holon/workspace; chmod -R u+rwX . 2>/dev/null; tar cf /holon/output/result.tar --exclude=.git .; echo ok > /holon/output/summary.md\n";

fn check(env: &TestEnv, snapshot: &str, case: &PatchRunCase) {
    let repo = base(env);
    let copy = env.work().join("copy");
    copy_tree(repo.path(), &copy);
    let before = tree_state(repo.path());
    let agent = env.agent("agent.sh", &format!("#!/bin/sh\ncd /holon/workspace\n{}{KEEP}", case.script));
    let out = env.work().join("out");
    let call = env
        .holon(["run", "--snapshot", snapshot, "--goal", "x", "--agent"])
        .arg(agent)
        .arg("--out")
        .arg(&out);
    let output = call.cwd(repo.path()).run();
    let context = format!("{} ({snapshot}, {})", case.name, env.identity().name());
    assert_eq!(output.code, 0, "{context}: {output:?}");
    assert_unchanged(&before, repo.path());
    apply_patch_plain(&copy, &out.join("diff.patch")).unwrap_or_else(|e| panic!("{context}: {e}"));
    let result = env.work().join("result");
    env.program("mkdir").arg(&result).run().assert_code(0);
    let unpack = env.program("tar").args(["x", "--no-same-owner", "-f"]).arg(out.join("result.tar"));
    unpack.cwd(&result).run().assert_code(0);
    // Ignored files are left out of a patch, on both sides alike.
    for tree in [&result, &copy] {
        let _ = fs::remove_dir_all(tree.join("target"));
    }
    assert_same_trees(&result, &copy);
}

#[test]
fn inv_05_patches_reproduce_what_was_done_in_an_overlay() {
    for case in CASES {
        for_each_identity(BIN, |env| check(env, "overlay", case));
    }
}

#[test]
fn inv_05_patches_reproduce_what_was_done_in_a_copy() {
    for case in CASES {
        for_each_identity(BIN, |env| check(env, "copy", case));
    }
}

#[test]
fn inv_05_directories_can_be_renamed() {
    let rename = PatchRunCase {
        name: "directory rename",
        script: "git mv sub renamed; mkdir into; mv renamed/deep into/",
    };
    if let Some(env) = TestEnv::as_root(BIN) {
        check(&env, "overlay", &rename);
    } else {
        holon_testkit::skip_security(&holon_testkit::current_test(), "needs root");
    }
    for_each_identity(BIN, |env| check(env, "copy", &rename));
}

#[test]
fn a_git_worktree_works_inside() {
    for_each_identity(BIN, |env| {
        let main = env.repo().file("a", "1\n").commit("first");
        let tree = env.work().join("tree");
        main.git(["worktree", "add", "-q", "-b", "side", tree.to_str().unwrap()]);
        let before = (tree_state(main.path()), tree_state(&tree));
        let script = "#!/bin/sh\nset -e\necho 2 >> a\ngit add -A\ngit commit -qm inside\ngit log --oneline > /holon/output/summary.md\n";
        for snapshot in ["auto", "copy"] {
            let agent = env.agent("commits.sh", script);
            let call = env.holon(["run", "--snapshot", snapshot, "--goal", "x", "--agent"]).arg(agent);
            let output = call.arg("--out").arg(env.work().join("out")).cwd(&tree).run();
            output.assert_code(0);
            let log = fs::read_to_string(env.work().join("out/summary.md")).unwrap();
            assert_eq!(log.lines().count(), 2, "{log}");
            assert!(fs::read_to_string(env.work().join("out/diff.patch")).unwrap().contains("+2"));
            assert_unchanged(&before.0, main.path());
            assert_unchanged(&before.1, &tree);
        }
    });
}

#[test]
fn submodules_sparse_checkouts_and_lfs_pointers_survive() {
    for_each_identity(BIN, |env| {
        let library = env.repo_named("library").file("lib.txt", "lib\n").commit("lib");
        let main = env.repo().file("a", "1\n").file("big/x", "x\n").commit("first");
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
        let main = main
            .file("model.bin", pointer)
            .file(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
            .commit("lfs");
        main.git([
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            library.path().to_str().unwrap(),
            "sub",
        ]);
        main.git(["commit", "-qm", "sub"]);
        main.git(["sparse-checkout", "set", "--no-cone", "/*", "!/big"]);
        let copy = env.work().join("copy");
        copy_tree(main.path(), &copy);
        let script = "#!/bin/sh\necho 2 >> a; echo changed >> sub/lib.txt; sed -i s/12345/54321/ model.bin; git status --short > /holon/output/summary.md\n";
        let agent = env.agent("edits.sh", script);
        let call =
            env.holon(["run", "--goal", "x", "--agent"]).arg(agent).arg("--out").arg(env.work().join("out"));
        call.cwd(main.path()).run().assert_code(0);
        apply_patch_plain(&copy, &env.work().join("out/diff.patch")).unwrap();
        assert_eq!(fs::read_to_string(copy.join("a")).unwrap(), "1\n2\n");
        assert_eq!(fs::read_to_string(copy.join("sub/lib.txt")).unwrap(), "lib\nchanged\n");
        assert!(fs::read_to_string(copy.join("model.bin")).unwrap().contains("54321"));
        assert!(!copy.join("big").exists(), "what is not checked out stays away");
    });
}
