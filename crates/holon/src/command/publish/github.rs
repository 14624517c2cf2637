//! `holon publish github`: comments, reviews, pull requests and checks.

use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use holon_attest::{AttestationPolicy, DsseEnvelope, PresentedChange, judge};
use holon_core::digest::sha256;
use holon_core::ids::TaskId;
use holon_git::Git;
use holon_publish::github::{
    EthicsAs, PublishOptions, PublishPart, PublishPolicyVerdict, PublishReport, PublishTools, publish,
};
use holon_publish::review::VerdictReach;
use holon_publish::{PublishTarget, RepoName, VerifiedOutput};

use super::account::{self, ForgeArgs};
use super::source::RunSourceArgs;
use super::tell;
use crate::CommandExit;
use crate::command::overrule::{self, OverrideArgs};
use crate::command::{attest, verify};
use crate::commander::Commander;
use crate::failure::CliFailure;
use crate::session::{self, Session};

const EXAMPLES: &str = "\
Examples:
  # The last run's patch as a pull request, its plan as a comment on issue 12
  holon publish github octocat/hello#12

  # A review on pull request 34; see first what would be posted
  holon publish github octocat/hello#34 --from holon-output --dry-run

  # Push to a fork, open the pull request in the original
  holon publish github octocat/hello --push-to me/hello

In GitHub Actions the repository and pull request come from the environment:
  holon publish github --from holon-output

The token comes from HOLON_GITHUB_TOKEN, GITHUB_TOKEN or GH_TOKEN, or from a GitHub App: HOLON_GITHUB_APP_ID and
HOLON_GITHUB_APP_KEY. It is never printed and never written to a file.

Exit codes: 0 everything is published, 1 something is not (run it again to go on), 2 a person has to look first,
64 the command line is wrong.";

/// Publish a run to GitHub: patch, review, plan, ethics report
///
/// diff.patch becomes the branch holon/TASK and one pull request, review.json one review, plan.md one comment, ethics.json a
/// check run. Running it again changes nothing, or brings up to date what an earlier run of the same task left.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PublishGithubArgs {
    /// OWNER/REPO, with #NUMBER for an issue or pull request [default: from GITHUB_REPOSITORY and GITHUB_REF]
    #[arg(value_name = "TARGET")]
    target: Option<String>,
    #[command(flatten)]
    source: RunSourceArgs,
    /// Publish only these
    #[arg(long, value_name = "PART", value_delimiter = ',', help_heading = "What")]
    only: Vec<PartName>,
    /// Publish what needs a person, as a draft that says so
    #[arg(long, help_heading = "What")]
    draft_needs_human: bool,
    /// The most findings of a review that are posted at once
    #[arg(long, value_name = "N", default_value_t = 50, help_heading = "What")]
    max_findings: usize,
    /// How far a review's verdict goes
    #[arg(long, value_name = "HOW", value_enum, default_value_t = VerdictName::Comment, help_heading = "What")]
    verdict: VerdictName,
    /// Where an ethics report goes
    #[arg(long, value_name = "HOW", value_enum, default_value_t = EthicsName::Auto, help_heading = "What")]
    ethics: EthicsName,
    /// Say what this policy says of the statement beside the output, as the check holon/policy: a file, or signed, standard, strict
    #[arg(long, value_name = "NAME|FILE", help_heading = "What")]
    policy: Option<String>,
    /// A public key whose signature counts for the policy: a file, or the key itself
    #[arg(long, value_name = "FILE|KEY", requires = "policy", help_heading = "What")]
    signer: Vec<String>,

    /// The name of the work: the branch is holon/TASK [default: issue-N, pr-N or the run's id]
    #[arg(long, value_name = "NAME", help_heading = "Pull request")]
    task: Option<TaskId>,
    /// The branch the pull request goes to [default: the repository's default branch]
    #[arg(long, value_name = "BRANCH", help_heading = "Pull request")]
    base: Option<String>,
    /// The repository to push to, such as your fork [default: the target]
    #[arg(long, value_name = "OWNER/REPO", help_heading = "Pull request")]
    push_to: Option<String>,
    /// Add the change to the target pull request's own branch instead of opening one
    #[arg(long, conflicts_with_all = ["base", "push_to"], help_heading = "Pull request")]
    into_pull: bool,
    /// The title [default: the first line of summary.md]
    #[arg(long, value_name = "TEXT", help_heading = "Pull request")]
    title: Option<String>,
    /// The commit's author [default: the run's own identity]
    #[arg(long, value_name = "NAME <EMAIL>", help_heading = "Pull request")]
    author: Option<String>,
    /// The folder of the repository that was the run's workspace, when it was not the root
    #[arg(long, value_name = "DIR", help_heading = "Pull request")]
    directory: Option<String>,
    /// Open the pull request as a draft
    #[arg(long, help_heading = "Pull request")]
    draft: bool,

    #[command(flatten)]
    overruling: OverrideArgs,
    #[command(flatten)]
    forge: ForgeArgs,
    /// Print the exact calls and bodies, and change nothing
    #[arg(long, help_heading = "How")]
    dry_run: bool,
    /// Print the result as JSON
    #[arg(long, help_heading = "How")]
    json: bool,
}

