//! Modes as a whole: the built-in ones are what they promise, and no file of any origin gets more than it may.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use holon_core::Access;
use holon_core::mode::{
    ModeCatalog, ModeError, ModeSource, NetworkReach, Profile, RunOverrides, ValueOrigin, builtin,
};
use holon_core::policy::{CallSurface, ProposedCall, ToolCallGate, ToolVerdict};

fn catalog() -> ModeCatalog {
    ModeCatalog::builtin().expect("the built-in modes are sound")
}

fn project(text: &str) -> Result<Profile, ModeError> {
    from(ModeSource::Project, ".holon/modes/mine.toml", text)
}

fn from(source: ModeSource, path: &str, text: &str) -> Result<Profile, ModeError> {
    let mut catalog = catalog();
    catalog.add(source, path, text)?;
    catalog.resolve(path.rsplit('/').next().unwrap().trim_end_matches(".toml"))
}

#[test]
fn built_in_modes_are_as_documented() {
    let catalog = catalog();
    let check =
        |name: &str, aliases: &[&str], access: &str, delivers: bool, required: &[&str], intent: &str| {
            let profile = catalog.resolve(name).unwrap();
            assert_eq!(profile.name, name);
            assert_eq!(profile.access.label(), access, "{name}");
            assert_eq!(profile.access.delivers(), delivers, "{name}");
            assert_eq!(profile.artifacts.required, required, "{name}");
            assert_eq!(profile.model.intent, intent, "{name}");
            assert!(builtin::prompt(&profile.prompt.file).is_some_and(|t| !t.trim().is_empty()), "{name}");
            assert!(profile.network < NetworkReach::Host, "{name}");
            for alias in aliases {
                assert_eq!(catalog.resolve(alias).unwrap(), profile, "{alias}");
            }
        };
    check(
        "execute",
        &["build", "code", "code_generation"],
        "rw",
        true,
        &["diff.patch", "summary.md"],
        "code",
    );
    check("plan", &[], "read-only", false, &["plan.md"], "architect");
    check("architect", &["planning"], "scoped", true, &["plan.md", "diff.patch", "summary.md"], "architect");
    check("review", &["code_review"], "read-only", false, &["review.json", "summary.md"], "review");
    check("debug", &[], "scratch", false, &["debug.json", "summary.md"], "debug");
    check("ethical", &["ethics"], "read-only", false, &["ethics.json", "ethics.md"], "ethical");
    check("ask", &[], "read-only", false, &[], "architect");
    check("orchestrate", &[], "read-only", false, &["orchestration.json", "summary.md"], "orchestrate");
    assert_eq!(catalog.list().len(), 8);
    assert!(catalog.problems().is_empty());
}

#[test]
fn inv_15_an_unknown_mode_is_an_error_that_helps() {
    let error = catalog().resolve("exceute").unwrap_err().to_string();
    assert!(error.contains("did you mean `execute`") && error.contains("orchestrate"), "{error}");
    for name in ["", "Plan", "PLAN", "plan ", "../plan", "plan-then-execute"] {
        assert!(matches!(catalog().resolve(name), Err(ModeError::Unknown { .. })), "{name}");
    }
}

#[test]
fn the_example_of_the_guide_resolves() {
    let text = r#"
        name = "docs"
        description = "Writes documentation only"
        extends = "architect"
        [workspace]
        access = "scoped"
        write = ["docs/guide/**"]
        hide = [".env", "**/*.pem"]
        [tools]
        execute = "deny"
        write_file = "allow"
        edit_file = "allow"
        ask_user = "ask"
        "mcp:*" = "deny"
        [commands]
        allow = ["cargo test *"]
        deny = ["git push *"]
        [network]
        tools = "none"
        [limits]
        rounds = 50
        timeout = "20m"
        cost_usd = 1.0
        [artifacts]
        required = ["plan.md", "summary.md"]
        optional = ["plan.json"]
        [prompt]
        file = "docs.md"
    "#;
    let docs = from(ModeSource::Project, ".holon/modes/docs.toml", text).unwrap();
    assert_eq!(docs.access, Access::Scoped { write: vec!["docs/guide/**".into()] });
    assert_eq!(docs.artifacts.required, ["plan.md", "diff.patch", "summary.md"]);
    assert_eq!(docs.lineage, ["architect"]);
    assert_eq!(docs.prompt.source, ModeSource::Project);
    let origin = |key: &str| docs.rows().into_iter().find(|r| r.key == key).unwrap().origin.to_string();
    assert_eq!(origin("limits.timeout"), "project .holon/modes/docs.toml");
    assert_eq!(origin("limits.memory_mb"), "built-in architect.toml");
    assert_eq!(origin("expose.paths"), "default");
}

