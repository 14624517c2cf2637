//! The same cases on real overlays of this kernel, in mount namespaces of the test's own: as root, where
//! directory renames become redirects, and in a user namespace, where they become copies.

use std::process::Command;

use crate::world::AgentView;
use crate::{battery, moved, snapshots};

const VARIABLE: &str = "HOLON_TEST_OVERLAY";

/// Runs the last test below in a namespace; reported as skipped where the kernel does not let it.
fn in_namespace(flags: &[&str], kind: &str) {
    let unshare = |more: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(flags).args(["--propagation", "private"]).args(more);
        command
    };
    // Only whether a namespace with an overlay can be had at all; everything else must work.
    let script = "d=$(mktemp -d) && mkdir $d/l $d/u $d/w $d/m && mount -t overlay o \
        -o lowerdir=$d/l,upperdir=$d/u,workdir=$d/w$1 $d/m; r=$?; umount $d/m; chmod -R u+rwx $d; rm -rf $d; exit $r";
    let option = if kind == "user" { ",userxattr" } else { "" };
    let probe = unshare(&["sh", "-c", script, "sh", option]).output();
    if !probe.is_ok_and(|out| out.status.success()) {
        let reason = format!("no overlay in a namespace made with unshare {flags:?}");
        holon_testkit::skip_security(&holon_testkit::current_test(), &reason);
        return;
    }
    let me = std::env::current_exe().unwrap();
    let status = unshare(&[me.to_str().unwrap(), "--exact", "kernel::cases_on_an_overlay", "--nocapture"])
        .env(VARIABLE, kind)
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn inv_05_patch_reproduces_result_on_an_overlay_of_root() {
    if rustix::process::geteuid().is_root() {
        in_namespace(&["-m"], "root");
    } else {
        holon_testkit::skip_security(&holon_testkit::current_test(), "needs root");
    }
}

#[test]
fn inv_05_patch_reproduces_result_on_an_overlay_of_a_user() {
    in_namespace(&["-Urm"], "user");
}

/// The inside of the two tests above, which start this binary again in a namespace; nothing to do anywhere else.
#[test]
fn cases_on_an_overlay() {
    match std::env::var(VARIABLE).as_deref() {
        Ok("root") => all(AgentView::Overlay { by_root: true }),
        Ok("user") => all(AgentView::Overlay { by_root: false }),
        _ => {}
    }
}

fn all(view: AgentView) {
    moved::run_all(view);
    snapshots::a_full_disk_leaves_nothing();
    battery::run_all(view);
}
