//! What kind of work a run is: intent, complexity, and whether the supervisor may ever take over.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// What is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalIntent {
    /// Change or add code.
    #[default]
    Edit,
    /// Find and remove a fault.
    Debug,
    /// Write or repair tests.
    Test,
    /// Change the form and not the behaviour.
    Refactor,
    /// Write for people.
    Docs,
    /// Look and report.
    Inspect,
    /// Answer.
    Question,
}

impl GoalIntent {
    /// Whether such work follows a graph.
    pub const fn uses_graph(self) -> bool {
        matches!(self, Self::Edit | Self::Debug | Self::Test | Self::Refactor)
    }

    /// The name, as in template files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Debug => "debug",
            Self::Test => "test",
            Self::Refactor => "refactor",
            Self::Docs => "docs",
            Self::Inspect => "inspect",
            Self::Question => "question",
        }
    }
}

/// The area of work, for the decision to take over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the explanation")]
pub enum WorkDomain {
    #[default]
    CriticalEdit,
    CriticalDebug,
    CriticalTest,
    CriticalRefactor,
    NonCriticalDocs,
    NonCriticalRead,
    NonCriticalExplain,
}

impl WorkDomain {
    /// Whether a takeover may ever happen here.
    pub const fn is_critical(self) -> bool {
        matches!(self, Self::CriticalEdit | Self::CriticalDebug | Self::CriticalTest | Self::CriticalRefactor)
    }
}

/// How much there is to do; decides the template and the number of fallback branches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the explanation")]
pub enum Complexity {
    Trivial,
    #[default]
    Simple,
    Moderate,
    Complex,
    Hard,
}

impl Complexity {
    /// How many fallback branches a graph gets.
    pub const fn fallbacks(self) -> usize {
        match self {
            Self::Trivial | Self::Simple => 0,
            Self::Moderate => 1,
            Self::Complex => 2,
            Self::Hard => 3,
        }
    }

    /// From the size of what was asked.
    pub fn of(goal: &str, files: usize, steps: u32) -> Self {
        let words = goal.split_whitespace().take(600).count();
        let steps = steps as usize;
        let size = files.max(steps);
        match size {
            0 | 1 if words <= 12 => Self::Trivial,
            0 | 1 if words <= 60 => Self::Simple,
            0..=3 if words <= 150 => Self::Moderate,
            0..=7 if words <= 500 => Self::Complex,
            _ => Self::Hard,
        }
    }
}

/// Several named steps or files make a long implementation goal.
const LONG: usize = 3;

/// Intent and domain: by the mode first, and only then by the goal's words.
pub fn classify(mode: &str, goal: &str, files: usize, steps: u32) -> (GoalIntent, WorkDomain) {
    let long = files.max(steps as usize) >= LONG;
    match mode {
        "execute" => {
            let intent = by_words(goal, &[GoalIntent::Debug, GoalIntent::Test, GoalIntent::Refactor]);
            // A question is never a change.
            if intent.is_none() && is_question(goal) {
                return (GoalIntent::Question, WorkDomain::NonCriticalExplain);
            }
            let intent = intent.unwrap_or(GoalIntent::Edit);
            (intent, if long { WorkDomain::CriticalEdit } else { domain_of(intent) })
        }
        "debug" => (GoalIntent::Debug, WorkDomain::CriticalDebug),
        "plan" | "architect" | "review" | "ethical" | "orchestrate" => {
            (GoalIntent::Inspect, WorkDomain::NonCriticalRead)
        }
        _ => {
            let intent = by_words(goal, &ALL).unwrap_or(GoalIntent::Edit);
            let intent = if long && !intent.uses_graph() { GoalIntent::Edit } else { intent };
            (intent, if long { WorkDomain::CriticalEdit } else { domain_of(intent) })
        }
    }
}

const ALL: [GoalIntent; 6] = [
    GoalIntent::Debug,
    GoalIntent::Test,
    GoalIntent::Refactor,
    GoalIntent::Docs,
    GoalIntent::Inspect,
    GoalIntent::Question,
];

const fn domain_of(intent: GoalIntent) -> WorkDomain {
    match intent {
        GoalIntent::Edit => WorkDomain::CriticalEdit,
        GoalIntent::Debug => WorkDomain::CriticalDebug,
        GoalIntent::Test => WorkDomain::CriticalTest,
        GoalIntent::Refactor => WorkDomain::CriticalRefactor,
        GoalIntent::Docs => WorkDomain::NonCriticalDocs,
        GoalIntent::Inspect => WorkDomain::NonCriticalRead,
        GoalIntent::Question => WorkDomain::NonCriticalExplain,
    }
}

/// Whether a goal wants an answer and nothing changed, by how it begins and ends.
pub(crate) fn is_question(goal: &str) -> bool {
    let first: String = goal.trim_start().chars().take_while(|c| c.is_alphabetic()).collect();
    let first = first.to_lowercase();
    let begins = WORDS.question.iter().chain(&WORDS.inspect).any(|word| *word == first);
    begins || goal.trim_end().ends_with(['?', '？', '؟'])
}

/// Whether a goal speaks of something that shows whether it is met.
pub(crate) fn speaks_of_checks(goal: &str) -> bool {
    let lower = goal.to_lowercase();
    WORDS.shows.iter().any(|part| lower.contains(part.as_str()))
}