#[test]
fn the_template_is_a_working_mode_once_named() {
    let text = builtin::TEMPLATE.replace("NAME", "mine");
    assert_eq!(project(&text).unwrap().access, Access::ReadOnly);
    // Uncommented as a whole it is still understood, apart from what only a user may set.
    let all: String = text
        .lines()
        .map(|l| {
            format!(
                "{}\n",
                l.strip_prefix("# ").filter(|l| l.starts_with('[') || l.contains(" = ")).unwrap_or(l)
            )
        })
        .collect();
    let parsed = holon_core::mode::ModeFile::parse(&all, "mine.toml").unwrap();
    assert_eq!(parsed.limits.rounds, Some(50));
    assert!(parsed.prompt.file.is_some() && parsed.expose.paths.is_some());
}

#[test]
fn inv_15_a_project_file_never_widens() {
    let check = |text: &str, key: &str| {
        let error = project(text).unwrap_err().to_string();
        assert!(error.contains(".holon/modes/mine.toml"), "{error}");
        assert!(error.contains(key), "`{key}` is not in: {error}");
    };
    check("extends = 'plan'\nwiden = true", "widen");
    check("extends = 'plan'\n[workspace]\naccess = 'rw'", "workspace.access");
    check("extends = 'plan'\n[workspace]\naccess = 'scoped'\nwrite = ['docs/**']", "workspace.access");
    check("extends = 'architect'\n[workspace]\nwrite = ['**']", "workspace.write");
    check("extends = 'architect'\n[workspace]\nwrite = ['docs*/**']", "workspace.write");
    check("extends = 'architect'\n[workspace]\nwrite = ['../x/**']", "workspace.write");
    check("extends = 'architect'\n[workspace]\nwrite = ['/etc/**']", "workspace.write");
    check("extends = 'execute'\nscratch = true", "scratch");
    check("extends = 'review'\n[workspace]\nwrites_on_request = true", "writes_on_request");
    check("extends = 'review'\nscratch = true\n[workspace]\nwrites_on_request = true", "writes_on_request");
    check("extends = 'plan'\n[tools]\nwrite_file = 'allow'", "tools.write_file");
    check("extends = 'plan'\n[tools]\nwrite_file = 'ask'", "tools.write_file");
    check("extends = 'execute'\n[tools]\nbrand_new = 'allow'", "tools.brand_new");
    check("extends = 'execute'\n[tools]\n'*' = 'allow'", "tools.*");
    check("extends = 'plan'\n[tools]\n'mcp:*' = 'allow'", "tools.mcp:*");
    check("extends = 'execute'\n[network]\ntools = 'host'", "network.tools");
    check("extends = 'plan'\n[network]\ntools = 'host'", "network.tools");
    check("extends = 'orchestrate'\n[expose]\ntoolchains = 'auto'", "expose.toolchains");
    check("extends = 'execute'\n[expose]\npaths = ['~/.ssh']", "expose.paths");
    check("extends = 'execute'\n[sandbox]\nminimum = 'none'", "sandbox.minimum");
    check("extends = 'execute'\n[limits]\ntimeout = '20h'", "limits.timeout");
    check("extends = 'execute'\n[limits]\ncost_usd = inf", "limits.cost_usd");
    check("extends = 'execute'\n[limits]\ncost_usd = nan", "limits.cost_usd");
    check("extends = 'execute'\n[limits]\nprocesses = 0", "limits.processes");
    check("extends = 'execute'\n[limits]\nprocesses = 99999999", "limits.processes");
    check("extends = 'execute'\n[limits]\nfiles = -1", "files");
    check("extends = 'execute'\n[prompt]\nfile = '../../etc/passwd'", "prompt.file");
    check("extends = 'execute'\n[prompt]\nfile = '/etc/passwd.md'", "prompt.file");
    check("extends = 'execute'\n[prompt]\nfile = 'a/../../b.md'", "prompt.file");
    check("extends = 'execute'\n[prompt]\nfile = '~/x.md'", "prompt.file");
    check("extends = 'execute'\n[artifacts]\nrequired = ['../x']", "artifacts.required");
    check("extends = 'execute'\naliases = ['plan']", "aliases");
    check("extends = 'execute'\naliases = ['build']", "aliases");
    check("name = 'other'\nextends = 'execute'", "name");
    check("extends = 'nothing'", "extends");
    check("extends = 'mine'", "circle");
    check("extends = 'execute'\nsandbox_off = true", "sandbox_off");
    check("extends = 'execute'\n[sandbox]\noff = true", "off");
    check("extends = 'execute'\n[tools]\nexecute = 'always'", "always");
    check("not toml", "line 1");
}

