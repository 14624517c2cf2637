#![allow(clippy::unwrap_used, clippy::panic)]
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn log(entries: usize) -> (tempfile::TempDir, AuditTrail) {
    let folder = tempfile::tempdir().unwrap();
    let audit = AuditTrail::of(folder.path());
    for n in 0..entries {
        audit
            .append("holon", "mode_started", json!({"mode": "review", "n": n, "text": "ä \"x\""}), false)
            .unwrap();
    }
    (folder, audit)
}

fn whole(audit: &AuditTrail) -> (u64, usize) {
    match verify(audit, []).unwrap() {
        AuditVerdict::Whole { length, heads, .. } => (length, heads),
        AuditVerdict::Broken { at, problem } => panic!("{at}: {problem}"),
    }
}

#[test]
fn what_was_written_is_there() {
    let (_folder, audit) = log(3);
    assert_eq!(whole(&audit), (3, 1));
    assert_eq!(entries(&audit).unwrap().len(), 3);
    assert_eq!(whole(&log(0).1), (0, 0));
}

#[test]
fn inv_13_flipping_any_byte_is_detected_and_located() {
    let (_folder, audit) = log(4);
    let good = fs::read(audit.path()).unwrap();
    let line_of = |at: usize| 1 + good[..at].iter().filter(|b| **b == b'\n').count() as u64;
    for at in 0..good.len() {
        for bits in [0x01, 0x20, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= bits;
            fs::write(audit.path(), &bad).unwrap();
            let AuditVerdict::Broken { at: found, .. } = verify(&audit, []).unwrap() else {
                panic!("byte {at} ({:?}) was changed by {bits:#x}, and nobody noticed", good[at] as char);
            };
            assert_eq!(found, line_of(at), "byte {at}, changed by {bits:#x}");
        }
    }
}

#[test]
fn inv_13_a_missing_end_is_detected_also_when_the_head_beside_it_is_gone() {
    let (_folder, audit) = log(5);
    let in_a_manifest = audit.written_down().unwrap();
    let good = fs::read_to_string(audit.path()).unwrap();
    for keep in 0..5 {
        let cut: String = good.split_inclusive('\n').take(keep).collect();
        fs::write(audit.path(), cut).unwrap();
        let broken = verify(&audit, []).unwrap();
        assert!(matches!(&broken, AuditVerdict::Broken { at, .. } if *at == keep as u64 + 1), "{broken:?}");
    }
    fs::remove_file(audit.head_path()).unwrap();
    let broken = verify(&audit, [in_a_manifest]).unwrap();
    assert!(matches!(broken, AuditVerdict::Broken { at: 5, .. }), "{broken:?}");
}

#[test]
fn inv_13_a_missing_end_is_not_hidden_by_going_on() {
    for (lines, forged) in [(3, false), (4, false), (5, true)] {
        let (_folder, audit) = log(5);
        let good = fs::read_to_string(audit.path()).unwrap();
        let cut: String = good.split_inclusive('\n').take(lines.min(4)).collect();
        fs::write(audit.path(), cut).unwrap();
        if forged {
            // An end of the same length, chained as it should be, that is not the one that was written.
            let head = audit.written_down().unwrap();
            fs::remove_file(audit.head_path()).unwrap();
            audit.append("holon", "forged", json!({}), false).unwrap();
            fs::write(audit.head_path(), serde_json::to_vec(&head).unwrap()).unwrap();
        }
        audit.append("holon", "later", json!({}), false).unwrap();
        audit.append("holon", "and later", json!({}), false).unwrap();
        let AuditVerdict::Broken { at, .. } = verify(&audit, []).unwrap() else {
            panic!("{lines}: nobody noticed")
        };
        assert_eq!(at, lines as u64 + 1, "where what is missing would be");
    }
}

#[test]
fn inv_13_an_emptied_log_is_not_silently_begun_anew() {
    let (_folder, audit) = log(2);
    fs::write(audit.path(), "").unwrap();
    let refused = audit.append("holon", "x", json!({}), false).unwrap_err().to_string();
    assert!(refused.contains("there were 2 entries"), "{refused}");
}

#[test]
fn half_a_line_of_a_process_that_died_is_no_entry() {
    let (_folder, audit) = log(2);
    let mut file = File::options().append(true).open(audit.path()).unwrap();
    file.write_all(b"{\"seq\":3,\"at\":\"20").unwrap();
    audit.append("holon", "later", json!({}), true).unwrap();
    assert_eq!(whole(&audit), (3, 1));
}

#[test]
fn inv_13_many_writers_at_once_keep_the_chain_whole() {
    let (_folder, audit) = log(0);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let audit = audit.clone();
            scope.spawn(move || {
                for n in 0..25 {
                    audit.append("holon", "test", json!({"writer": writer, "n": n}), false).unwrap();
                }
            });
        }
    });
    assert_eq!(whole(&audit).0, 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn inv_13_no_cut_and_no_swap_goes_unnoticed(from in 0usize..600, to in 0usize..600, swap in any::<bool>()) {
        let (_folder, audit) = log(4);
        let good = fs::read(audit.path()).unwrap();
        let (from, to) = (from % good.len(), to % good.len());
        let mut bad = good.clone();
        if swap {
            bad.swap(from, to);
        } else {
            bad.drain(from.min(to)..from.max(to));
        }
        prop_assume!(bad != good);
        fs::write(audit.path(), &bad).unwrap();
        let noticed = matches!(verify(&audit, []).unwrap(), AuditVerdict::Broken { .. });
        prop_assert!(noticed);
    }
}
