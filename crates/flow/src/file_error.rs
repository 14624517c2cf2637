//! What is wrong with a flow's file, told so that whoever wrote it can mend it.

/// A flow's file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", place(.file, *.line, .step.as_deref(), .key))]
pub struct FlowFileError {
    /// The file.
    pub file: String,
    /// The line, where it is known.
    pub line: Option<u32>,
    /// The step, when it is one that is wrong.
    pub step: Option<String>,
    /// The key, as in `repeat.most`; empty when the file is no TOML of the right form.
    pub key: &'static str,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

/// `file:line: step `x`: `key` `, as far as each is known.
fn place(file: &str, line: Option<u32>, step: Option<&str>, key: &str) -> String {
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    let step = step.map(|step| format!("step `{step}`: ")).unwrap_or_default();
    let key = if key.is_empty() { String::new() } else { format!("`{key}` ") };
    format!("{file}{line}: {step}{key}")
}
