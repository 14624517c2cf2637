//! One thing a check found, and where.

use holon_core::artifact::ethics::RiskLevel;

/// The checks, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EthicsCheckId {
    /// The goal itself asks for harm.
    Goal,
    /// Credentials.
    Secrets,
    /// Data about people.
    PersonalData,
    /// Licences of added dependencies.
    Dependencies,
    /// Licence texts and headers in added files.
    LicenceTexts,
    /// New addresses on the network.
    Endpoints,
    /// Commands and settings that do damage or open doors.
    Commands,
    /// Code that hides what it does.
    Obfuscation,
    /// Tests that are gone, skipped or assert less.
    Tests,
    /// Credentials that end up in logs.
    CredentialLogging,
    /// Text that talks to whoever assesses the change.
    PromptInjection,
    /// Holes in code: foreign values taken for commands, queries, paths or objects, and cryptography that does not hold.
    CodeSecurity,
    /// More rights than needed: containers, roles, grants, file modes.
    ExcessiveRights,
    /// People's data on its way to logs, telemetry, third parties, addresses or files for everybody.
    PersonalDataFlow,
}

impl EthicsCheckId {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Goal,
        Self::Secrets,
        Self::PersonalData,
        Self::Dependencies,
        Self::LicenceTexts,
        Self::Endpoints,
        Self::Commands,
        Self::Obfuscation,
        Self::Tests,
        Self::CredentialLogging,
        Self::PromptInjection,
        Self::CodeSecurity,
        Self::ExcessiveRights,
        Self::PersonalDataFlow,
    ];

    /// The id in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Secrets => "secrets",
            Self::PersonalData => "personal-data",
            Self::Dependencies => "dependency-licences",
            Self::LicenceTexts => "licence-texts",
            Self::Endpoints => "network-endpoints",
            Self::Commands => "dangerous-commands",
            Self::Obfuscation => "obfuscated-code",
            Self::Tests => "weakened-tests",
            Self::CredentialLogging => "credential-logging",
            Self::PromptInjection => "prompt-injection",
            Self::CodeSecurity => "code-security",
            Self::ExcessiveRights => "excessive-rights",
            Self::PersonalDataFlow => "personal-data-flow",
        }
    }

    /// The principle it belongs to.
    pub fn principle(self) -> &'static str {
        match self {
            Self::Goal | Self::Obfuscation => "misuse",
            Self::PersonalData | Self::PersonalDataFlow => "privacy",
            Self::Dependencies | Self::LicenceTexts => "intellectual property",
            Self::Endpoints | Self::CredentialLogging => "data handling",
            Self::Secrets | Self::Commands | Self::Tests | Self::CodeSecurity | Self::ExcessiveRights => {
                "safety"
            }
            Self::PromptInjection => "guidelines",
        }
    }

    /// What would make it pass.
    pub fn mitigation(self) -> &'static str {
        match self {
            Self::Goal => "Have a person confirm what the goal is for.",
            Self::Secrets => {
                "Take the credential out, revoke it, and read it from the environment or a secret store."
            }
            Self::PersonalData => "Replace personal data by made-up values from reserved ranges.",
            Self::Dependencies => {
                "Use a dependency whose licence fits the project, or have a person look the licence up."
            }
            Self::LicenceTexts => "Take the foreign code out, or have its licence agreed upon.",
            Self::Endpoints => "Say why the address is needed and what is sent there.",
            Self::Commands => "Replace the command or setting by one that does only what is needed.",
            Self::Obfuscation => "Write the code so that it can be read.",
            Self::Tests => "Bring the tests back, or have a person agree that they go.",
            Self::CredentialLogging => "Do not log credentials; log that one is there, or its id.",
            Self::PromptInjection => "Take the text that addresses the assessor out.",
            Self::CodeSecurity => {
                "Bind, escape or check what comes from outside, and use current cryptography with checks on."
            }
            Self::ExcessiveRights => "Grant only what is needed, to whoever needs it.",
            Self::PersonalDataFlow => {
                "Leave people's data out, mask it, or keep it where only those who need it read it."
            }
        }
    }
}

/// One thing that was found. It never holds the value it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EthicsFinding {
    /// Which check found it.
    pub check: EthicsCheckId,
    /// The rule, as in the data files.
    pub rule: String,
    /// How bad it is.
    pub severity: RiskLevel,
    /// It could not be decided; a person has to.
    pub unverified: bool,
    /// What it is, without the value.
    pub what: String,
    /// The file, or `goal`.
    pub path: String,
    /// The line in the new file; 0 when it concerns the file as a whole.
    pub line: u64,
    /// What must not be shown of that line.
    pub(crate) hide: Vec<String>,
}

impl EthicsFinding {
    pub(crate) fn new(
        check: EthicsCheckId,
        rule: &str,
        severity: RiskLevel,
        what: impl Into<String>,
    ) -> Self {
        Self {
            check,
            rule: rule.to_owned(),
            severity,
            unverified: false,
            what: what.into(),
            path: String::new(),
            line: 0,
            hide: Vec::new(),
        }
    }

    pub(crate) fn at(mut self, path: &str, line: u64) -> Self {
        self.path = path.to_owned();
        self.line = line;
        self
    }

    pub(crate) fn hiding(mut self, value: &str) -> Self {
        self.hide.push(value.to_owned());
        self
    }

    pub(crate) fn unverified(mut self) -> Self {
        self.unverified = true;
        self
    }

    /// `path:line`, or the path alone.
    pub fn place(&self) -> String {
        if self.line == 0 { self.path.clone() } else { format!("{}:{}", self.path, self.line) }
    }
}
