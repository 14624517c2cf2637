//! The system call policy as container engines read it: the same `policies/seccomp.json`, in their words.
//!
//! The library behind engines knows one answer per system call and set of arguments, and an allowance without conditions
//! swallows every refusal with some. So what a refusal leaves over is spelled out as allowances that compare masked bits;
//! whatever none of them names gets the policy's answer for the unknown, which is a refusal too.

use std::collections::BTreeMap;

use serde_json::{Value, json};

const POLICY: &str = include_str!("../../../../policies/seccomp.json");
/// Most bits of one argument that are enumerated; beyond that a call is refused rather than described wrongly.
const MOST_BITS: u32 = 10;

/// Bits of one argument with the values they must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MaskedBits {
    arg: u64,
    mask: u64,
    value: u64,
}

/// One comparison of a rule, or its opposite.
#[derive(Debug, Clone, Copy)]
struct ArgumentTest {
    bits: MaskedBits,
    holds: bool,
}

type TestsTogether = Vec<ArgumentTest>;

/// What the policy says about one system call.
#[derive(Debug, Default)]
struct SyscallRules {
    allowed: Vec<TestsTogether>,
    refused: Vec<TestsTogether>,
    /// The answer of a refusal without conditions.
    always: Option<u64>,
}

/// The document for `--security-opt seccomp=FILE`; `None` for a processor the policy does not know.
pub(super) fn profile() -> Option<String> {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "SCMP_ARCH_X86_64",
        "aarch64" => "SCMP_ARCH_AARCH64",
        "riscv64" => "SCMP_ARCH_RISCV64",
        _ => return None,
    };
    let (rules, unknown) = read()?;
    let syscalls: Vec<Value> = rules
        .iter()
        .flat_map(|(name, rules)| match rules.always {
            Some(errno) => {
                vec![json!({ "names": [name], "action": "SCMP_ACT_ERRNO", "errnoRet": errno })]
            }
            None => left_over(rules)
                .into_iter()
                .map(|bits| {
                    let args: Vec<Value> = bits.iter().map(argument).collect();
                    json!({ "names": [name], "action": "SCMP_ACT_ALLOW", "args": args })
                })
                .collect(),
        })
        .collect();
    // No other architecture is named, so calls through the ABI of one end the process.
    let whole = json!({
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": unknown,
        "architectures": [arch],
        "syscalls": syscalls,
    });
    Some(whole.to_string())
}

fn argument(bits: &MaskedBits) -> Value {
    if bits.mask == u64::MAX {
        return json!({ "index": bits.arg, "value": bits.value, "op": "SCMP_CMP_EQ" });
    }
    json!({ "index": bits.arg, "value": bits.mask, "valueTwo": bits.value, "op": "SCMP_CMP_MASKED_EQ" })
}

/// The rules by system call, and the answer for unknown ones.
fn read() -> Option<(BTreeMap<String, SyscallRules>, u64)> {
    let document: Value = serde_json::from_str(POLICY).ok()?;
    let mut rules: BTreeMap<String, SyscallRules> = BTreeMap::new();
    let mut unknown = None;
    for filter in document["filters"].as_array()? {
        let allows = filter["on_match"] == "allow";
        if allows {
            unknown = filter["otherwise"]["errno"].as_u64();
        }
        for rule in filter["rules"].as_array()? {
            let elsewhere = |list: &Vec<Value>| list.iter().all(|arch| arch != std::env::consts::ARCH);
            if rule["arch"].as_array().is_some_and(elsewhere) {
                continue;
            }
            let when = rule["when"].as_array().cloned().unwrap_or_default();
            let tests = when.iter().map(test).collect::<Option<TestsTogether>>()?;
            for name in rule["syscalls"].as_array()? {
                let entry = rules.entry(name.as_str()?.to_owned()).or_default();
                match (allows, tests.is_empty()) {
                    (true, _) => entry.allowed.push(tests.clone()),
                    (false, true) => entry.always = filter["on_match"]["errno"].as_u64(),
                    (false, false) => entry.refused.push(tests.clone()),
                }
            }
        }
    }
    Some((rules, unknown?))
}

/// `None` for a comparison nobody here knows: then there is no profile, which is a refusal to start.
fn test(condition: &Value) -> Option<ArgumentTest> {
    let number = |key: &str| condition[key].as_u64();
    let whole = if condition["dword"] == json!(true) { u64::from(u32::MAX) } else { u64::MAX };
    let (mask, holds) = match condition["op"].as_str()? {
        "eq" => (whole, true),
        "ne" => (whole, false),
        "masked_eq" => (number("mask")?, true),
        _ => return None,
    };
    Some(ArgumentTest { bits: MaskedBits { arg: number("arg")?, mask, value: number("value")? }, holds })
}

