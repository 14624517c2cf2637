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

use crate::change::FileChange;
use crate::finding::{CheckId, Finding};
use crate::input::Input;
use licences::Licences;

/// What one check found.
pub(crate) type Found = Result<Vec<Finding>, String>;

/// Runs one check.
pub(crate) fn run(id: CheckId, input: &Input, files: &[FileChange], licences: &dyn Licences) -> Found {
    match id {
        CheckId::Goal => goal::check(&input.goal),
        CheckId::Secrets => secrets::check(files).and_then(|mut found| {
            found.extend(goal::secrets(&input.goal)?);
            Ok(found)
        }),
        CheckId::PersonalData => pii::check(files),
        CheckId::Dependencies => licences::dependencies(input, files, licences),
        CheckId::LicenceTexts => licences::texts(input, files),
        CheckId::Endpoints => endpoints::check(files),
        CheckId::Commands => commands::check(files).and_then(|mut found| {
            found.extend(exfiltration::check(files)?);
            Ok(found)
        }),
        CheckId::Obfuscation => obfuscation::check(files),
        CheckId::Tests => weakening::check(input, files),
        CheckId::CredentialLogging => logging::check(files),
        CheckId::PromptInjection => injection::check(&input.goal, files),
        CheckId::CodeSecurity | CheckId::ExcessiveRights | CheckId::PersonalDataFlow => {
            security::check(id, files)
        }
    }
}