/// A part's name.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PartName {
    /// diff.patch
    Pull,
    /// review.json
    Review,
    /// plan.md
    Plan,
    /// ethics.json
    Ethics,
    /// summary.md
    Summary,
}

impl From<PartName> for PublishPart {
    fn from(name: PartName) -> Self {
        match name {
            PartName::Pull => Self::Pull,
            PartName::Review => Self::Review,
            PartName::Plan => Self::Plan,
            PartName::Ethics => Self::Ethics,
            PartName::Summary => Self::Summary,
        }
    }
}

/// How far a verdict goes.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum VerdictName {
    /// every review is a comment
    Comment,
    /// a blocking review requests changes
    Block,
    /// and an approving one approves
    All,
}

/// Where an ethics report goes.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum EthicsName {
    /// a check run where that is allowed, else a comment
    Auto,
    /// a check run
    Check,
    /// a comment
    Comment,
}

/// Publishes a run and tells what came of it.
pub(crate) fn run(args: &PublishGithubArgs, session: &Session) -> CommandExit {
    let output = args.source.open(session)?;
    let mut options = options(args)?;
    options.statement = attest::about(&output)?;
    if let Some(name) = &args.policy {
        let policy = verify::policy(name, &args.signer)?;
        options.policy = Some(verdict(name, &policy, options.statement.as_deref(), &output)?);
    }
    let report = carry_out(output, options, (&args.forge, &args.overruling), session)?;
    finish(&report, args.json, session)
}

/// What a policy says about an output; without a statement about it, no policy is satisfied.
fn verdict(
    name: &str,
    policy: &AttestationPolicy,
    statement: Option<&str>,
    output: &VerifiedOutput,
) -> Result<PublishPolicyVerdict, CliFailure> {
    // A path tells others about this machine, and nothing about the policy.
    let shown =
        Path::new(name).file_name().map_or(name.to_owned(), |file| file.to_string_lossy().into_owned());
    let mut said = PublishPolicyVerdict { policy: shown, ..PublishPolicyVerdict::default() };
    let Some(statement) = statement else {
        said.against.push("there is no signed statement about this change".into());
        return Ok(said);
    };
    let presented =
        PresentedChange { patch_sha256: output.bytes("diff.patch").map(sha256), base_commit: None };
    let (signed_by, against) = judge(&DsseEnvelope::parse(statement.as_bytes())?, policy, &presented)?;
    said.signed_by = signed_by;
    said.against = against.into_iter().map(|rule| rule.sentence).collect();
    Ok(said)
}

