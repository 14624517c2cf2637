//! git over smart HTTP, with the real program on both sides: a server on loopback that hands each request to git's own backend.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use holon_testkit::{for_each_identity, run_git};

use super::{BIN, line, printed};

/// A server of repositories that remembers what it was asked.
struct GitHost {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl GitHost {
    fn start(root: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.2:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), root, seen) = (stream, root.clone(), Arc::clone(&seen)) else { return };
                std::thread::spawn(move || serve(stream, &root, &seen));
            }
        });
        Self { address, asked }
    }
}

/// One request on a connection of its own.
fn serve(mut stream: TcpStream, root: &Path, seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut words = first.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let header = |name: &str| headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
    let mut body = vec![0; header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let packed = header("content-encoding").unwrap_or_default();
    seen.lock().unwrap().push(format!("{method} {target} {} {packed}", body.len()));
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut backend = Command::new("git");
    backend.args(["-c", "safe.directory=*", "http-backend"]).env_clear();
    backend.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    backend.env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1");
    backend.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    backend.env("REQUEST_METHOD", method).env("PATH_INFO", path).env("QUERY_STRING", query);
    backend.env("CONTENT_TYPE", header("content-type").unwrap_or_default());
    backend.env("CONTENT_LENGTH", body.len().to_string()).env("HTTP_CONTENT_ENCODING", packed);
    backend.env("GIT_PROTOCOL", header("git-protocol").unwrap_or_default());
    let mut child =
        backend.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let writing = std::thread::spawn(move || drop(stdin.write_all(&body)));
    let said = child.wait_with_output().ok()?.stdout;
    writing.join().ok()?;
    let status = if said.starts_with(b"Status: ") { "404 Not Found" } else { "200 OK" };
    stream.write_all(format!("HTTP/1.1 {status}\r\nConnection: close\r\n").as_bytes()).ok()?;
    stream.write_all(&said).ok()
}

#[test]
fn git_fetches_the_repository_of_a_remote_and_nothing_else_of_its_host() {
    for_each_identity(BIN, |env| {
        let root = env.root().join("served");
        let one = root.join("me/a.git");
        std::fs::create_dir_all(&one).unwrap();
        run_git(&one, ["init", "--quiet", "--bare", "--initial-branch=main", "--template="]);
        let tree = run_git(&one, ["hash-object", "-t", "tree", "-w", "/dev/null"]);
        let commit = |parent: &str, words: &str| {
            let mut arguments = vec!["commit-tree", tree.trim(), "-m", words];
            if !parent.is_empty() {
                arguments.extend(["-p", parent]);
            }
            run_git(&one, arguments).trim().to_owned()
        };
        let first = commit("", "first");
        run_git(&one, ["update-ref", "refs/heads/main", &first]);
        run_git(&one, ["update-ref", "refs/heads/late", &commit(&first, "late")]);
        std::fs::create_dir_all(root.join("me/b.git")).unwrap();
        run_git(&root.join("me/b.git"), ["init", "--quiet", "--bare", "--template="]);
        let host = GitHost::start(root);
        let base = format!("http://{}", host.address);
        let agent = env.agent(
            "fetches.sh",
            &format!(
                "#!/bin/sh\necho '# Summary\nFetched.' > /holon/output/summary.md\ncd /tmp\n\
                 export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n\
                 git clone -q --single-branch {base}/me/a.git a && echo \"cloned $(git -C a rev-list --count HEAD)\"\n\
                 for n in $(seq 60); do git -C a commit -q --allow-empty -m $n; done\n\
                 git -C a fetch -q origin late && echo \"late $(git -C a rev-list --count FETCH_HEAD)\"\n\
                 git -C a -c protocol.version=0 fetch -q {base}/me/a.git late && echo 'former fine'\n\
                 git -C a push -q origin HEAD:refs/heads/away 2>/dev/null; echo \"push $?\"\n\
                 git ls-remote {base}/me/b.git >/dev/null 2>&1; echo \"other $?\"\n"
            ),
        );
        let repo = env.repo().file("a", "1\n").commit("first");
        repo.git(["remote", "add", "origin", &format!("{base}/me/a.git")]);
        let call = env.holon(["run", "--goal", "x", "--json", "--no-auto-checks", "--agent"]).arg(&agent);
        let run = call.args(["--allow-net", "git:origin"]).cwd(repo.path()).run();
        run.assert_code(0);
        let lines = printed(&run);
        assert_eq!(line(&lines, "cloned "), "cloned 1", "{lines:#?}");
        assert_eq!(line(&lines, "late "), "late 2", "{lines:#?}");
        assert_eq!(line(&lines, "former "), "former fine", "{lines:#?}");
        assert_ne!(line(&lines, "push "), "push 0", "{lines:#?}");
        assert_ne!(line(&lines, "other "), "other 0", "{lines:#?}");
        let asked = host.asked.lock().unwrap().clone();
        assert!(
            !asked.iter().any(|one| one.contains("/me/b.git") || one.contains("receive-pack")),
            "{asked:#?}"
        );
        // What git packs arrives unpacked: it was read on the way.
        let large = asked.iter().any(|one| {
            let length = one.split(' ').nth(2).and_then(|length| length.parse::<usize>().ok());
            one.starts_with("POST") && length > Some(1024)
        });
        assert!(large && asked.iter().all(|one| !one.ends_with("gzip")), "{asked:#?}");
    });
}
