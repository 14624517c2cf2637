//! One file per check; each gives what it found, or why it could not look.

mod assignment;
mod coded;
mod commands;
mod endpoints;
mod exfiltration;
mod goal;
mod injection;
pub(crate) mod licences;
mod logging;
mod obfuscation;
mod pii;
mod secrets;
mod security;
mod telephone;
mod weakening;

use crate::change::FileChangeLines;
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::input::AssessmentInput;
use licences::LicenceLookup;

/// What one check found.
pub(crate) type EthicsCheckResult = Result<Vec<EthicsFinding>, String>;

/// Runs one check.
pub(crate) fn run(
    id: EthicsCheckId,
    input: &AssessmentInput,
    files: &[FileChangeLines],
    licences: &dyn LicenceLookup,
) -> EthicsCheckResult {
    match id {
        EthicsCheckId::Goal => goal::check(&input.goal),
        EthicsCheckId::Secrets => secrets::check(files).and_then(|mut found| {
            found.extend(goal::secrets(&input.goal)?);
            Ok(found)
        }),
        EthicsCheckId::PersonalData => pii::check(files),
        EthicsCheckId::Dependencies => licences::dependencies(input, files, licences),
        EthicsCheckId::LicenceTexts => licences::texts(input, files),
        EthicsCheckId::Endpoints => endpoints::check(files),
        EthicsCheckId::Commands => commands::check(files).and_then(|mut found| {
            found.extend(exfiltration::check(files)?);
            Ok(found)
        }),
        EthicsCheckId::Obfuscation => obfuscation::check(files),
        EthicsCheckId::Tests => weakening::check(input, files),
        EthicsCheckId::CredentialLogging => logging::check(files),
        EthicsCheckId::PromptInjection => injection::check(&input.goal, files),
        EthicsCheckId::CodeSecurity | EthicsCheckId::ExcessiveRights | EthicsCheckId::PersonalDataFlow => {
            security::check(id, files)
        }
    }
}
