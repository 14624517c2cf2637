//! A run of every kind that there is: what its manifest says is true.

use crate::runs::all;

#[test]
fn runs_of_every_kind_are_sound() {
    for make in all() {
        let made = make();
        assert_eq!(made.verify(), [], "{}", made.name);
        assert!(made.manifest()["run_id"].is_string(), "{}", made.name);
    }
}
