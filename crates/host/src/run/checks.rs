//! Checks on the result: those asked for, and those the repository's shape suggests; run by the host, behind the same
//! walls, in trees of their own. What they mean is decided by comparing trees; what the agent says is set beside it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use holon_checks::coverage::CoverageReports;
use holon_checks::report_files::with_case_files;
use holon_checks::runner::{self, RunnerReport, TestRunner};
use holon_checks::{CheckEvidence, CheckExecution, NeededRun, PrintedLines, ReportLocations, failing_part};
use holon_core::claims;
use holon_core::coverage::{ChangeCoverage, EVIDENCE as COVERAGE, of_change};
use holon_core::event::EventBody;
use holon_core::manifest::{CheckOrigin, CheckRecord, ComparisonRun, VerificationReport, VerificationState};
use holon_core::patch::named_paths;
use holon_core::weakened::weakened;
use holon_sandbox::isolation::{PayloadEnding, PayloadNetwork};

use super::ActiveRun;
use super::baseline::{BaselineStore, StoredBaseline};
use super::check_reports::fresh_reports;
use super::check_tree::{CheckTree, CheckedChange, TreeKind};
use super::collect::CollectedResult;
use super::output::not_started;
use super::snapshot::RunStage;
use super::verdict::RunVerdict;
use crate::error::HostError;
use crate::plan::RunPlan;
use crate::shape;
use crate::store::write_atomic;

/// Longest time for a check that was asked for.
const ASKED_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Longest time for one that nobody asked for.
const FOUND_LIMIT: Duration = Duration::from_secs(10 * 60);
/// What a shell answers when the program is not there or cannot be run.
const NOT_RUNNABLE: [i32; 2] = [126, 127];
/// Most bytes of what a failing check printed that are told to an agent.
const SAID: usize = 2_500;
/// How much of what a check printed is read for its cases: runners sum up at the end.
const READ: u64 = 8 << 20;
/// Lines kept of a failing check whose cases are not known.
const LAST_LINES: usize = 8;

impl RunPlan {
    /// Commands that check the workspace: those asked for, else those that fit its shape.
    pub fn checking(&self) -> Vec<(CheckOrigin, String)> {
        if self.checks.is_empty() && self.auto_checks {
            let found = shape::checks(&self.workspace).into_iter();
            return found.map(|check| (CheckOrigin::Found, check)).collect();
        }
        self.checks.iter().map(|check| (CheckOrigin::Asked, check.clone())).collect()
    }
}

/// All checks of a run, and the trees they run in.
pub(super) struct CheckSession<'a> {
    pub(super) change: CheckedChange<'a>,
    /// The checks, in order.
    all: Vec<(CheckOrigin, String)>,
    /// How many of them ran on the tree before the change.
    based: usize,
    /// Whether that is asked of every check, also where nothing else asks for it.
    pub(super) always_based: bool,
    /// The names of their baselines, once they were looked for.
    keys: Option<Option<Vec<String>>>,
    trees: BTreeMap<TreeKind, CheckTree>,
    /// How many trees were made.
    made: usize,
    /// When all of them must be over.
    end: Option<Instant>,
    /// Lines that ran on the result.
    coverage: CoverageReports,
}

impl<'a> CheckSession<'a> {
    pub(super) fn new(
        change: CheckedChange<'a>,
        all: Vec<(CheckOrigin, String)>,
        end: Option<Instant>,
    ) -> Self {
        Self {
            change,
            all,
            based: 0,
            always_based: false,
            keys: None,
            trees: BTreeMap::new(),
            made: 0,
            end,
            coverage: CoverageReports::default(),
        }
    }
}

/// One check to run.
pub(super) struct OneCheck<'c> {
    pub(super) number: usize,
    pub(super) origin: CheckOrigin,
    pub(super) command: &'c str,
}

impl OneCheck<'_> {
    /// Its longest time.
    pub(super) fn limit(&self) -> Duration {
        if self.origin == CheckOrigin::Asked { ASKED_LIMIT } else { FOUND_LIMIT }
    }

    pub(super) fn log(&self, suffix: &str) -> String {
        format!("check-{}{suffix}.log", self.number)
    }
}

