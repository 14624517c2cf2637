//! Compiles `policies/seccomp.json` to one BPF program, so that a launch only has to load bytes.
//!
//! The stacked filters of the policy become a single decision per system call, found by binary search over the call
//! numbers: loading and running it costs a fraction of what a chain of comparisons does.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use seccompiler::{TargetArch, sock_filter};
use serde_json::{Value, json};

type BuildFailure = Box<dyn std::error::Error>;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const KILL_PROCESS: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;
/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const ARGUMENTS: u32 = 16;

/// What to do with one system call: conditions in order, then the final word.
#[derive(Clone, PartialEq, Default)]
struct SyscallDecision {
    rules: Vec<(Vec<Value>, u32)>,
    last: u32,
}

fn main() -> Result<(), BuildFailure> {
    let policy = "../../policies/seccomp.json";
    println!("cargo:rerun-if-changed={policy}");
    println!("cargo:rerun-if-changed=build.rs");
    let arch_name = env::var("CARGO_CFG_TARGET_ARCH")?;
    let arch = TargetArch::try_from(arch_name.as_str())?;
    let audit = match arch {
        TargetArch::x86_64 => 0xc000_003e,
        TargetArch::aarch64 => 0xc000_00b7,
        TargetArch::riscv64 => 0xc000_00f3,
    };
    let document: Value = serde_json::from_str(&fs::read_to_string(policy)?)?;
    let (decisions, otherwise) = decide(&document, arch, &arch_name)?;

    let mut program = vec![
        op(LOAD, 0, 0, ARCH),
        op(IF_EQUAL, 1, 0, audit),
        op(RETURN, 0, 0, KILL_PROCESS),
        op(LOAD, 0, 0, NUMBER),
    ];
    program.extend(search(&segments(&decisions, otherwise)));
    if program.len() > 4096 {
        return Err(format!("{} instructions; the kernel takes 4096", program.len()).into());
    }
    let blob: Vec<u8> = program
        .iter()
        .flat_map(|i| [&i.code.to_le_bytes()[..], &[i.jt, i.jf], &i.k.to_le_bytes()].concat())
        .collect();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("seccomp.bpf"), blob)?;
    Ok(())
}

/// Refusing filters speak first, the allow-list last: the most restrictive answer wins, as with stacked filters.
fn decide(
    document: &Value,
    arch: TargetArch,
    arch_name: &str,
) -> Result<(BTreeMap<u32, SyscallDecision>, u32), BuildFailure> {
    let filters = document["filters"].as_array().ok_or("`filters` must be a list")?;
    let mut decisions: BTreeMap<u32, SyscallDecision> = BTreeMap::new();
    let mut otherwise = ALLOW;
    let (allowing, refusing): (Vec<_>, Vec<_>) = filters.iter().partition(|f| f["on_match"] == "allow");
    for filter in refusing.into_iter().rev().chain(allowing) {
        let on_match = action(&filter["on_match"])?;
        if on_match == ALLOW {
            otherwise = action(&filter["otherwise"])?;
        }
        for rule in filter["rules"].as_array().ok_or("a filter needs `rules`")? {
            rule["why"].as_str().ok_or("every rule must say why")?;
            if rule["arch"].as_array().is_some_and(|list| list.iter().all(|a| a != arch_name)) {
                continue;
            }
            let when = rule["when"].as_array().cloned().unwrap_or_default();
            for name in rule["syscalls"].as_array().ok_or("a rule needs `syscalls`")? {
                let name = name.as_str().ok_or("a system call is named by a string")?;
                let number = number_of(name, arch)?;
                decisions.entry(number).or_default().rules.push((when.clone(), on_match));
            }
        }
    }
    for decision in decisions.values_mut() {
        decision.last = otherwise;
        if let Some(end) = decision.rules.iter().position(|(when, _)| when.is_empty()) {
            decision.last = decision.rules[end].1;
            decision.rules.truncate(end);
        }
    }
    Ok((decisions, otherwise))
}

