//! `holon publish summary | sarif | junit | markdown`: forms that need no forge.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use holon_core::artifact::review::ReviewReport;
use holon_publish::{VerifiedOutput, report};

use super::cleaner;
use super::source::RunSourceArgs;
use crate::CommandExit;
use crate::failure::CliFailure;
use crate::session::{self, Session};

/// Add what a run left to the job summary of GitHub Actions
///
/// Writes to the file that GITHUB_STEP_SUMMARY names, once per run, within the limit of 1 MiB. A run that failed is shown as
/// that.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  holon publish summary --from holon-output")]
pub(crate) struct SummaryArgs {
    #[command(flatten)]
    source: RunSourceArgs,
    /// The file to add to [default: $GITHUB_STEP_SUMMARY]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Write a review as SARIF 2.1.0, which code scanning reads
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  holon publish sarif --from holon-output --out review.sarif")]
pub(crate) struct SarifArgs {
    #[command(flatten)]
    form: PublishFormArgs,
}

/// Write a review as JUnit XML: findings of medium severity and above are failed tests
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  holon publish junit --from holon-output --out review.xml")]
pub(crate) struct JunitArgs {
    #[command(flatten)]
    form: PublishFormArgs,
}

/// Write everything a run left as one Markdown page, for any other place
///
/// Names, references, raw HTML and images in it do nothing: nobody is notified by posting it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  holon publish markdown | glab mr note 12 --message \"$(cat)\"")]
pub(crate) struct MarkdownArgs {
    #[command(flatten)]
    form: PublishFormArgs,
}

/// A run, and where the result goes.
#[derive(Debug, clap::Args)]
struct PublishFormArgs {
    #[command(flatten)]
    source: RunSourceArgs,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also what needs a person
    #[arg(long)]
    draft_needs_human: bool,
}

impl PublishFormArgs {
    fn write(&self, text: &str, session: &Session) -> CommandExit {
        match &self.out {
            Some(path) => fs::write(path, text).map_err(CliFailure::io("write", path))?,
            None => session.terminal.deliver(text)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The review of a run that may go out.
    fn review(&self, session: &Session) -> Result<(VerifiedOutput, ReviewReport), CliFailure> {
        let output = self.source.open(session)?;
        output.gate(self.draft_needs_human)?;
        match output.json::<ReviewReport>("review.json")? {
            Some(review) => Ok((output, review)),
            None => Err(CliFailure::user(
                format!("run {} left no valid review.json", output.run()),
                "a run in review mode does; `holon publish markdown` takes any run",
            )),
        }
    }
}

/// Adds to the job summary.
pub(crate) fn summary(args: &SummaryArgs, session: &Session) -> CommandExit {
    let output = args.source.open(session)?;
    let named = args.file.clone().or_else(|| session::variable("GITHUB_STEP_SUMMARY").map(PathBuf::from));
    let Some(file) = named.filter(|path| path != Path::new("")) else {
        return Err(CliFailure::user(
            "no file for the summary is named",
            "set GITHUB_STEP_SUMMARY or give --file",
        ));
    };
    let page = report::page(&output, &cleaner())?;
    let added = report::append_step_summary(&file, &output, &page)?;
    session.terminal.say(&match added {
        true => format!("added run {} to {}", output.run(), file.display()),
        false => format!("already there: {} has run {}", file.display(), output.run()),
    });
    Ok(ExitCode::SUCCESS)
}

/// Writes SARIF.
pub(crate) fn sarif(args: &SarifArgs, session: &Session) -> CommandExit {
    let (output, review) = args.form.review(session)?;
    let value = report::sarif(&review, output.run(), &cleaner());
    let text = serde_json::to_string_pretty(&value).map_err(|e| CliFailure::internal(e.to_string()))?;
    args.form.write(&(text + "\n"), session)
}

/// Writes JUnit.
pub(crate) fn junit(args: &JunitArgs, session: &Session) -> CommandExit {
    let (output, review) = args.form.review(session)?;
    args.form.write(&report::junit(&review, output.run(), &cleaner()), session)
}

/// Writes Markdown; of any run, because the page says how it ended. What is a part of something blocked says nothing of
/// that, so it is not shown as if it were whole.
pub(crate) fn markdown(args: &MarkdownArgs, session: &Session) -> CommandExit {
    let output = args.form.source.open(session)?;
    let decision = output.release(true);
    if decision.held.iter().any(|reason| reason.code().starts_with("whole_")) {
        return Err(CliFailure::held(&decision, ""));
    }
    args.form.write(&report::page(&output, &cleaner())?, session)
}
