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
    FLOWS.iter().map(|(file, text)| Ok(FlowDefinition::parse(text, file)?)).collect()
}

/// The flow of a name, if there is one.
pub fn find(name: &str) -> Result<Option<FlowDefinition>, FlowError> {
    Ok(all()?.into_iter().find(|flow| flow.name == name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use holon_core::mode::{ModeCatalog, ModeSource};

    use super::*;
    use crate::definition::FlowSurroundings;

    #[test]
    fn every_flow_is_sound_and_named_like_its_file() {
        let modes = ModeCatalog::builtin().unwrap();
        let among = FlowSurroundings { modes: &modes, flows: &[] };
        for ((file, text), flow) in FLOWS.iter().zip(all().unwrap()) {
            assert_eq!(*file, format!("{}.toml", flow.name));
            assert_eq!(modes.canonical(&flow.name), None, "a flow's name is no mode's");
            // They pass what is asked of a repository's, and name modes by their canonical names.
            let judged = FlowDefinition::read(text, file, ModeSource::Project, &among).unwrap();
            assert_eq!(judged.steps, flow.steps);
        }
        assert!(find("plan-then-execute").unwrap().is_some());
        assert!(find("plan").unwrap().is_none());
    }
}
