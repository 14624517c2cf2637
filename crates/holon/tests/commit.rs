//! `holon runs apply --commit`: one commit on a branch of its own that holds exactly the patch, and nothing else changes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use holon_testkit::{CommandEnd, TestEnv, TestWorkspace, for_each_identity, tree_state};

const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// Changes a file, adds ones with names that need care, makes one executable and removes one.
const AGENT: &str = r##"#!/bin/sh
sed -i 's/^two$/zwei/' a.txt
mkdir -p 'ä dir'
echo new > 'ä dir/a file.txt'
printf '#!/bin/sh\n' > run.sh; chmod +x run.sh
rm old.txt
echo "# Done" > "$HOLON_OUTPUT_DIR/summary.md"
"##;

const ME: &str = "[user]\n\tname = Ada Lövelace\n\temail = ada@example.com\n";

fn repo(env: &TestEnv, name: &str) -> TestWorkspace {
    let repo = env.repo_named(name).file("a.txt", "one\ntwo\nthree\n").file("old.txt", "old\n");
    repo.commit("first")
}

fn make(env: &TestEnv, folder: &Path) {
    let agent = env.agent("agent.sh", AGENT);
    let run = env.holon(["run", "--goal", "Say it in German", "--quiet", "--agent"]).arg(agent);
    run.cwd(folder).run().assert_code(0);
}

fn commit(env: &TestEnv, folder: &Path) -> CommandEnd {
    env.holon(["runs", "apply", "last", "--commit"]).cwd(folder).run()
}

/// The branch of the last run.
fn branch(env: &TestEnv) -> String {
    let run = env.runs().last().expect("a run").clone();
    format!("holon/{}", run.file_name().unwrap().to_str().unwrap())
}

/// The branch that was told.
fn told(output: &CommandEnd) -> String {
    output.assert_code(0);
    let word = output.stdout.split([' ', ';', '\n']).find(|word| word.starts_with("holon/"));
    word.unwrap_or_else(|| panic!("{output}")).to_owned()
}

/// What must not change: every file and its mode, the index, HEAD, and all other branches.
fn standing(repo: &TestWorkspace) -> impl PartialEq + std::fmt::Debug + use<> {
    let index = fs::read(repo.join(".git/index")).unwrap();
    let head = fs::read_to_string(repo.join(".git/HEAD")).unwrap();
    let refs = repo.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
    let others: Vec<String> =
        refs.lines().filter(|line| !line.starts_with("refs/heads/holon/")).map(str::to_owned).collect();
    let files = format!("{:?}", tree_state(repo.path()).without(".git"));
    (index, head, others, files)
}

#[test]
fn the_commit_holds_exactly_the_patch_and_nothing_else_changes() {
    for_each_identity(BIN, |env| {
        env.write("home/.gitconfig", ME);
        let repo = repo(env, "a repo ü");
        // Every hook that could run says so.
        for hook in ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-checkout"] {
            let path = format!(".git/hooks/{hook}");
            fs::create_dir_all(repo.join(".git/hooks")).unwrap();
            let script = format!("#!/bin/sh\necho {hook} >> '{}'\n", env.work().join("hooked").display());
            fs::write(repo.join(&path), script).unwrap();
            fs::set_permissions(repo.join(&path), fs::Permissions::from_mode(0o755)).unwrap();
        }
        make(env, repo.path());
        let before = standing(&repo);
        let done = commit(env, repo.path());
        let branch = branch(env);
        done.assert_code(0)
            .assert_stdout(&format!("on branch {branch}; your files and index are as they were"));
        assert_eq!(standing(&repo), before);
        assert!(!env.work().join("hooked").exists(), "no hook runs");

        // One commit on top of the one that was checked out, by the person git knows.
        let log = repo.git(["log", "--format=%an <%ae>|%cn|%s", &format!("main..{branch}")]);
        assert_eq!(log.trim(), "Ada Lövelace <ada@example.com>|Ada Lövelace|Say it in German");
        let run = env.runs().last().unwrap().clone();
        let options = ["--binary", "--full-index", "--find-renames", "--diff-algorithm=histogram"];
        let between = format!("main..{branch}");
        let mut args = vec!["diff"];
        args.extend(options);
        args.push(&between);
        let patch = fs::read_to_string(run.join("output/diff.patch")).unwrap();
        assert_eq!(repo.git(&args), patch);

        // Again: the same, and no second commit. The change can be merged and is then what apply would have made.
        let tip = repo.git(["rev-parse", &branch]);
        commit(env, repo.path()).assert_code(0).assert_stdout("already there: branch holon/");
        assert_eq!(repo.git(["rev-parse", &branch]), tip);
        repo.git(["merge", "--quiet", "--ff-only", &branch]);
        env.holon(["runs", "apply", "last"])
            .cwd(repo.path())
            .run()
            .assert_code(0)
            .assert_stdout("already there");
        repo.git(["fsck", "--strict"]);
    });
}

