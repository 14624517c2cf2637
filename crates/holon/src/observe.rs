//! Whoever watches this process: the log on standard error, and a collector where the user named one.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use holon_host::ConfigurationFiles;
use holon_telemetry::{
    Counters, Exporter, Observer, TelemetrySettings, TraceCaller, TraceFilter, TraceSpan, start_host_trace,
};

use crate::session;
use crate::terminal::{Terminal, visible};

/// How long the end of the process waits for a collector.
const PATIENCE: Duration = Duration::from_secs(2);

static WATCH: OnceLock<Option<Arc<ProcessObserver>>> = OnceLock::new();

/// Counts, and passes on what is wanted.
#[derive(Debug)]
struct ProcessObserver {
    /// Where the lines of requests' logs go, when they are wanted there.
    log: Option<Terminal>,
    counters: Counters,
    exporter: Option<Exporter>,
    /// Who started this process, when they have a trace of their own.
    caller: Option<TraceCaller>,
}

/// Who hears of work in modes; nobody unless a log or a collector is wanted.
pub(crate) fn observer(configuration: &ConfigurationFiles) -> Option<Arc<dyn Observer>> {
    WATCH.get_or_init(|| watch(configuration)).clone().map(|watch| watch as Arc<dyn Observer>)
}

/// Begins to write down what the host does, where `HOLON_TRACE` asks for it.
pub(crate) fn start_trace(terminal: &Terminal) {
    let Some(wanted) = session::variable("HOLON_TRACE") else { return };
    match wanted.to_string_lossy().parse::<TraceFilter>() {
        Ok(filter) => start_host_trace(filter),
        Err(error) => {
            let words =
                format!("warning: nothing is traced: HOLON_TRACE: {error}, as in HOLON_TRACE=host=debug");
            terminal.say(&visible(&words));
        }
    }
}

/// Sends what is left; a collector that is slow or away is not waited for.
pub(crate) fn finish() {
    if let Some(Some(ProcessObserver { exporter: Some(exporter), .. })) = WATCH.get().map(Option::as_deref) {
        exporter.finish(PATIENCE);
    }
}

fn watch(configuration: &ConfigurationFiles) -> Option<Arc<ProcessObserver>> {
    let terminal = Terminal::again();
    let log = terminal.json.then(|| terminal.clone());
    let exporter = settings(&terminal, configuration).map(|settings| {
        Exporter::new(settings, Box::new(move |words| terminal.say(&format!("warning: telemetry: {words}"))))
    });
    (log.is_some() || exporter.is_some())
        .then(|| Arc::new(ProcessObserver { log, counters: Counters::default(), exporter, caller: caller() }))
}

/// Who started this process, as the variables tell that carry a trace from one program to the next.
fn caller() -> Option<TraceCaller> {
    let said = |name: &str| session::variable(name).and_then(|value| value.into_string().ok());
    TraceCaller::read(&said("TRACEPARENT")?, said("TRACESTATE").as_deref())
}

/// Where to send, if anywhere. Only what the user says counts: a repository has no say in where anything is sent.
fn settings(terminal: &Terminal, configuration: &ConfigurationFiles) -> Option<TelemetrySettings> {
    // What is wrong with the configuration is told by whatever is done with it.
    let own = configuration.of_user(&session::variable).ok()?.text("telemetry.otlp_endpoint");
    let variable = |name: &str| session::variable(name).and_then(|value| value.into_string().ok());
    TelemetrySettings::read(own.as_deref(), variable).unwrap_or_else(|error| {
        terminal.say(&format!("warning: telemetry: {error}"));
        None
    })
}

impl Observer for ProcessObserver {
    fn logged(&self, line: &str) {
        if let Some(terminal) = &self.log {
            terminal.line(line);
        }
    }

    fn started(&self, mode: &str, attempt: u32) {
        self.counters.started(mode, attempt);
    }

    fn ended(&self, mode: &str, ok: bool, duration_ms: u64) {
        self.counters.ended(mode, ok, duration_ms);
        if let Some(exporter) = &self.exporter {
            exporter.counts(self.counters.all());
        }
    }

    fn traces(&self) -> bool {
        self.exporter.as_ref().is_some_and(Exporter::traces)
    }

    fn caller(&self) -> Option<&TraceCaller> {
        self.caller.as_ref()
    }

    fn spans(&self, spans: Vec<TraceSpan>) {
        if let Some(exporter) = &self.exporter {
            exporter.spans(spans);
        }
    }
}