/// What is allowed and not refused, as alternatives of masked comparisons.
fn left_over(rules: &SyscallRules) -> Vec<Vec<MaskedBits>> {
    let mut ways: Vec<TestsTogether> = rules.allowed.clone();
    for refused in &rules.refused {
        // A refusal does not apply when one of its comparisons fails.
        ways = ways
            .iter()
            .flat_map(|way| {
                refused.iter().map(|test| {
                    let opposite = ArgumentTest { holds: !test.holds, ..*test };
                    [way.as_slice(), &[opposite]].concat()
                })
            })
            .collect();
    }
    let mut found: Vec<Vec<MaskedBits>> = ways.iter().flat_map(|way| spelled_out(way)).collect();
    found.sort();
    found.dedup();
    // An alternative without conditions is all there is to say.
    if found.iter().any(Vec::is_empty) { vec![Vec::new()] } else { found }
}

/// The same as alternatives of comparisons that all hold, at most one for each argument.
fn spelled_out(way: &[ArgumentTest]) -> Vec<Vec<MaskedBits>> {
    let mut ways = vec![Vec::new()];
    for arg in 0..6 {
        let of_arg = || way.iter().filter(|test| test.bits.arg == arg);
        let mut needed = MaskedBits { arg, mask: 0, value: 0 };
        for test in of_arg().filter(|test| test.holds) {
            if (needed.value ^ test.bits.value) & needed.mask & test.bits.mask != 0 {
                return Vec::new();
            }
            needed.mask |= test.bits.mask;
            needed.value |= test.bits.value & test.bits.mask;
        }
        let unwanted: Vec<MaskedBits> = of_arg()
            .filter(|test| !test.holds)
            .map(|test| test.bits)
            .filter(|bits| (bits.value ^ needed.value) & bits.mask & needed.mask == 0)
            .collect();
        let choices = beside(needed, &unwanted);
        ways = ways
            .iter()
            .flat_map(|way: &Vec<MaskedBits>| {
                choices.iter().map(|bits| {
                    let said = (bits.mask != 0).then_some(*bits);
                    way.iter().copied().chain(said).collect()
                })
            })
            .collect();
    }
    ways
}