#[test]
fn a_dirty_tree_keeps_its_work_and_only_the_patch_is_committed() {
    let env = TestEnv::new(BIN);
    env.write("home/.gitconfig", ME);
    let repo = repo(&env, "repo").file("other.txt", "tracked\n").commit("second");
    // Unstaged, staged and untracked work beside what the patch touches.
    let repo =
        repo.file("other.txt", "changed\n").file("staged.txt", "staged\n").file("untracked.txt", "u\n");
    repo.git(["add", "staged.txt"]);
    make(&env, repo.path());
    let (before, status) = (standing(&repo), repo.status());
    commit(&env, repo.path()).assert_code(0);
    assert_eq!((standing(&repo), repo.status()), (before, status));
    let names =
        repo.git(["-c", "core.quotePath=false", "diff", "--name-only", &format!("main..{}", branch(&env))]);
    assert_eq!(names.lines().collect::<Vec<_>>(), ["a.txt", "old.txt", "run.sh", "ä dir/a file.txt"]);
}

#[test]
fn a_patch_on_top_of_uncommitted_changes_is_refused_until_they_are_committed() {
    let env = TestEnv::new(BIN);
    env.write("home/.gitconfig", ME);
    let repo = repo(&env, "repo").file("a.txt", "eins\ntwo\ndrei\nvier\n");
    make(&env, repo.path());
    let before = standing(&repo);
    let refused = commit(&env, repo.path());
    refused.assert_code(1).assert_stderr("does not fit what is committed").assert_stderr("a.txt");
    refused.assert_stderr("commit those first");
    assert_eq!(standing(&repo), before);
    assert!(repo.try_git(["rev-parse", "--verify", &branch(&env)]).is_err(), "no branch");
    let repo = repo.commit("my work");
    commit(&env, repo.path()).assert_code(0);
    assert_eq!(repo.git(["show", &format!("{}:a.txt", branch(&env))]), "eins\nzwei\ndrei\nvier\n");
    commit(&env, repo.path()).assert_code(0).assert_stdout("already there");
}

#[test]
fn a_detached_head_a_worktree_a_subfolder_and_sha256_are_fine() {
    let env = TestEnv::new(BIN);
    env.write("home/.gitconfig", ME);
    let repo = repo(&env, "repo");
    repo.git(["checkout", "--quiet", "--detach"]);
    make(&env, repo.path());
    let before = standing(&repo);
    let branch = told(&commit(&env, repo.path()));
    assert_eq!(standing(&repo), before);
    assert_eq!(repo.git(["rev-parse", &format!("{branch}^")]), repo.git(["rev-parse", "HEAD"]));

    // A worktree beside it shares its branches.
    let beside = env.work().join("beside");
    repo.git(["worktree", "add", "--quiet", "-b", "side", beside.to_str().unwrap()]);
    make(&env, &beside);
    let branch = told(&commit(&env, &beside));
    assert_eq!(repo.git(["log", "--format=%s", &format!("side..{branch}")]).trim(), "Say it in German");

    // Paths are relative to the workspace, which may be below the root; the objects' names may be long ones.
    let long = env.folder("long");
    long.git(["init", "--quiet", "--object-format=sha256", "--initial-branch=main", "--template="]);
    let long =
        long.file("s p/ä/a.txt", "two\n").file("s p/ä/old.txt", "old\n").file("a.txt", "two\n").commit("1");
    make(&env, &long.join("s p/ä"));
    let tip = told(&commit(&env, &long.join("s p/ä")));
    assert_eq!(long.git(["show", &format!("{tip}:s p/ä/a.txt")]), "zwei\n");
    assert_eq!(long.git(["show", &format!("{tip}:a.txt")]), "two\n");
}

