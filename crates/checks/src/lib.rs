//! Checks that can be trusted: what defines a check, the check as it was before a change, what runners say case by case,
//! and what two runs of a check say about the change between them. Pure: no I/O, no clock.

pub mod as_it_was;
mod before;
pub mod compare;
pub mod coverage;
pub mod definition;
mod failing_part;
pub mod goal;
mod likely_sources;
mod modules;
mod peek;
pub mod printed_lines;
mod reach;
pub mod report_files;
mod restore;
pub mod runner;
mod scope;
mod settings;
mod takeover;

pub use as_it_was::{CheckImpact, PlacedContent, Placement, RevisedFile, as_it_was};
pub use before::BaseTree;
pub use compare::{CheckEvidence, CheckExecution, NeededRun};
pub use failing_part::failing_part;
pub use likely_sources::{LikelySource, likely_sources};
pub use printed_lines::PrintedLines;
pub use reach::CheckDefinitions;
pub use report_files::ReportLocations;
