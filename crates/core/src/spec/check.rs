//! What the types alone cannot say about a spec.

use serde_json::Value;

use crate::artifact::json_schema::ArtifactSchema;
use crate::artifact::{self, ArtifactKind};
use crate::secrets;

use super::{RequestedSchema, Spec};

/// A value that makes no sense.
pub(super) struct SpecProblem {
    pub(super) key: String,
    pub(super) message: String,
    pub(super) remedy: Option<String>,
}

fn problem(key: &str, message: impl Into<String>, remedy: &str) -> Result<(), SpecProblem> {
    Err(SpecProblem { key: key.to_owned(), message: message.into(), remedy: Some(remedy.to_owned()) })
}

pub(super) fn check(spec: &Spec) -> Result<(), SpecProblem> {
    if spec.version != "v1" {
        return problem(
            "version",
            format!("is `{}`, which this release does not know", short(&spec.version)),
            "write `version: v1`",
        );
    }
    if spec.kind != "Holon" {
        return problem("kind", format!("is `{}`", short(&spec.kind)), "write `kind: Holon`");
    }
    if spec.goal.description.trim().is_empty() {
        return problem("goal.description", "is empty", "say what you want done");
    }
    for (name, value) in &spec.context.env {
        check_variable(name, value)?;
    }
    for artifact in &spec.output.artifacts {
        if let Err(why) = artifact::check_name(&artifact.path) {
            return problem(
                "output.artifacts",
                format!("`{}` {why}", short(&artifact.path)),
                "name a file in the output folder",
            );
        }
        if let Some(schema) = &artifact.schema {
            check_schema(&artifact.path, schema)?;
        }
    }
    let constraints = &spec.constraints;
    if constraints.max_steps == Some(0) {
        return problem("constraints.max_steps", "is zero", "write a whole number above zero");
    }
    if constraints.max_cost_usd.is_some_and(|cost| !cost.is_finite() || cost <= 0.0) {
        return problem(
            "constraints.max_cost_usd",
            "is not a positive number",
            "write a number of dollars such as 1.5",
        );
    }
    if constraints.checks.iter().any(|c| c.trim().is_empty()) {
        return problem(
            "constraints.checks",
            "has an empty command",
            "write a command, or leave the entry out",
        );
    }
    Ok(())
}

fn check_schema(path: &str, schema: &RequestedSchema) -> Result<(), SpecProblem> {
    if matches!(
        ArtifactKind::of(path),
        ArtifactKind::Patch | ArtifactKind::Markdown | ArtifactKind::PlanMarkdown
    ) {
        return problem(
            "output.artifacts.schema",
            format!("is given for `{}`, which is no JSON", short(path)),
            "leave it out, or ask for a .json file",
        );
    }
    match schema {
        // Read where files can be.
        RequestedSchema::Named(_) if schema.file().is_some() => Ok(()),
        RequestedSchema::Named(name) if artifact::SCHEMAS.contains(&name.as_str()) => Ok(()),
        RequestedSchema::Named(name) => {
            let known = artifact::SCHEMAS.join(", ");
            let remedy =
                format!("the schemas are {known}; a schema of your own is a path that ends in .json");
            problem("output.artifacts.schema", format!("`{}` is unknown", short(name)), &remedy)
        }
        RequestedSchema::Inline(keywords) => match ArtifactSchema::new(Value::Object(keywords.clone())) {
            Ok(_) => Ok(()),
            Err(error) => problem(
                "output.artifacts.schema",
                format!("of `{}` cannot be used: {error}", short(path)),
                "write it with the keywords docs/run-contract.md lists",
            ),
        },
    }
}

fn check_variable(name: &str, value: &str) -> Result<(), SpecProblem> {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !plain || value.contains('\0') {
        return problem(
            "context.env",
            format!("has `{}`, which cannot be a variable", short(name)),
            "use letters, digits and `_`",
        );
    }
    if name.starts_with("HOLON_") || name == "HOME" || name == "PATH" {
        return problem(
            "context.env",
            format!("sets `{name}`, which belongs to the host"),
            "choose another name",
        );
    }
    // Never repeat the value: the message ends up in logs.
    if secrets::looks_like(value).is_some() || named_like_a_secret(name, value) {
        return problem(
            "context.env",
            format!("has `{name}`, whose value looks like a secret"),
            "keep credentials out of the spec: export them in your own environment, where only the host uses them",
        );
    }
    Ok(())
}

/// `MY_TOKEN` with something long and unbroken in it.
fn named_like_a_secret(name: &str, value: &str) -> bool {
    const ENDINGS: [&str; 6] = ["_KEY", "_TOKEN", "_SECRET", "PASSWORD", "PASSWD", "_CREDENTIALS"];
    let name = name.to_ascii_uppercase();
    let telling = ENDINGS.iter().any(|e| name.ends_with(e)) || name == "TOKEN" || name == "SECRET";
    telling && value.len() >= 12 && !value.contains(char::is_whitespace) && !value.starts_with(['/', '.'])
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}