/// Words for a check that is to be green.
pub(crate) fn passes() -> &'static [String] {
    &WORDS.passes
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct GoalWords {
    debug: Vec<String>,
    test: Vec<String>,
    refactor: Vec<String>,
    docs: Vec<String>,
    inspect: Vec<String>,
    question: Vec<String>,
    /// Phrases, in any part of the goal.
    passes: Vec<String>,
    /// What wants something repaired in languages whose words are not set apart by blanks or take many endings.
    stems: Vec<String>,
    shows: Vec<String>,
}

static WORDS: LazyLock<GoalWords> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../rules/supervisor/intents.toml")).unwrap_or_default()
});

/// The intent whose word comes first in the goal.
fn by_words(goal: &str, among: &[GoalIntent]) -> Option<GoalIntent> {
    let words = |intent: GoalIntent| -> &[String] {
        match intent {
            GoalIntent::Edit => &[],
            GoalIntent::Debug => &WORDS.debug,
            GoalIntent::Test => &WORDS.test,
            GoalIntent::Refactor => &WORDS.refactor,
            GoalIntent::Docs => &WORDS.docs,
            GoalIntent::Inspect => &WORDS.inspect,
            GoalIntent::Question => &WORDS.question,
        }
    };
    let found = goal.split(|c: char| !c.is_alphanumeric()).take(400).find_map(|word| {
        let word = word.to_lowercase();
        among.iter().find(|intent| words(**intent).contains(&word)).copied()
    });
    let stem = || {
        let lower = goal.to_lowercase();
        let wanted = among.contains(&GoalIntent::Debug)
            && WORDS.stems.iter().any(|stem| lower.contains(stem.as_str()));
        wanted.then_some(GoalIntent::Debug)
    };
    found.or_else(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_decides_before_words() {
        let check =
            |mode: &str, goal: &str, files: usize, steps: u32, intent: GoalIntent, domain: WorkDomain| {
                assert_eq!(classify(mode, goal, files, steps), (intent, domain), "{mode}: {goal}");
            };
        check("execute", "add a flag", 0, 0, GoalIntent::Edit, WorkDomain::CriticalEdit);
        check("execute", "Fix the crash", 0, 0, GoalIntent::Debug, WorkDomain::CriticalDebug);
        check("execute", "write tests for x", 0, 0, GoalIntent::Test, WorkDomain::CriticalTest);
        check("execute", "rename foo", 0, 0, GoalIntent::Refactor, WorkDomain::CriticalRefactor);
        check("execute", "document the flag", 0, 0, GoalIntent::Edit, WorkDomain::CriticalEdit);
        check("execute", "fix these", 3, 0, GoalIntent::Debug, WorkDomain::CriticalEdit);
        check("debug", "explain why", 0, 0, GoalIntent::Debug, WorkDomain::CriticalDebug);
        check("plan", "fix the crash", 9, 9, GoalIntent::Inspect, WorkDomain::NonCriticalRead);
        check("review", "fix it", 0, 0, GoalIntent::Inspect, WorkDomain::NonCriticalRead);
        check("ethical", "fix it", 0, 0, GoalIntent::Inspect, WorkDomain::NonCriticalRead);
        check("docs", "document the flag", 0, 0, GoalIntent::Docs, WorkDomain::NonCriticalDocs);
        check("chat", "explain this", 0, 0, GoalIntent::Question, WorkDomain::NonCriticalExplain);
        check("chat", "inspect this", 0, 0, GoalIntent::Inspect, WorkDomain::NonCriticalRead);
        check("chat", "document these", 0, 3, GoalIntent::Edit, WorkDomain::CriticalEdit);
        check("chat", "document these", 0, 2, GoalIntent::Docs, WorkDomain::NonCriticalDocs);
    }

    #[test]
    fn size_decides_complexity() {
        let check = |words: usize, files: usize, steps: u32, expect: Complexity, fallbacks: usize| {
            let goal = "word ".repeat(words);
            let found = Complexity::of(&goal, files, steps);
            assert_eq!((found, found.fallbacks()), (expect, fallbacks), "{words} {files} {steps}");
        };
        check(12, 1, 0, Complexity::Trivial, 0);
        check(13, 1, 0, Complexity::Simple, 0);
        check(60, 0, 1, Complexity::Simple, 0);
        check(61, 0, 0, Complexity::Moderate, 1);
        check(5, 2, 0, Complexity::Moderate, 1);
        check(5, 0, 3, Complexity::Moderate, 1);
        check(151, 0, 3, Complexity::Complex, 2);
        check(5, 4, 0, Complexity::Complex, 2);
        check(5, 7, 0, Complexity::Complex, 2);
        check(5, 8, 0, Complexity::Hard, 3);
        check(501, 0, 0, Complexity::Hard, 3);
    }

    #[test]
    fn the_words_are_read() {
        assert!(!WORDS.debug.is_empty() && !WORDS.question.is_empty());
        for intent in [GoalIntent::Edit, GoalIntent::Debug, GoalIntent::Test, GoalIntent::Refactor] {
            assert!(intent.uses_graph() && domain_of(intent).is_critical());
        }
        for intent in [GoalIntent::Docs, GoalIntent::Inspect, GoalIntent::Question] {
            assert!(!intent.uses_graph() && !domain_of(intent).is_critical());
        }
    }

    #[test]
    fn questions_are_told_by_how_they_begin_and_end() {
        for (goal, expect) in [
            ("What does src/a.rs do", true),
            ("Explain the parser", true),
            ("The parser is slow, isn't it?", true),
            ("Fix what is broken", false),
            ("Make it what it was", false),
            ("", false),
        ] {
            assert_eq!(is_question(goal), expect, "{goal}");
        }
    }
}
