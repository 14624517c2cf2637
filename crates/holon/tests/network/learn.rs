//! What a command needs, found out by running it once.

use holon_testkit::for_each_identity;

use super::clients::clients;
use super::{AskedServer, BIN};

#[test]
fn what_a_command_reaches_becomes_the_permits_to_keep() {
    for_each_identity(BIN, |env| {
        let (registry, other) = (AskedServer::start(), AskedServer::start());
        let (own, shut) = (registry.address, other.address);
        // Of the clients of this machine none is asked.
        let none = ["pip", "pip3", "uv", "pnpm", "yarn", "go"].map(|name| (name, "exit 1".to_owned()));
        let npm = ("npm", format!("echo '{{\"registry\":\"http://{own}/\"}}'"));
        let path = clients(env, &[&none[..], &[npm]].concat());
        let repo = env.repo().file("a", "1\n").commit("first");
        let command = format!("curl -s http://{own}/left-pad; curl -s http://{shut}/x; echo changed > a");
        let learn = |more: &[&str], command: &str| {
            let call = env.holon(["network", "learn"]).args(more).args(["--", "sh", "-c", command]);
            call.env("PATH", &path).cwd(repo.path()).run()
        };
        let run = learn(&[], &command);
        run.assert_code(0).assert_stdout("--allow-net npm\n").assert_stdout("allow = [\"npm\"]");
        run.assert_stdout(&format!("refused: {shut} is not permitted"));
        assert_eq!((registry.asked().len(), other.asked().len()), (1, 0));
        assert_eq!(repo.read("a"), b"1\n");
        learn(&["--json"], "exit 3").assert_code(1).assert_stdout("\"command_succeeded\":false");
        learn(&[], "true").assert_code(0).assert_stdout("needs no permit");
    });
}