fn action(value: &Value) -> Result<u32, BuildFailure> {
    if value == "allow" {
        return Ok(ALLOW);
    }
    let errno = value["errno"].as_u64().ok_or("an action is \"allow\" or {\"errno\": n}")?;
    Ok(ERRNO | u32::try_from(errno)?)
}

/// The compiler crate knows all names; its shortest program names the number in its first comparison after the arch.
fn number_of(name: &str, arch: TargetArch) -> Result<u32, BuildFailure> {
    let probe = json!({ "p": { "mismatch_action": "allow", "match_action": "trap", "filter": [{ "syscall": name }] }});
    let compiled = seccompiler::compile_from_json(probe.to_string().as_bytes(), arch)?;
    let program = compiled.get("p").ok_or("no program")?;
    let found = program.iter().skip(3).find(|i| i.code == IF_EQUAL).map(|i| i.k);
    found.ok_or_else(|| format!("no number for {name}").into())
}

/// Runs of neighbouring numbers with the same decision, starting at 0.
fn segments(decisions: &BTreeMap<u32, SyscallDecision>, otherwise: u32) -> Vec<(u32, SyscallDecision)> {
    let unknown = SyscallDecision { rules: Vec::new(), last: otherwise };
    let mut runs: Vec<(u32, SyscallDecision)> = vec![(0, unknown.clone())];
    let last = decisions.keys().max().copied().unwrap_or(0);
    for number in 0..=last + 1 {
        let decision = decisions.get(&number).unwrap_or(&unknown);
        if runs.last().is_none_or(|(_, previous)| previous != decision) {
            runs.push((number, decision.clone()));
        }
    }
    if runs.len() > 1 && runs[1].0 == 0 {
        runs.remove(0);
    }
    runs
}

fn search(runs: &[(u32, SyscallDecision)]) -> Vec<sock_filter> {
    if runs.len() == 1 {
        return block(&runs[0].1);
    }
    let (left, right) = runs.split_at(runs.len() / 2);
    let (below, above) = (search(left), search(right));
    let mut code = vec![op(IF_AT_LEAST, 0, 1, right[0].0), op(JUMP, 0, 0, below.len() as u32)];
    code.extend(below);
    code.extend(above);
    code
}

fn block(decision: &SyscallDecision) -> Vec<sock_filter> {
    let mut code = Vec::new();
    for (when, action) in &decision.rules {
        let mut body = vec![op(RETURN, 0, 0, *action)];
        for condition in when.iter().rev() {
            body = test(condition, body);
        }
        code.extend(body);
    }
    code.push(op(RETURN, 0, 0, decision.last));
    code
}

/// `body` if the condition holds, else past it.
fn test(condition: &Value, body: Vec<sock_filter>) -> Vec<sock_filter> {
    let number = |key: &str| condition[key].as_u64().unwrap_or(0);
    let low = ARGUMENTS + 8 * number("arg") as u32;
    let skip = body.len() as u8;
    let (value, mask) = (number("value"), number("mask"));
    let mut code = Vec::new();
    match condition["op"].as_str() {
        Some("eq") if condition["dword"] == json!(true) => {
            code.extend([op(LOAD, 0, 0, low), op(IF_EQUAL, 0, skip, value as u32)]);
        }
        Some("eq") => {
            code.extend([op(LOAD, 0, 0, low + 4), op(IF_EQUAL, 0, skip + 2, (value >> 32) as u32)]);
            code.extend([op(LOAD, 0, 0, low), op(IF_EQUAL, 0, skip, value as u32)]);
        }
        Some("ne") if condition["dword"] == json!(true) => {
            code.extend([op(LOAD, 0, 0, low), op(IF_EQUAL, skip, 0, value as u32)]);
        }
        Some("masked_eq") => {
            code.extend([
                op(LOAD, 0, 0, low),
                op(AND, 0, 0, mask as u32),
                op(IF_EQUAL, 0, skip, value as u32),
            ]);
        }
        other => println!("cargo:warning=unknown comparison {other:?}; the rule never matches"),
    }
    if code.is_empty() {
        return code;
    }
    code.extend(body);
    code
}

fn op(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}