fn finish(report: &PublishReport, json: bool, session: &Session) -> CommandExit {
    let text = if json { tell::json(report)? } else { tell::text(report, session.terminal.stdout) };
    session.terminal.print(text)?;
    Ok(if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn options(args: &PublishGithubArgs) -> Result<PublishOptions, CliFailure> {
    let mut options = PublishOptions::new(target(args.target.as_deref())?);
    options.only = args.only.iter().map(|name| PublishPart::from(*name)).collect();
    options.task.clone_from(&args.task);
    options.base.clone_from(&args.base);
    options.push_to = args.push_to.as_deref().map(str::parse::<RepoName>).transpose()?;
    options.into_pull = args.into_pull;
    options.title.clone_from(&args.title);
    options.author = args.author.as_deref().map(author).transpose()?;
    options.directory.clone_from(&args.directory);
    options.draft_needs_human = args.draft_needs_human;
    options.draft = args.draft;
    options.limit = args.max_findings;
    options.verdicts = match args.verdict {
        VerdictName::Comment => VerdictReach::Comment,
        VerdictName::Block => VerdictReach::Block,
        VerdictName::All => VerdictReach::All,
    };
    options.ethics = match args.ethics {
        EthicsName::Auto => EthicsAs::Auto,
        EthicsName::Check => EthicsAs::Check,
        EthicsName::Comment => EthicsAs::Comment,
    };
    options.dry_run = args.dry_run;
    Ok(options)
}

/// The target: given, or what GitHub Actions says.
pub(crate) fn target(given: Option<&str>) -> Result<PublishTarget, CliFailure> {
    if let Some(text) = given {
        return Ok(text.parse()?);
    }
    let variable = |name: &str| session::variable(name).and_then(|value| value.into_string().ok());
    let Some(repo) = variable("GITHUB_REPOSITORY").filter(|name| !name.is_empty()) else {
        return Err(CliFailure::user("no repository is named", "name it as OWNER/REPO or OWNER/REPO#NUMBER"));
    };
    let number = variable("GITHUB_REF")
        .and_then(|name| name.strip_prefix("refs/pull/")?.split('/').next()?.parse().ok());
    Ok(PublishTarget { repo: repo.parse()?, number })
}

/// `Name <email>`.
fn author(text: &str) -> Result<(String, String), CliFailure> {
    let parts = text.strip_suffix('>').and_then(|text| text.split_once('<'));
    match parts.map(|(name, email)| (name.trim(), email.trim())) {
        Some((name, email))
            if !name.is_empty() && !email.is_empty() && !text.chars().any(char::is_control) =>
        {
            Ok((name.to_owned(), email.to_owned()))
        }
        _ => Err(CliFailure::user(format!("`{text}` is no author"), "write it as \"Name <email>\"")),
    }
}

/// What `holon run --publish` and its relatives ask for.
#[derive(Debug, Clone, Default)]
pub(crate) struct PublishFlags {
    /// OWNER/REPO or OWNER/REPO#NUMBER; from the environment when not given.
    pub(crate) target: Option<String>,
    /// Only these parts; empty for everything the run left.
    pub(crate) only: Vec<PublishPart>,
    /// Publish what needs a person, as a draft.
    pub(crate) draft_needs_human: bool,
    /// The name of the work.
    pub(crate) task: Option<TaskId>,
    /// Print the result as JSON.
    pub(crate) json: bool,
}

/// Publishes what a run has just left; the exit code is that of `holon publish github`.
pub(crate) fn publish_after(output: &Path, wish: &PublishFlags, session: &Session) -> CommandExit {
    let output = VerifiedOutput::open(output, None)?;
    let mut options = PublishOptions::new(target(wish.target.as_deref())?);
    options.only.clone_from(&wish.only);
    options.draft_needs_human = wish.draft_needs_human;
    options.task.clone_from(&wish.task);
    let report = carry_out(output, options, (&ForgeArgs::default(), &OverrideArgs::default()), session)?;
    finish(&report, wish.json, session)
}

/// Publishes what the release gate lets out.
fn carry_out(
    output: VerifiedOutput,
    mut options: PublishOptions,
    (forge, overruling): (&ForgeArgs, &OverrideArgs),
    session: &Session,
) -> Result<PublishReport, CliFailure> {
    // Refused before anything is asked of anyone.
    let output = &let_out(output, &options, overruling, session)?;
    let mut connection = account::connect(forge, &options.target.repo, true)?;
    options.own = connection.own;
    let git = Git::find().map_err(holon_publish::PublishError::from)?;
    let temp = tempfile::Builder::new()
        .prefix("holon-publish-")
        .tempdir()
        .map_err(|e| CliFailure::config(format!("cannot make a temporary folder: {e}")))?;
    let mut secrets = session::secrets();
    secrets.extend(connection.token.as_ref().map(|token| ("token".to_owned(), token.reveal().to_owned())));
    let mut tools = PublishTools {
        api: &mut connection.api,
        reach: &connection.reach,
        token: connection.token.clone(),
        git: &git,
        temp: temp.path(),
        network: account::network(),
        redactor: holon_core::redact::Redactor::new(secrets),
    };
    let report = publish(output, &options, &mut tools)?;
    if !options.dry_run {
        let outcome = if report.failed() { "failed" } else { "published" };
        let decision = output.release(options.draft_needs_human);
        let who = Commander::of_process().name;
        holon_flow::release::note_release(&overrule::audit(session)?, &who, &decision, outcome)?;
    }
    Ok(report)
}

/// The output, if it may leave; with the word of the person who says that it may all the same, which is in the audit log
/// by then.
fn let_out(
    output: VerifiedOutput,
    options: &PublishOptions,
    overruling: &OverrideArgs,
    session: &Session,
) -> Result<VerifiedOutput, CliFailure> {
    let decision = output.release(options.draft_needs_human);
    if !decision.is_released() && !decision.can_be_overridden() {
        return Err(holon_publish::PublishError::Held(Box::new(decision)).into());
    }
    let Some(word) = overruling.word(&decision, "holon publish github …", session)? else {
        return Ok(output);
    };
    // A dry run lets nothing out, so there is nothing to write down.
    let word = match options.dry_run {
        true => word,
        false => holon_flow::release::note_override(&overrule::audit(session)?, word)?,
    };
    Ok(output.overruled_by(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_are_read() {
        assert_eq!(author("A B <a@b.c>").ok(), Some(("A B".into(), "a@b.c".into())));
        for bad in ["", "A", "<a@b.c>", "A <>", "A\n <a@b>"] {
            assert!(author(bad).is_err(), "{bad}");
        }
    }
}
