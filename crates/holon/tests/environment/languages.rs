//! Small projects with the tools of this machine; what they need comes from folders of the project.

use std::fs;
use std::path::PathBuf;

use holon_testkit::for_each_identity;

use crate::BIN;
use crate::world::Project;

/// Whether a program of the system is here: toolchains below a home have other names for an ordinary user.
fn has(program: &str) -> bool {
    ["/usr/bin", "/usr/local/bin"].iter().any(|folder| PathBuf::from(folder).join(program).exists())
}

fn agent(env: &holon_testkit::TestEnv, look: &str) -> PathBuf {
    let script = format!(
        "#!/bin/sh\necho '# Summary\nLooked.' > /holon/output/summary.md\necho \"result $({look} 2>&1)\"\n"
    );
    env.agent("uses.sh", &script)
}

#[test]
fn a_python_project_starts_on_its_virtual_environment() {
    if !has("python3") {
        return;
    }
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        fs::write(project.repo.join(".gitignore"), ".venv/\n").unwrap();
        project.user_setup(
            "python3 -m venv --without-pip .venv && echo 'VALUE = 42' > \"$(echo .venv/lib/python3*/site-packages)/answer.py\"",
        );
        let agent = agent(env, ".venv/bin/python -c 'import answer, sys; print(answer.VALUE, sys.prefix)'");
        for snapshot in ["overlay", "copy"] {
            let run = project.run_agent(&agent, &["--snapshot", snapshot]);
            assert_eq!(run.said("result "), "42 /holon/workspace/.venv", "{snapshot}");
        }
    });
}

#[test]
fn a_node_project_starts_on_its_packages() {
    if !has("node") || !has("npm") {
        return;
    }
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        let put = |path: &str, text: &str| {
            let path = project.repo.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            env.own(path.parent().unwrap());
            env.own(&path);
        };
        put(".gitignore", "node_modules/\n");
        put(
            "package.json",
            "{\"name\":\"x\",\"version\":\"1.0.0\",\"dependencies\":{\"answer\":\"file:answer\"}}",
        );
        put("answer/package.json", "{\"name\":\"answer\",\"version\":\"1.0.0\"}");
        put("answer/index.js", "module.exports = 42;\n");
        project.user_setup("npm install --install-links --no-audit --no-fund");
        let agent = agent(env, "node -e 'console.log(require(\"answer\"))'");
        for snapshot in ["overlay", "copy"] {
            let run = project.run_agent(&agent, &["--snapshot", snapshot]);
            assert_eq!(run.said("result "), "42", "{snapshot}");
            assert!(run.used()["left_out"][0].as_str().unwrap().starts_with("package-lock.json"));
        }
    });
}

#[test]
fn a_rust_project_starts_on_what_it_built() {
    if !has("cargo") {
        return;
    }
    for_each_identity(BIN, |env| {
        let project = Project::new(env);
        let put = |path: &str, text: &str| {
            let path = project.repo.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            env.own(path.parent().unwrap());
            env.own(&path);
        };
        put(".gitignore", "target/\n");
        let manifest = |name: &str, more: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
        };
        fs::remove_file(project.repo.join("src")).unwrap();
        put("Cargo.toml", &manifest("x", "[dependencies]\nanswer = { path = \"answer\" }\n"));
        put("src/main.rs", "fn main() { println!(\"{}\", answer::VALUE) }\n");
        put("answer/Cargo.toml", &manifest("answer", ""));
        put("answer/src/lib.rs", "pub const VALUE: u32 = 42;\n");
        project.user_setup("cargo build --offline");
        // What was built is fresh: nothing is compiled once more.
        let agent = agent(env, "cargo run --offline 2>cargo.log; grep -c Compiling cargo.log; rm cargo.log");
        for snapshot in ["overlay", "copy"] {
            let run = project.run_agent(&agent, &["--snapshot", snapshot]);
            assert_eq!(run.said("result "), "42", "{snapshot}");
        }
    });
}
