//! The signals there are: one row each, with its key in `[supervisor.triggers]`, its default and its words.
//!
//! What a signal counts is [`crate::deviation::DeviationWatch`]'s business.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::ConfigField;

/// Makes everything that follows from the rows: the signals, the section of the configuration, and what is said.
macro_rules! signals {
    ($($(#[$doc:meta])* $signal:ident: $key:ident = $default:literal, at least $least:literal, $words:literal;)*) => {
        /// A way of being lost.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Deviation {
            $($(#[$doc])* $signal,)*
            /// The run's rounds or tokens are about to end.
            BudgetEnding,
            /// A person said so.
            UserForceTakeover,
        }

        impl Deviation {
            /// The name used in events and in the configuration.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$signal => stringify!($key),)*
                    Self::BudgetEnding => "budget_ending",
                    Self::UserForceTakeover => "user_force_takeover",
                }
            }

            /// What is told of it, with its measure.
            pub(crate) fn words(self, n: u32) -> String {
                match self {
                    $(Self::$signal => format!($words, n = n),)*
                    Self::BudgetEnding => format!("{n} % of what this run may use is used"),
                    Self::UserForceTakeover => "a person asked for it".to_owned(),
                }
            }
        }

        /// `[supervisor.triggers]`: from which count on a signal is up.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(rename = "SupervisorTriggers")]
        pub struct Triggers {
            $($(#[$doc])* pub $key: u32,)*
            /// Share of the run's rounds or tokens after which it is said that they end.
            pub budget_share: f64,
        }

        impl Default for Triggers {
            fn default() -> Self {
                Self { $($key: $default,)* budget_share: 0.8 }
            }
        }

        /// The keys of the section, and what each may be.
        pub(crate) fn trigger_fields(triggers: &mut Triggers) -> Vec<(&'static str, ConfigField<'_>)> {
            vec![
                $((concat!("triggers.", stringify!($key)), ConfigField::Count(&mut triggers.$key, $least)),)*
                ("triggers.budget_share", ConfigField::Number(&mut triggers.budget_share, 0.1, 1.0)),
            ]
        }
    };
}

signals! {
    /// The same failure again and again, and nothing changed in between.
    ToolRepeatFail: tool_repeat_fail = 3, at least 2,
        "the same failure {n} times, with no file changed in between";
    /// Rounds in which nothing new came to be known.
    NoProgress: no_progress = 5, at least 1,
        "{n} rounds in a row brought nothing that was not known";
    /// Results of a red check that were there before, although files changed in between.
    FileLoop: file_loop = 3, at least 1,
        "a check failed as before {n} times, although files were changed in between";
    /// Rounds of changes that neither reach further nor turn anything greener, where something is to be repaired.
    Unhealed: unhealed = 10, at least 1,
        "{n} rounds changed files and no check turned greener";
    /// The same after everything was green.
    Polishing: polishing = 8, at least 1,
        "{n} rounds rewrote what a passing check had accepted";
    /// Calls in a row that cannot be read.
    Malformed: malformed = 3, at least 1,
        "{n} calls could not be read";
    /// Replies in a row without a word or a call.
    EmptyReplies: empty_replies = 2, at least 1,
        "{n} replies in a row were empty";
}
