//! Property: whatever a mode file says, the mode it makes never has more rights than the one it extends.
//!
//! Rights are measured here by asking (may this path leave, does this command run, …), not by the code that compares
//! profiles, so that a mistake there cannot hide itself.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;

use holon_core::mode::{
    AccessKeyword, HostMountSetting, LimitsTable, ModeCatalog, ModeFile, ModeSource, NetworkReach, Profile,
    widenings,
};
use holon_core::policy::{CallSurface, CommandVerdict, ProposedCall, ToolCallGate, ToolVerdict};
use holon_core::sandbox::IsolationLevel;
use holon_core::scope::{PathSet, WriteScope};
use holon_core::{Access, HumanDuration};
use proptest::prelude::*;
use proptest::sample::select;

const BUILTIN: [&str; 8] =
    ["execute", "plan", "architect", "review", "debug", "ethical", "orchestrate", "ask"];
const GLOBS: [&str; 10] =
    ["docs/**", "docs/guide/**", "docs/*.md", "**", "**/*.md", "src/**", "docs/a.md", "*", "docs", "d*/**"];
const PATHS: [&str; 9] = [
    "docs/a.md",
    "docs/guide/x",
    "docs/guide/deep/y.md",
    "src/main.rs",
    "README.md",
    "docs",
    "d/x",
    "deep/docs/a.md",
    ".env",
];
const TOOLS: [&str; 12] = [
    "read_file",
    "write_file",
    "edit_file",
    "execute",
    "ask_user",
    "delegate",
    "mcp:a/b",
    "mcp:*",
    "m*",
    "*",
    "new_tool",
    "e*",
];
const PATTERNS: [&str; 8] =
    ["*", "git *", "git push *", "git push", "cargo test *", "cargo *", "ls", "c* test"];
const LINES: [&str; 8] =
    ["git push", "git push x", "git status", "cargo test", "cargo build", "ls", "ls -l", "git status && ls"];

fn maybe<T: Clone + std::fmt::Debug + 'static>(values: Vec<T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.12, select(values))
}

fn list(values: &'static [&'static str]) -> impl Strategy<Value = Option<Vec<String>>> {
    let some = prop::collection::vec(select(values).prop_map(str::to_owned), 0..3);
    prop::option::weighted(0.12, some)
}

prop_compose! {
    fn limits()(
        rounds in maybe(vec![1, 10, 100, 1000]),
        timeout in maybe(vec![HumanDuration::from_secs(5), HumanDuration::from_secs(3600), HumanDuration::from_secs(100_000)]),
        cost_usd in maybe(vec![0.1, 5.0, 1000.0, f64::NAN, f64::INFINITY, -1.0]),
        memory_mb in maybe(vec![1, 4096, 1_000_000]),
        files in maybe(vec![1, 100_000_000, u64::MAX / 4]),
    ) -> LimitsTable {
        LimitsTable { rounds, timeout, cost_usd, memory_mb, files, ..LimitsTable::default() }
    }
}

prop_compose! {
    fn mode_file()(
        access in maybe(vec![AccessKeyword::Rw, AccessKeyword::ReadOnly, AccessKeyword::Scoped, AccessKeyword::Scratch]),
        write in list(&GLOBS),
        hide in list(&GLOBS),
        scratch in maybe(vec![true, false]),
        on_request in maybe(vec![true, false]),
        tools in prop::collection::btree_map(select(&TOOLS[..]).prop_map(str::to_owned), select(vec![ToolVerdict::Deny, ToolVerdict::Ask, ToolVerdict::Allow]), 0..2),
        allow in list(&PATTERNS),
        deny in list(&PATTERNS),
        network in maybe(vec![NetworkReach::None, NetworkReach::Gateway, NetworkReach::Host]),
        minimum in maybe(vec![IsolationLevel::L0, IsolationLevel::L2, IsolationLevel::L4, IsolationLevel::None]),
        toolchains in maybe(vec![HostMountSetting::None, HostMountSetting::Auto]),
        limits in limits(),
        required in list(&["summary.md", "extra.md", "plan.md"]),
    ) -> ModeFile {
        let mut file = ModeFile { scratch, tools, limits, ..ModeFile::default() };
        file.workspace.access = access;
        // Half of the random scopes would contradict the access; those are covered by `inv_15_a_project_file_never_widens`.
        file.workspace.write = write.filter(|_| access.is_none_or(|a| a == AccessKeyword::Scoped));
        file.workspace.hide = hide;
        file.workspace.writes_on_request = on_request;
        file.commands.allow = allow;
        file.commands.deny = deny;
        file.network.tools = network;
        file.sandbox.minimum = minimum;
        file.expose.toolchains = toolchains;
        file.artifacts.required = required;
        file
    }
}

fn leaves(profile: &Profile, path: &str) -> bool {
    match &profile.access {
        Access::ReadOnly | Access::Scratch => false,
        Access::Scoped { write } => WriteScope::new(write).unwrap().allows(path.as_bytes()),
        Access::ReadWrite => true,
    }
}