#[test]
fn without_an_identity_or_with_a_branch_that_holds_something_else_nothing_is_made() {
    let env = TestEnv::new(BIN);
    let repo = repo(&env, "repo");
    make(&env, repo.path());
    let nobody = commit(&env, repo.path());
    nobody
        .assert_code(1)
        .assert_stderr("git knows no name and e-mail")
        .assert_stderr("git config --global user.name");
    // The repository's own configuration is enough.
    repo.git(["config", "user.name", "Local"]);
    repo.git(["config", "user.email", "local@example.com"]);
    repo.git(["branch", &branch(&env), "main"]);
    let taken = commit(&env, repo.path());
    taken.assert_code(1).assert_stderr("is there already and holds something else");
    assert_eq!(repo.git(["rev-parse", &branch(&env)]), repo.git(["rev-parse", "main"]));
    repo.git(["branch", "-D", &branch(&env)]);
    commit(&env, repo.path()).assert_code(0);
    assert_eq!(repo.git(["log", "-1", "--format=%an %ae", &branch(&env)]).trim(), "Local local@example.com");
}

#[test]
fn where_nothing_was_committed_or_nothing_changed_it_says_so() {
    let env = TestEnv::new(BIN);
    env.write("home/.gitconfig", ME);
    // A repository without a commit gets its first on the branch.
    let unborn = env.repo_named("unborn");
    let agent =
        env.agent("new.sh", "#!/bin/sh\necho x > x.txt\necho '# Done' > \"$HOLON_OUTPUT_DIR/summary.md\"\n");
    let run = env.holon(["run", "--goal", "x", "--quiet", "--agent"]).arg(agent).cwd(unborn.path()).run();
    run.assert_code(0);
    commit(&env, unborn.path()).assert_code(0);
    assert_eq!(unborn.git(["log", "--format=%s", "--all"]).trim(), "x");

    let plain = env.folder("plain").file("a.txt", "two\n").file("old.txt", "old\n");
    make(&env, plain.path());
    commit(&env, plain.path()).assert_code(1).assert_stderr("belongs to no repository");

    let idle = env.agent("idle.sh", "#!/bin/sh\necho '# Nothing' > \"$HOLON_OUTPUT_DIR/summary.md\"\n");
    let quiet = repo(&env, "quiet");
    let run = env.holon(["run", "--goal", "x", "--quiet", "--agent"]).arg(idle).cwd(quiet.path()).run();
    run.assert_code(0);
    commit(&env, quiet.path()).assert_code(0).assert_stdout("nothing to commit");
}

/// Changes a file, adds one, and makes one executable, all with the line ends of the other world.
const WINDOWS: &str = r##"#!/bin/sh
sed -i 's/^two\r$/zwei\r/' a.txt
mkdir -p 'ä dir'; printf 'new\r\nfile\r\n' > 'ä dir/n.txt'
printf 'plain\n' > c.dat
rm old.txt
echo "# Done" > "$HOLON_OUTPUT_DIR/summary.md"
"##;

fn make_with(env: &TestEnv, folder: &Path, script: &str) {
    let agent = env.agent("other.sh", script);
    let run = env.holon(["run", "--goal", "Say it in German", "--quiet", "--agent"]).arg(agent);
    run.cwd(folder).run().assert_code(0);
}

#[test]
fn files_whose_line_ends_git_converts_are_committed_as_git_would() {
    let attributes = ["*.txt text eol=crlf\n", "* text=auto\n", ""];
    // By what the repository says, by what the user says, and below a folder.
    for (number, (attributes, crlf, below)) in [
        (attributes[0], "false", ""),
        (attributes[1], "true", ""),
        (attributes[2], "true", "s p/"),
        (attributes[0], "false", "s p/"),
    ]
    .into_iter()
    .enumerate()
    {
        let env = TestEnv::new(BIN);
        env.write("home/.gitconfig", ME);
        let repo = env.repo_named(&format!("repo{number}")).file(".gitattributes", attributes);
        repo.git(["config", "core.autocrlf", crlf]);
        let repo = repo
            .file(format!("{below}a.txt"), "one\r\ntwo\r\nthree\r\n")
            .file(format!("{below}old.txt"), "old\r\n")
            .commit("first");
        let shown = |name: &str, path: &str| repo.git(["show", &format!("{name}:{below}{path}")]);
        assert_eq!(shown("main", "a.txt"), "one\ntwo\nthree\n", "git converts here: {number}");
        make_with(&env, &repo.join(below), WINDOWS);
        let before = standing(&repo);
        let branch = told(&commit(&env, &repo.join(below)));
        assert_eq!(standing(&repo), before);
        assert_eq!(shown(&branch, "a.txt"), "one\nzwei\nthree\n", "{number}");
        assert_eq!(shown(&branch, "ä dir/n.txt"), "new\nfile\n", "{number}");
        assert_eq!(shown(&branch, "c.dat"), "plain\n", "{number}");
        assert!(repo.try_git(["show", &format!("{branch}:{below}old.txt")]).is_err(), "{number}");
        commit(&env, &repo.join(below)).assert_code(0).assert_stdout("already there: branch holon/");
        // Merged and checked out it is what the agent made, and git sees nothing to convert.
        repo.git(["merge", "--quiet", "--ff-only", &branch]);
        assert_eq!(
            fs::read_to_string(repo.join(format!("{below}a.txt"))).unwrap(),
            "one\r\nzwei\r\nthree\r\n"
        );
        assert_eq!(repo.status(), "", "{number}");
        repo.git(["fsck", "--strict"]);
    }
}

