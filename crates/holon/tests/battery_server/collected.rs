//! Spans and counts in a real collector, which reads them with the protocol's own definitions and prints what it read.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use holon_testkit::{current_test, skip_security, wait_until};

use crate::stage::ServeStage;

/// Where the collector is; the battery's set-up puts it there.
const COLLECTOR: &str = "HOLON_ROTEL";
const LONG: Duration = Duration::from_secs(60);

/// The program itself, which its package keeps beside its Python files.
fn collector() -> Option<PathBuf> {
    let named = PathBuf::from(std::env::var_os(COLLECTOR)?);
    let libraries = fs::read_dir(named.parent()?.parent()?.join("lib")).ok()?.flatten();
    libraries
        .map(|library| library.path().join("site-packages/rotel/rotel-agent"))
        .find(|path| path.is_file())
}

/// Ends with the test.
struct CollectorProcess(Child);

impl Drop for CollectorProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn start(program: &Path, folder: &Path, port: u16) -> (CollectorProcess, PathBuf) {
    let printed = folder.join("collected.txt");
    let file = File::create(&printed).unwrap();
    let child = Command::new(program)
        .args(["start", "--exporter", "blackhole", "--debug-log", "traces", "--debug-log", "metrics"])
        .args(["--debug-log-verbosity", "detailed", "--otlp-http-endpoint", &format!("127.0.0.1:{port}")])
        .args(["--otlp-grpc-endpoint", &format!("127.0.0.1:{}", free_port())])
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .spawn()
        .expect("rotel");
    let listens = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
    assert!(wait_until(LONG, listens), "{}", fs::read_to_string(&printed).unwrap_or_default());
    (CollectorProcess(child), printed)
}

#[test]
fn a_real_collector_understands_all_of_it() {
    let Some(program) = collector() else {
        return skip_security(&current_test(), "there is no rotel: `cargo xtask battery server` installs it");
    };
    let mut stage = ServeStage::new();
    let port = free_port();
    let (_collector, printed) = start(&program, &stage.env.work(), port);
    let url = format!("http://127.0.0.1:{port}");
    let script = "- tool: read_file\n  args: { path: a.txt }\n- text: It says one.\n  usage: { input: 100, output: 5 }\n";
    let tape = stage.env.write("work/chat.yaml", script);
    stage = stage.with(&["--replay", tape.to_str().unwrap()], &[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    stage.say(&stage.thread(), "What does it say?", "plan");
    let server = stage.server.take().unwrap();
    server.signal(rustix::process::Signal::TERM);
    let output = server.wait();
    output.assert_code(0);
    assert!(!output.stderr.contains("telemetry"), "the collector took everything: {}", output.stderr);

    let cassette = stage.env.write("work/run.yaml", "- tool: finish\n  args: { summary: Nothing to do. }\n");
    let run = ["run", "--mode", "execute", "--goal", "Look", "--replay"];
    let call = stage.env.holon(run).arg(cassette).cwd(stage.repo.path());
    let output = call.env("OTEL_EXPORTER_OTLP_ENDPOINT", &url).run();
    assert!(!output.stderr.contains("telemetry"), "{}", output.stderr);

    let said = || fs::read_to_string(&printed).unwrap();
    let wanted = [
        "-> service.name: Str(holon)",
        "InstrumentationScope holon",
        ": turn plan",
        ": run execute",
        ": execute_tool read_file",
        "Kind           : SPAN_KIND_CLIENT",
        "-> gen_ai.operation.name: Str(chat)",
        "-> gen_ai.usage.input_tokens: Int(100)",
        "-> gen_ai.response.finish_reasons: Slice(Str(tool_calls))",
        "-> holon.mode: Str(execute)",
        "mode_invocations_total",
        "mode_failures_total",
        "mode_retries_total",
        "mode_latency_ms",
    ];
    let missing = || wanted.iter().filter(|text| !said().contains(**text)).collect::<Vec<_>>();
    assert!(wait_until(LONG, || missing().is_empty()), "{:?} is missing in\n{}", missing(), said());
    assert!(!said().contains("What does it say"), "{}", said());
}
