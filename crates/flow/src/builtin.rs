//! The flows that come with Holon, embedded from `modes/flows/`.

use crate::definition::FlowDefinition;
use crate::error::FlowError;

macro_rules! flows {
    ($($name:literal),*) => {
        &[$((concat!($name, ".toml"), include_str!(concat!("../../../modes/flows/", $name, ".toml")))),*]
    };
}

const FLOWS: &[(&str, &str)] = flows!["plan-then-execute", "review-fix"];

/// All flows, in the order they are listed.
pub fn all() -> Result<Vec<FlowDefinition>, FlowError> {
    FLOWS.iter().map(|(file, text)| FlowDefinition::parse(text, file)).collect()
}

/// The flow of a name, if there is one.
pub fn find(name: &str) -> Result<Option<FlowDefinition>, FlowError> {
    Ok(all()?.into_iter().find(|flow| flow.name == name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_core::mode::ModeCatalog;

    use super::*;
    use crate::definition::StepWork;

    #[test]
    fn every_flow_is_sound_and_named_like_its_file() {
        let catalog = ModeCatalog::builtin().unwrap();
        for ((file, _), flow) in FLOWS.iter().zip(all().unwrap()) {
            assert_eq!(*file, format!("{}.toml", flow.name));
            assert_eq!(catalog.canonical(&flow.name), None, "a flow's name is no mode's");
            for step in &flow.steps {
                if let StepWork::Run(run) = &step.work {
                    assert_eq!(catalog.canonical(&run.mode), Some(run.mode.as_str()), "canonical names only");
                }
            }
        }
        assert!(find("plan-then-execute").unwrap().is_some());
        assert!(find("plan").unwrap().is_none());
    }
}
