//! The audit log as it is stored.

use holon_store::ChainVerdict;
use holon_store::chain;

use super::on_every_backend;
use super::stage::note;

#[test]
fn inv_13_the_stored_chain_is_whole_and_grows_over_restarts() {
    on_every_backend(|stage| {
        assert_eq!(stage.backend.verify_audit().unwrap(), ChainVerdict::Whole { head: None });
        stage.write(vec![note("one"), note("two")]).unwrap();
        let mut again = stage.again();
        again.commit(&[vec![note("three")], vec![note("four")]]).unwrap();
        let head = again.audit_head().unwrap().unwrap();
        assert_eq!(head.seq, 4);
        assert_eq!(stage.backend.verify_audit().unwrap(), ChainVerdict::Whole { head: Some(head) });
        let entries = again.audit(0, 100, Some("t-1")).unwrap();
        assert_eq!(
            entries.iter().map(|e| e.note.action.as_str()).collect::<Vec<_>>(),
            ["one", "two", "three", "four"]
        );
        assert!(matches!(chain::verify(&entries, []), ChainVerdict::Whole { .. }));
        assert!(again.audit(0, 100, Some("t-2")).unwrap().is_empty());
        assert_eq!(again.audit(3, 1, None).unwrap()[0].note.action, "four");
    });
}

#[test]
fn a_group_that_fails_leaves_no_entry() {
    on_every_backend(|stage| {
        stage.write(vec![note("one")]).unwrap();
        let missing = holon_store::StoreWrite::DeleteThread("t-9".parse().unwrap());
        stage.write(vec![note("lost"), missing]).unwrap_err();
        stage.write(vec![note("two")]).unwrap();
        let actions: Vec<String> =
            stage.backend.audit(0, 10, None).unwrap().into_iter().map(|e| e.note.action).collect();
        assert_eq!(actions, ["one", "two"]);
        assert!(matches!(stage.backend.verify_audit().unwrap(), ChainVerdict::Whole { .. }));
    });
}