#[test]
fn a_file_that_goes_through_a_filter_is_refused_and_no_filter_runs() {
    let env = TestEnv::new(BIN);
    env.write("home/.gitconfig", ME);
    let repo = repo(&env, "repo").file(".gitattributes", "*.bin filter=large\n").commit("second");
    let ran = env.work().join("ran");
    repo.git(["config", "filter.large.clean", &format!("sh -c 'echo x >> {}; cat'", ran.display())]);
    make_with(
        &env,
        repo.path(),
        "#!/bin/sh\nprintf big > big.bin\necho '# Done' > \"$HOLON_OUTPUT_DIR/summary.md\"\n",
    );
    let before = standing(&repo);
    let refused = commit(&env, repo.path());
    refused.assert_code(1).assert_stderr("big.bin goes through git's filter `large`");
    refused.assert_stderr("apply it without --commit");
    assert_eq!(standing(&repo), before);
    assert!(repo.try_git(["rev-parse", "--verify", &branch(&env)]).is_err(), "no branch");
    assert!(!ran.exists(), "no filter ran");
    // Files beside it are none of the filter's business.
    make(&env, repo.path());
    commit(&env, repo.path()).assert_code(0);
}

#[test]
fn attributes_for_all_of_the_users_repositories_count() {
    // Where git looks by itself, and where the user's configuration says.
    for (file, setting) in
        [("config/git/attributes", ""), ("home/mine", "[core]\n\tattributesFile = ~/mine\n")]
    {
        let env = TestEnv::new(BIN);
        env.write("home/.gitconfig", format!("{ME}{setting}"));
        env.write(file, "*.txt text eol=crlf\n*.bin filter=large\n");
        let repo = repo(&env, "repo");
        let script = "#!/bin/sh\nprintf 'new\\r\\nfile\\r\\n' > n.txt\necho '# Done' > \"$HOLON_OUTPUT_DIR/summary.md\"\n";
        make_with(&env, repo.path(), script);
        let branch = told(&commit(&env, repo.path()));
        assert_eq!(repo.git(["show", &format!("{branch}:n.txt")]), "new\nfile\n", "{file}");
        make_with(&env, repo.path(), &script.replace("n.txt", "n.bin"));
        commit(&env, repo.path()).assert_code(1).assert_stderr("n.bin goes through git's filter `large`");
    }
}

#[test]
fn a_change_inside_a_submodule_says_where_it_is_committed() {
    let env = TestEnv::new(BIN);
    env.write("home/.gitconfig", ME);
    let repo = repo(&env, "repo");
    repo.git(["init", "-q", "mod"]);
    fs::write(repo.join("mod/s.txt"), "one\n").unwrap();
    repo.git(["-C", "mod", "add", "."]);
    repo.git(["-C", "mod", "commit", "-q", "-m", "inside"]);
    repo.git(["add", "mod"]);
    repo.git(["commit", "-q", "-m", "with a submodule"]);
    // One that is there, and one that would take the submodule's place in the tree.
    for script in ["echo two >> mod/s.txt", "echo new > mod/new.txt"] {
        make_with(
            &env,
            repo.path(),
            &format!("#!/bin/sh\n{script}\necho '# Done' > \"$HOLON_OUTPUT_DIR/summary.md\"\n"),
        );
        let before = standing(&repo);
        let refused = commit(&env, repo.path());
        refused.assert_code(1).assert_stderr("is in the submodule mod").assert_stderr("commit in mod first");
        assert_eq!(standing(&repo), before);
        assert!(repo.try_git(["rev-parse", "--verify", &branch(&env)]).is_err(), "no branch");
    }
}