impl ActiveRun<'_> {
    /// Runs every check. The patch was made before, and no check sees the layers it was made from.
    pub(super) fn run_checks(
        &mut self,
        stage: &mut RunStage,
        found: &CollectedResult,
        verdict: &mut RunVerdict,
    ) -> Result<(), HostError> {
        let changed = !found.patch.bytes.is_empty() && self.plan.profile.access.delivers();
        let mut known = VerificationReport {
            claims: claims::of_verification(&self.summary()),
            weakened: if changed { weakened(&found.patch.bytes) } else { Vec::new() },
            tests_may_change: self.plan.tests_may_change,
            variables: self.plan.spec.context.env.keys().cloned().collect(),
            host_network: self.network() == PayloadNetwork::Host,
            ..VerificationReport::default()
        };
        for weaker in known.weakened.clone() {
            self.warn(format!("weaker tests: {weaker}"));
        }
        let mut all = self.plan.checking();
        if !changed {
            all.retain(|(origin, _)| *origin == CheckOrigin::Asked);
        }
        if let Some(changes) = found.changes.as_ref().filter(|_| all.len() > 1) {
            let touched: Vec<_> =
                changes.entries.iter().map(|change| change.path.to_string_lossy()).collect();
            let touched: Vec<&str> = touched.iter().map(AsRef::as_ref).collect();
            let first = shape::of(&self.plan.workspace).checks_for(&touched);
            // The order of checks that were asked for is the user's.
            all.sort_by_key(|(origin, check)| *origin == CheckOrigin::Found && !first.contains(check));
        }
        let commands: Vec<String> = all.iter().map(|(_, command)| command.clone()).collect();
        let change = CheckedChange::of(found.changes.as_ref(), &self.plan.workspace, &commands);
        if changed && !all.is_empty() {
            known.definitions.clone_from(&change.as_it_was.definitions);
        }
        let mut checking = CheckSession::new(change, all, None);
        if !checking.change.is_some() {
            // What there is to run is the untouched tree.
            self.beside = None;
        }
        known.checks = self.each_check(stage, &mut checking)?;
        known.coverage = self.coverage_of(&checking, &found.patch.bytes)?;
        self.judge_checks(&checking.change, &mut known, verdict);
        if known.state == VerificationState::Unverified {
            self.warn("the summary claims a verification that no check of the host supports");
        }
        self.manifest.metadata.verification = Some(known);
        Ok(())
    }

    /// How much of the change tests ran; what the reports say about its files is kept beside the checks' logs.
    fn coverage_of(
        &mut self,
        checking: &CheckSession<'_>,
        patch: &[u8],
    ) -> Result<Option<ChangeCoverage>, HostError> {
        let paths = named_paths(patch);
        let known = checking.coverage.about(paths.iter().map(String::as_str));
        let Some(found) = of_change(patch, &known) else { return Ok(None) };
        let text = serde_json::to_vec(&known).unwrap_or_default();
        write_atomic(&self.folder.evidence().join(COVERAGE), &text)?;
        if !found.not_run.is_empty() {
            let names: Vec<String> = found.not_run.iter().take(5).map(ToString::to_string).collect();
            let more = found.not_run.len().saturating_sub(names.len());
            let more = if more > 0 { format!(" and {more} more files") } else { String::new() };
            self.warn(format!("changed lines that no test ran: {}{more}", names.join("; ")));
        }
        Ok(Some(found))
    }

    /// Runs checks one after the other, each for its own time and none beyond the end of all.
    pub(super) fn each_check(
        &mut self,
        stage: &mut RunStage,
        checking: &mut CheckSession<'_>,
    ) -> Result<Vec<CheckRecord>, HostError> {
        let mut ran = Vec::new();
        for (number, (origin, command)) in checking.all.clone().into_iter().enumerate() {
            if self.cancel.is_cancelled() {
                break;
            }
            let check = OneCheck { number: number + 1, origin, command: &command };
            ran.extend(self.one_check(stage, &check, checking)?);
        }
        Ok(ran)
    }

    /// Runs one check on every tree that is needed to say what it means; `None` for one that cannot be run and was not
    /// asked for.
    fn one_check(
        &mut self,
        stage: &mut RunStage,
        check: &OneCheck<'_>,
        checking: &mut CheckSession<'_>,
    ) -> Result<Option<CheckRecord>, HostError> {
        let (result, duration_ms) = self.run_on(stage, check, checking, TreeKind::Result, "")?;
        let command = check.command;
        let exit_code = result.exit;
        if check.origin == CheckOrigin::Found && exit_code.is_some_and(|code| NOT_RUNNABLE.contains(&code)) {
            self.warn(format!("`{command}` fits this repository, but cannot be run here"));
            return Ok(None);
        }
        self.events.emit(EventBody::CheckRan { command: command.to_owned(), exit_code, duration_ms });
        let mut run = CheckRecord {
            command: command.to_owned(),
            origin: check.origin,
            exit_code,
            duration_ms,
            cases: result.counts(),
            ..CheckRecord::default()
        };
        let mut evidence = CheckEvidence {
            changed: checking.change.is_some(),
            touched: checking.change.as_it_was.is_touched(),
            doubt: checking.change.as_it_was.leaves_doubt(),
            ends_process: checking.change.as_it_was.ends_process,
            ends_well: checking.change.as_it_was.ends_well,
            runner: runner::recognise(command),
            result,
            ..CheckEvidence::default()
        };
        let over = self.cancel;
        if let Some((kept, cached)) = self.beside.as_mut().and_then(|beside| beside.answer(command, over)) {
            run.baseline = other(&kept.ran, kept.duration_ms, cached);
            evidence.baseline = Some(kept.ran);
        } else if checking.always_based && checking.change.is_some() && !over.is_cancelled() {
            self.one_more(stage, check, checking, NeededRun::Baseline, &mut evidence, &mut run)?;
        }
        while let Some(needed) = evidence.needed().filter(|_| !self.cancel.is_cancelled()) {
            self.one_more(stage, check, checking, needed, &mut evidence, &mut run)?;
        }
        let (verdict, differences) = evidence.verdict();
        (run.verdict, run.differences) = (Some(verdict), differences);
        run.rewritten = evidence.rewritten().into_iter().map(str::to_owned).collect();
        if exit_code != Some(0) && run.differences.is_empty() && evidence.result.report.failing.is_empty() {
            run.last_lines = runner::last_lines(&self.printed(&check.log("")), LAST_LINES);
        }
        Ok(Some(run))
    }

    /// Makes a further run that the evidence asks for.
    fn one_more(
        &mut self,
        stage: &mut RunStage,
        check: &OneCheck<'_>,
        checking: &mut CheckSession<'_>,
        needed: NeededRun,
        evidence: &mut CheckEvidence,
        run: &mut CheckRecord,
    ) -> Result<(), HostError> {
        match needed {
            NeededRun::Baseline => {
                let (kept, cached) = self.baseline(stage, check, checking)?;
                run.baseline = other(&kept.ran, kept.duration_ms, cached);
                evidence.baseline = Some(kept.ran);
            }
            NeededRun::AsItWas => {
                let (ran, took) = self.run_on(stage, check, checking, TreeKind::AsItWas, "-as-it-was")?;
                run.as_it_was = other(&ran, took, false);
                evidence.as_it_was = Some(ran);
            }
            // Once more on the same tree means on one without what the first run left.
            NeededRun::AsItWasAgain => {
                checking.trees.remove(&TreeKind::AsItWas);
                let (ran, _) = self.run_on(stage, check, checking, TreeKind::AsItWas, "-as-it-was-again")?;
                evidence.as_it_was_again = Some(ran);
            }
            NeededRun::Again => {
                checking.trees.remove(&TreeKind::Result);
                let (ran, _) = self.run_on(stage, check, checking, TreeKind::Result, "-again")?;
                evidence.again = Some(ran);
            }
        }
        Ok(())
    }

    /// What a check says of the tree before the change, and whether that was known. Where it is not, the checks before this
    /// one run there, too: it may need what they leave.
    fn baseline(
        &mut self,
        stage: &mut RunStage,
        check: &OneCheck<'_>,
        checking: &mut CheckSession<'_>,
    ) -> Result<(StoredBaseline, bool), HostError> {
        let kept = BaselineStore::of(self.host);
        if checking.keys.is_none() {
            let commands: Vec<String> = checking.all.iter().map(|(_, command)| command.clone()).collect();
            let ground = self.baseline_ground(stage).filter(|_| checking.change.begins_at_workspace());
            checking.keys = Some(ground.and_then(|ground| ground.keys(&commands)));
        }
        let keys = checking.keys.clone().flatten().unwrap_or_default();
        if let Some(known) = keys.get(check.number - 1).and_then(|key| kept.get(key)) {
            return Ok((known, true));
        }
        loop {
            let at = checking.based;
            let (origin, command) = checking.all[at].clone();
            let one = OneCheck { number: at + 1, origin, command: &command };
            let (ran, duration_ms) = self.run_on(stage, &one, checking, TreeKind::Base, "-baseline")?;
            checking.based += 1;
            let said = said(&self.folder.evidence().join(one.log("-baseline")));
            let made = StoredBaseline { ran, duration_ms, said };
            if let Some(key) = keys.get(at) {
                kept.put(key, &made);
            }
            if one.number == check.number {
                return Ok((made, false));
            }
        }
    }

    /// Runs a check in one tree, and reads what it says.
    fn run_on(
        &mut self,
        stage: &mut RunStage,
        check: &OneCheck<'_>,
        checking: &mut CheckSession<'_>,
        kind: TreeKind,
        suffix: &str,
    ) -> Result<(CheckExecution, u64), HostError> {
        let mut tree = match checking.trees.remove(&kind) {
            Some(tree) => tree,
            None => {
                checking.made += 1;
                self.check_tree(stage, &checking.change, kind, checking.made)?
            }
        };
        let until = Instant::now() + check.limit();
        let until = checking.end.map_or(until, |end| end.min(until));
        let began = Instant::now();
        let log = check.log(suffix);
        let ending = tree.on(stage, |stage| self.run_command(stage, &log, check.command, until));
        let rewritten = super::check_rewritten::rewritten(&checking.change, tree.snapshot(), kind);
        let reports = self.reports_of(check.command, &checking.change, &mut tree, kind);
        checking.trees.insert(kind, tree);
        let exit = match ending? {
            PayloadEnding::Code(code) => Some(code),
            PayloadEnding::Signal(_) | PayloadEnding::Killed => None,
        };
        if kind == TreeKind::Result {
            for text in reports.values() {
                checking.coverage.add(text);
            }
        }
        let (report, told) = read_run(check.command, &self.folder.evidence().join(&log), &reports);
        Ok((CheckExecution { exit, report, rewritten, told }, began.elapsed().as_millis() as u64))
    }

    /// What the run that just ended wrote into report files.
    fn reports_of(
        &self,
        command: &str,
        change: &CheckedChange<'_>,
        tree: &mut CheckTree,
        kind: TreeKind,
    ) -> BTreeMap<String, String> {
        // A pattern that is none was refused when the run was planned.
        let Ok(places) = ReportLocations::of(command, &self.plan.check_reports) else {
            return BTreeMap::new();
        };
        let mut seen = std::mem::take(&mut tree.seen);
        let fresh = fresh_reports(change, tree.snapshot(), kind, &places, &mut seen);
        tree.seen = seen;
        fresh
    }

    fn run_command(
        &mut self,
        stage: &mut RunStage,
        log: &str,
        command: &str,
        until: Instant,
    ) -> Result<PayloadEnding, HostError> {
        stage.snapshot.renew()?;
        stage.renew_caches()?;
        let ground = self.check_ground(self.record.id.as_str());
        let job = self.check_job(stage, &runner::unstopped(command), ground, &self.folder.left());
        let payload = stage.backend.start(&job).map_err(|r| not_started(&r))?;
        let log = self.folder.evidence().join(log);
        let watched = vec![self.folder.layers()];
        let allowance = self.allowance(stage, until);
        let attended = self.attend(payload, None, &allowance, &watched, &log, false)?;
        Ok(if attended.stopped.is_some() { PayloadEnding::Killed } else { attended.finished.ending })
    }

    /// The end of what a check printed.
    fn printed(&self, log: &str) -> String {
        read_end(&self.folder.evidence().join(log)).unwrap_or_default()
    }

    /// The summary as it was accepted.
    fn summary(&self) -> String {
        let bytes = std::fs::read(self.folder.output().join("summary.md")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// What a further run comes to in the manifest.
fn other(ran: &CheckExecution, duration_ms: u64, cached: bool) -> Option<ComparisonRun> {
    Some(ComparisonRun { exit_code: ran.exit, duration_ms, cases: ran.counts(), cached })
}

/// What a check said, from what it printed and from the reports it wrote.
pub(super) fn read_run(
    command: &str,
    log: &Path,
    reports: &BTreeMap<String, String>,
) -> (RunnerReport, PrintedLines) {
    let runner = runner::recognise(command).unwrap_or(TestRunner::Other);
    let printed = read_end(log).unwrap_or_default();
    let report = with_case_files(runner::read(runner, &printed), reports.values().map(String::as_str));
    (report, PrintedLines::of(&printed))
}

/// The part of what a check printed that says what failed.
pub(super) fn said(log: &Path) -> String {
    failing_part(&read_end(log).unwrap_or_default(), SAID)
}

fn read_end(path: &Path) -> std::io::Result<String> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
    let mut bytes = Vec::new();
    file.take(READ).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
