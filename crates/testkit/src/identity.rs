//! Who a test's commands run as.

use std::path::Path;

use crate::{TestEnv, current_test, skip_security};

/// The user and group id of the ordinary user that root's tests play; it needs no entry in /etc/passwd.
pub const ORDINARY_UID: u32 = 23456;

/// Who the commands of an environment run as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestIdentity {
    /// The superuser.
    Root,
    /// Anyone else: [`ORDINARY_UID`] when the tests run as root, else the caller.
    Ordinary,
}

impl TestIdentity {
    /// The identity this test process has.
    pub fn current() -> Self {
        if rustix::process::geteuid().is_root() { Self::Root } else { Self::Ordinary }
    }

    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Ordinary => "ordinary",
        }
    }
}

/// Runs `test` in a fresh environment as root and in another as an ordinary user.
///
/// Root's half is recorded as skipped when the tests run as an ordinary user; the ordinary half always runs.
pub fn for_each_identity(bin: impl AsRef<Path>, mut test: impl FnMut(&TestEnv)) {
    let bin = bin.as_ref();
    match TestEnv::as_root(bin) {
        Some(env) => run_as(&env, &mut test),
        None => skip_security(&current_test(), "the part for root needs the tests to run as root"),
    }
    run_as(&TestEnv::as_ordinary(bin), &mut test);
}

fn run_as(env: &TestEnv, test: &mut impl FnMut(&TestEnv)) {
    // Shown by the harness only when the test fails, where it says which half did.
    eprintln!("--- as {} ---", env.identity().name());
    test(env);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_identity_gets_its_turn() {
        let mut seen = Vec::new();
        for_each_identity("/bin/true", |env| seen.push(env.identity()));
        let expected: &[TestIdentity] = match TestIdentity::current() {
            TestIdentity::Root => &[TestIdentity::Root, TestIdentity::Ordinary],
            TestIdentity::Ordinary => &[TestIdentity::Ordinary],
        };
        assert_eq!(seen, expected);
    }
}