#[test]
fn inv_15_a_project_cannot_redefine_what_exists() {
    let mut catalog = catalog();
    let plan = catalog.resolve("plan").unwrap();
    for path in ["plan", "build", "execute", "ethics"] {
        let error = catalog
            .add(ModeSource::Project, &format!(".holon/modes/{path}.toml"), "extends = 'execute'")
            .unwrap_err();
        assert!(matches!(error, ModeError::NotTrusted { .. }), "{error}");
    }
    assert_eq!(catalog.resolve("plan").unwrap(), plan);
    assert_eq!(catalog.resolve("build").unwrap().name, "execute");
    catalog
        .add(
            ModeSource::User,
            "/config/holon/modes/own.toml",
            "extends = 'execute'\nwiden = true\n[network]\ntools = 'host'",
        )
        .unwrap();
    assert!(catalog.add(ModeSource::Project, ".holon/modes/own.toml", "extends = 'plan'").is_err());
    catalog.add(ModeSource::Project, ".holon/modes/sly.toml", "extends = 'own'").unwrap();
    assert!(matches!(catalog.resolve("sly"), Err(ModeError::NotTrusted { .. })));
    assert_eq!(catalog.problems().len(), 6);
}

#[test]
fn a_refused_file_explains_why_its_mode_is_missing() {
    let mut catalog = catalog();
    catalog.add(ModeSource::Project, ".holon/modes/mine.toml", "widen = true").unwrap_err();
    assert!(matches!(catalog.resolve("mine"), Err(ModeError::NotTrusted { .. })));
    assert!(catalog.resolve("plan").is_ok());
}

#[test]
fn a_user_can_change_and_widen_modes() {
    let mut catalog = catalog();
    catalog.add(ModeSource::User, "u/plan.toml", "[limits]\ntimeout = '5m'").unwrap();
    catalog.add(ModeSource::User, "u/open.toml", "extends = 'plan'\nwiden = true\n[network]\ntools = 'host'\n[expose]\npaths = ['/opt/data']\n[tools]\nwrite_file = 'ask'\n[artifacts]\nrequired = ['summary.md']").unwrap();
    let plan = catalog.resolve("plan").unwrap();
    assert_eq!(plan.limits.timeout.to_string(), "5m");
    assert_eq!(plan.origins["limits.timeout"].to_string(), "user u/plan.toml");
    let open = catalog.resolve("open").unwrap();
    assert_eq!(
        (open.network, open.artifacts.required.as_slice()),
        (NetworkReach::Host, &["summary.md".to_owned()][..])
    );
    assert_eq!(open.tools.listed("write_file").unwrap().0, ToolVerdict::Ask);
    assert_eq!(open.limits.timeout.to_string(), "5m");
    // Without saying so, a user's file is held to the same rule.
    catalog.add(ModeSource::User, "u/slow.toml", "extends = 'plan'\n[limits]\ntimeout = '6m'").unwrap();
    assert!(matches!(catalog.resolve("slow"), Err(ModeError::Wider { .. })));
}