/// Everything the child may that the parent may not, found by trying.
fn more_rights(child: &Profile, parent: &Profile) -> Vec<String> {
    let mut more = Vec::new();
    let mut note = |wider: bool, what: String| {
        if wider {
            more.push(what);
        }
    };
    for path in PATHS {
        note(leaves(child, path) && !leaves(parent, path), format!("{path} may leave"));
        let sees = |p: &Profile| !PathSet::new(&p.hide).unwrap().covers(path.as_bytes());
        note(sees(child) && !sees(parent), format!("{path} is seen"));
    }
    for tool in TOOLS.into_iter().chain(["apply_patch", "mcp:z/z", "grep", "spawn_agent"]) {
        for surface in [CallSurface::Run, CallSurface::Chat] {
            for declared_read_only in [false, true] {
                let call = ProposedCall { tool, declared_read_only, ..ProposedCall::default() };
                let verdict = |p: &Profile| ToolCallGate::new(p, surface, true).decide(&call).verdict;
                note(verdict(child) > verdict(parent), format!("{tool} on {surface:?}"));
            }
        }
    }
    for line in LINES {
        let runs = |p: &Profile| p.commands.check_line(line) == CommandVerdict::Allowed;
        note(runs(child) && !runs(parent), format!("`{line}` runs"));
    }
    note(child.network > parent.network, "network".into());
    note(!child.minimum.meets(parent.minimum), "sandbox".into());
    note(child.expose.toolchains > parent.expose.toolchains, "toolchains".into());
    for ((key, c), (_, p)) in child.limits.counts().into_iter().zip(parent.limits.counts()) {
        note(c > p, key.into());
    }
    note(child.limits.timeout > parent.limits.timeout, "timeout".into());
    note(child.limits.cost_usd.is_nan() || child.limits.cost_usd > parent.limits.cost_usd, "cost".into());
    note(!parent.artifacts.required.iter().all(|a| child.requires(a)), "artifacts".into());
    note(child.with_writes().is_ok() && parent.with_writes().is_err(), "writes on request".into());
    more
}

fn text(mut file: ModeFile, extends: &str) -> String {
    file.extends = Some(extends.to_owned());
    toml::to_string(&file).expect("a mode file can be written")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn inv_11_a_child_never_has_more_rights(parent in select(&BUILTIN[..]), first in mode_file(), second in mode_file()) {
        let mut catalog = ModeCatalog::builtin().unwrap();
        let grand = catalog.resolve(parent).unwrap();
        catalog.add(ModeSource::Project, "p/one.toml", &text(first, parent)).unwrap();
        catalog.add(ModeSource::User, "p/two.toml", &text(second, "one")).unwrap();
        let Ok(one) = catalog.resolve("one") else { return Ok(()) };
        prop_assert_eq!(more_rights(&one, &grand), Vec::<String>::new());
        prop_assert_eq!(widenings(&one, &grand), vec![]);
        if let Ok(two) = catalog.resolve("two") {
            prop_assert_eq!(more_rights(&two, &one), Vec::<String>::new());
            prop_assert_eq!(more_rights(&two, &grand), Vec::<String>::new());
        }
    }

    #[test]
    fn inv_15_no_project_file_touches_other_modes(text in "\\PC{0,80}", name in select(vec!["plan", "build", "mine", "execute"])) {
        let mut catalog = ModeCatalog::builtin().unwrap();
        let before: BTreeMap<_, _> = BUILTIN.iter().map(|n| (*n, catalog.resolve(n).unwrap())).collect();
        let _ = catalog.add(ModeSource::Project, &format!(".holon/modes/{name}.toml"), &text);
        for (name, profile) in before {
            prop_assert_eq!(catalog.resolve(name).unwrap(), profile);
        }
    }
}

/// The property above would be empty if almost no random file were accepted.
#[test]
fn narrowing_files_are_accepted() {
    let mut catalog = ModeCatalog::builtin().unwrap();
    let texts = [
        "extends = 'execute'\n[workspace]\naccess = 'scoped'\nwrite = ['docs/**']",
        "extends = 'execute'\n[tools]\n'*' = 'deny'\nread_file = 'allow'",
        "extends = 'execute'\n[commands]\nallow = ['git *']",
        "extends = 'debug'\n[workspace]\naccess = 'read-only'",
        "extends = 'plan'\nscratch = true\n[network]\ntools = 'none'",
        "extends = 'architect'\n[limits]\nrounds = 1\n[sandbox]\nminimum = 'L0'",
    ];
    for (i, text) in texts.iter().enumerate() {
        catalog.add(ModeSource::Project, &format!("p/m{i}.toml"), text).unwrap();
        let profile = catalog.resolve(&format!("m{i}")).unwrap();
        assert_ne!(profile, catalog.resolve(&profile.lineage[0]).unwrap());
    }
}