/// What `needed` leaves open and none of the unwanted is.
fn beside(needed: MaskedBits, unwanted: &[MaskedBits]) -> Vec<MaskedBits> {
    let Some(first) = unwanted.first() else { return vec![needed] };
    let with = |mask: u64, value: u64| MaskedBits {
        mask: needed.mask | mask,
        value: needed.value | (value & mask),
        ..needed
    };
    let free = unwanted.iter().fold(0, |all, bits| all | bits.mask) & !needed.mask;
    let alike = unwanted.iter().all(|bits| bits.mask == first.mask);
    // Bits that are the same in all of them: one that differs is enough.
    let common = if alike { unwanted.iter().fold(free, |all, b| all & !(b.value ^ first.value)) } else { 0 };
    let single = (0..64).map(|bit| 1 << bit).filter(|bit| common & bit != 0);
    let mut choices: Vec<MaskedBits> = single.map(|bit| with(bit, !first.value)).collect();
    let rest = free & !common;
    if rest.count_ones() > MOST_BITS {
        return choices;
    }
    let mut bits = 0_u64;
    loop {
        let value = bits | (first.value & common);
        let known = needed.value | value;
        if !unwanted.iter().any(|unwanted| (known ^ unwanted.value) & unwanted.mask == 0) {
            choices.push(with(free, value));
        }
        // The next number that has only bits of `rest`.
        bits = bits.wrapping_sub(rest) & rest;
        if bits == 0 {
            return choices;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use proptest::prelude::*;

    use super::*;
    use crate::isolation::seccomp_bytes;

    const ALLOW: u64 = 0x7fff_0000;

    /// What the program of the native walls answers.
    fn native(number: libc::c_long, args: &[u64; 6]) -> u64 {
        let code: Vec<(u16, u8, u8, u32)> = seccomp_bytes()
            .chunks_exact(8)
            .map(|c| {
                let k = u32::from_le_bytes([c[4], c[5], c[6], c[7]]);
                (u16::from_le_bytes([c[0], c[1]]), c[2], c[3], k)
            })
            .collect();
        let arch = if cfg!(target_arch = "x86_64") { 0xc000_003e_u32 } else { 0xc000_00b7 };
        let word = |offset: u32| match offset {
            0 => number as u32,
            4 => arch,
            offset => {
                let arg = args[((offset - 16) / 8) as usize];
                if (offset - 16).is_multiple_of(8) { arg as u32 } else { (arg >> 32) as u32 }
            }
        };
        let (mut at, mut loaded) = (0, 0);
        loop {
            let (op, jt, jf, k) = code[at];
            at += 1;
            match op {
                0x20 => loaded = word(k),
                0x54 => loaded &= k,
                0x05 => at += k as usize,
                0x15 => at += usize::from(if loaded == k { jt } else { jf }),
                0x35 => at += usize::from(if loaded >= k { jt } else { jf }),
                0x06 => return u64::from(k),
                other => panic!("unknown instruction {other:#x}"),
            }
        }
    }

    /// What an engine's library makes of the document.
    fn contained(document: &Value, name: &str, args: &[u64; 6]) -> bool {
        let of_name = document["syscalls"].as_array().unwrap().iter();
        of_name.filter(|rule| rule["names"][0] == name && rule["action"] == "SCMP_ACT_ALLOW").any(|rule| {
            rule["args"].as_array().unwrap().iter().all(|test| {
                let arg = args[test["index"].as_u64().unwrap() as usize];
                let value = test["value"].as_u64().unwrap();
                match test["op"].as_str().unwrap() {
                    "SCMP_CMP_EQ" => arg == value,
                    "SCMP_CMP_MASKED_EQ" => arg & value == test["valueTwo"].as_u64().unwrap(),
                    other => panic!("{other}"),
                }
            })
        })
    }

    /// Calls whose arguments decide, and some that are always or never allowed.
    const CALLS: &[(&str, libc::c_long)] = &[
        ("clone", libc::SYS_clone),
        ("ioctl", libc::SYS_ioctl),
        ("mknodat", libc::SYS_mknodat),
        ("socket", libc::SYS_socket),
        ("socketpair", libc::SYS_socketpair),
        ("personality", libc::SYS_personality),
        ("read", libc::SYS_read),
        ("keyctl", libc::SYS_keyctl),
        ("unshare", libc::SYS_unshare),
        ("mount", libc::SYS_mount),
        ("ptrace", libc::SYS_ptrace),
        ("clone3", libc::SYS_clone3),
        ("prlimit64", libc::SYS_prlimit64),
    ];

    /// Numbers near those the policy speaks of, and any.
    fn argument() -> impl Strategy<Value = u64> {
        let near = prop::sample::select(vec![
            0,
            1,
            2,
            10,
            16,
            40,
            0x5412,
            0x541c,
            0x5413,
            0x2000,
            0x6000,
            0x8000,
            0xffff_ffff,
            262_144,
            0x1000_0000,
            0x2_0000,
            0x4000_0000,
            0x0200_0000,
            0x1200_0011,
        ]);
        let high = prop::sample::select(vec![0_u64, 0, 1 << 32, 0x9900_0000 << 32]);
        prop_oneof![
            (near.clone(), high).prop_map(|(low, high)| low | high),
            (near, 0..64_u32).prop_map(|(low, bit)| low ^ (1 << bit)),
            any::<u64>(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn containers_and_native_walls_allow_the_same(
            call in 0..CALLS.len(),
            args in prop::array::uniform6(argument()),
        ) {
            thread_local!(static DOCUMENT: Value = serde_json::from_str(&profile().unwrap()).unwrap());
            let (name, number) = CALLS[call];
            let inside = DOCUMENT.with(|document| contained(document, name, &args));
            prop_assert_eq!(inside, native(number, &args) == ALLOW, "{} {:x?}", name, args);
        }
    }

    #[test]
    fn what_decides_is_spelled_out_once() {
        let document: Value = serde_json::from_str(&profile().unwrap()).unwrap();
        assert_eq!(document["defaultErrnoRet"], 38);
        assert_eq!(document["architectures"].as_array().unwrap().len(), 1);
        let rules = document["syscalls"].as_array().unwrap();
        let named = |name: &str| rules.iter().filter(|rule| rule["names"][0] == name).collect::<Vec<_>>();
        assert_eq!(named("clone").len(), 1, "{:#?}", named("clone"));
        assert_eq!(named("keyctl")[0]["action"], "SCMP_ACT_ERRNO");
        assert_eq!(named("keyctl")[0]["errnoRet"], 1);
        assert!(named("ioctl").len() < 64 && named("clone3").is_empty());
        assert!(rules.len() < 1000, "{} rules", rules.len());
    }
}