#[test]
fn a_mode_without_a_parent_stays_below_execute() {
    let alone = "[workspace]\naccess = 'read-only'\n[prompt]\nfile = 'mine.md'";
    let profile = project(alone).unwrap();
    assert_eq!(profile.artifacts.required, ["summary.md"]);
    assert_eq!(profile.access, Access::ReadOnly);
    let rw = project("[workspace]\naccess = 'rw'\n[prompt]\nfile = 'mine.md'").unwrap();
    assert_eq!(rw.artifacts.required, ["summary.md", "diff.patch"]);
    assert!(project("[workspace]\naccess = 'rw'").unwrap_err().to_string().contains("prompt.file"));
    assert!(project("[prompt]\nfile = 'mine.md'").unwrap_err().to_string().contains("workspace.access"));
    assert!(project(&format!("{alone}\n[network]\ntools = 'host'")).is_err());
}

#[test]
fn debug_writes_only_on_request() {
    let debug = catalog().resolve("debug").unwrap();
    assert!(!debug.access.delivers() && !debug.requires("diff.patch"));
    let writable = debug.with_writes().unwrap();
    assert_eq!(writable.access, Access::ReadWrite);
    assert!(writable.requires("diff.patch") && writable.requires("debug.json"));
    assert_eq!(writable.origins["workspace.access"].to_string(), "flag --allow-writes");
    for name in ["plan", "review", "execute", "architect"] {
        assert!(catalog().resolve(name).unwrap().with_writes().is_err(), "{name}");
    }
    let tamed = project("extends = 'debug'\n[workspace]\nwrites_on_request = false").unwrap();
    assert!(tamed.with_writes().is_err());
    let scratch = project("extends = 'review'\nscratch = true").unwrap();
    assert_eq!(scratch.access, Access::Scratch);
    assert!(scratch.with_writes().is_err());
}

#[test]
fn inv_11_flags_and_spec_only_narrow() {
    let catalog = catalog();
    let flag = ValueOrigin::Flag { flag: "--timeout".into() };
    let spec = ValueOrigin::Spec { file: "spec.yaml".into() };
    let execute = catalog.resolve("execute").unwrap();
    let plan = catalog.resolve("plan").unwrap();
    let narrow =
        RunOverrides { timeout: Some("5m".parse().unwrap()), rounds: Some(3), ..RunOverrides::default() };
    let got = execute.narrowed(&narrow, &flag).unwrap();
    assert_eq!((got.limits.timeout.to_string(), got.limits.rounds), ("5m".to_owned(), 3));
    assert_eq!(got.origins["limits.timeout"], flag);
    let wide = RunOverrides { timeout: Some("5h".parse().unwrap()), ..RunOverrides::default() };
    assert!(execute.narrowed(&wide, &flag).unwrap_err().to_string().contains("limits.timeout"));
    let host = RunOverrides { network: Some(NetworkReach::Host), ..RunOverrides::default() };
    assert_eq!(execute.narrowed(&host, &flag).unwrap().network, NetworkReach::Host);
    assert!(execute.narrowed(&host, &spec).is_err());
    assert!(plan.narrowed(&host, &flag).is_err());
    let artifacts =
        [("plan.json".to_owned(), true), ("extra.md".to_owned(), false), ("plan.md".to_owned(), false)];
    let more = RunOverrides { artifacts: artifacts.into(), ..RunOverrides::default() };
    let got = plan.narrowed(&more, &spec).unwrap();
    assert_eq!(got.artifacts.required, ["plan.md", "plan.json"]);
    assert!(
        got.artifacts.optional.contains(&"extra.md".to_owned())
            && !got.artifacts.optional.contains(&"plan.md".to_owned())
    );
}

#[test]
fn the_gate_knows_each_mode() {
    let catalog = catalog();
    let decide = |mode: &str, surface, person, tool: &str, line: Option<&str>| {
        let profile = catalog.resolve(mode).unwrap();
        ToolCallGate::new(&profile, surface, person).decide(&ProposedCall {
            tool,
            line,
            ..ProposedCall::default()
        })
    };
    use CallSurface::{Chat, Run};
    let check = |mode: &str, surface, tool: &str, expect| {
        let decision = decide(mode, surface, true, tool, Some("ls"));
        assert_eq!(decision.verdict, expect, "{mode} {surface:?} {tool}: {decision:?}");
        assert_eq!(decision.remedy.is_some(), expect == ToolVerdict::Deny, "{decision:?}");
    };
    for tool in ["write_file", "edit_file", "execute", "apply_patch", "mcp:x/y"] {
        check("execute", Run, tool, ToolVerdict::Allow);
        check("build", Chat, tool, ToolVerdict::Allow);
        check("plan", Chat, tool, ToolVerdict::Deny);
    }
    check("plan", Run, "execute", ToolVerdict::Allow);
    check("plan", Run, "write_file", ToolVerdict::Deny);
    check("plan", Run, "mcp:x/y", ToolVerdict::Deny);
    check("orchestrate", Run, "execute", ToolVerdict::Deny);
    check("orchestrate", Run, "delegate", ToolVerdict::Allow);
    check("execute", Run, "delegate", ToolVerdict::Allow);
    check("plan", Chat, "delegate", ToolVerdict::Deny);
    for mode in ["execute", "plan", "review", "ethical", "debug", "architect", "orchestrate"] {
        for surface in [Run, Chat] {
            check(mode, surface, "read_file", ToolVerdict::Allow);
            check(mode, surface, "grep", ToolVerdict::Allow);
            check(mode, surface, "finish", ToolVerdict::Allow);
            check(mode, surface, "ask_user", ToolVerdict::Ask);
            check(mode, surface, "brand_new_tool", ToolVerdict::Deny);
        }
        let headless = decide(mode, Run, false, "ask_user", None);
        assert_eq!(headless.verdict, ToolVerdict::Deny, "inv_08 {mode}");
    }
    let reason = decide("plan", Chat, true, "execute", Some("ls")).remedy.unwrap();
    assert_eq!(reason, "plan mode: switch to build to run this");
}

#[test]
fn command_rules_reach_the_gate() {
    let profile =
        project("extends = 'execute'\n[commands]\nallow = ['cargo test *', 'git *']\ndeny = ['git push *']")
            .unwrap();
    let gate = ToolCallGate::new(&profile, CallSurface::Run, false);
    let decide = |line: &str| {
        gate.decide(&ProposedCall { tool: "execute", line: Some(line), ..ProposedCall::default() })
    };
    assert_eq!(decide("cargo test && git status").verdict, ToolVerdict::Allow);
    for (line, rule) in [("git push", "git push *"), ("rm x", "commands.allow"), ("git 'x", "commands")] {
        let decision = decide(line);
        assert_eq!(decision.verdict, ToolVerdict::Deny, "{line}");
        assert!(decision.rule.contains(rule), "{decision:?}");
    }
    let argv = ["git".to_owned(), "push".to_owned()];
    assert_eq!(
        gate.decide(&ProposedCall { tool: "execute", argv: Some(&argv), ..ProposedCall::default() }).verdict,
        ToolVerdict::Deny
    );
    assert_eq!(
        gate.decide(&ProposedCall { tool: "execute", ..ProposedCall::default() }).verdict,
        ToolVerdict::Deny
    );
    let child = "extends = 'mine'\n[commands]\nallow = ['rm *']";
    let mut catalog = catalog();
    catalog
        .add(ModeSource::Project, "p/mine.toml", "extends = 'execute'\n[commands]\nallow = ['git *']")
        .unwrap();
    catalog.add(ModeSource::Project, "p/child.toml", child).unwrap();
    assert!(catalog.resolve("child").unwrap_err().to_string().contains("commands.allow"));
}
