//! Which walls a run gets: a decision without looking at the machine, from what was found out before.

use std::fmt;

use holon_core::sandbox::IsolationLevel;

use super::probe::IsolationProbes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::isolation::LaunchRefusal;

/// What a person asked for with `--sandbox`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SandboxChoice")]
pub enum SandboxChoice {
    /// The strongest there is.
    #[default]
    Auto,
    /// Native walls or nothing.
    Native,
    /// A container or nothing.
    Oci,
    /// Bubblewrap or nothing.
    Bubblewrap,
    /// Landlock or nothing.
    Landlock,
    /// No walls.
    None,
}

/// What a run needs of its walls.
#[derive(Debug, Clone, Copy)]
pub struct IsolationDemand {
    /// What was asked for.
    pub choice: SandboxChoice,
    /// The weakest level the mode accepts.
    pub minimum: IsolationLevel,
    /// Whether the agent is an image, or one is named for it to run in.
    pub image: bool,
    /// Whether the person accepted to have no walls.
    pub accepts_none: bool,
}

/// The backend to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenBackend {
    /// Never [`SandboxChoice::Auto`].
    pub backend: SandboxChoice,
    /// The level it stands on.
    pub level: IsolationLevel,
}

/// Why no backend will do, with everything that was considered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NoSandboxBackend {
    /// The weakest level that would have been accepted.
    pub minimum: IsolationLevel,
    /// What was considered, in order.
    pub tried: Vec<TriedBackend>,
}

/// One backend that did not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedBackend {
    /// Its name.
    pub backend: &'static str,
    /// Why not.
    pub why: String,
    /// What a person can do about it.
    pub remedy: Option<String>,
}

impl fmt::Display for NoSandboxBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no sandbox of level {} or better can be had here", self.minimum)?;
        for tried in &self.tried {
            write!(f, "\n  {}: {}", tried.backend, tried.why)?;
            if let Some(remedy) = &tried.remedy {
                write!(f, "\n    {remedy}")?;
            }
        }
        Ok(())
    }
}

/// Strongest first.
const RUNGS: [SandboxChoice; 4] =
    [SandboxChoice::Native, SandboxChoice::Oci, SandboxChoice::Bubblewrap, SandboxChoice::Landlock];

/// Chooses the strongest backend that works, is allowed by the choice, and meets the minimum.
pub fn choose_backend(
    wanted: &IsolationDemand,
    probes: &IsolationProbes,
) -> Result<ChosenBackend, NoSandboxBackend> {
    let mut tried = Vec::new();
    let rungs = match wanted.choice {
        // What is in an image can only run in a container.
        SandboxChoice::Auto if wanted.image => &[SandboxChoice::Oci][..],
        SandboxChoice::Auto => &RUNGS[..],
        SandboxChoice::None => return without_walls(wanted),
        ref one => std::slice::from_ref(one),
    };
    for rung in rungs {
        match consider(*rung, wanted, probes) {
            Ok(level) => return Ok(ChosenBackend { backend: *rung, level }),
            Err(reason) => tried.push(reason),
        }
    }
    Err(NoSandboxBackend { minimum: wanted.minimum, tried })
}

fn consider(
    rung: SandboxChoice,
    wanted: &IsolationDemand,
    probes: &IsolationProbes,
) -> Result<IsolationLevel, TriedBackend> {
    let because = |why: &str, remedy: Option<&str>| TriedBackend {
        backend: rung.name(),
        why: why.to_owned(),
        remedy: remedy.map(str::to_owned),
    };
    let refused = |refusal: &LaunchRefusal| because(&refusal.to_string(), refusal.remedy());
    let level = match rung {
        SandboxChoice::Native => probes.native.as_ref().map_err(refused).copied()?,
        SandboxChoice::Oci if !wanted.image => {
            return Err(because("there is no image to run the agent in", Some("name one with --image")));
        }
        SandboxChoice::Oci => probes.oci.as_ref().map_err(refused).map(|()| IsolationLevel::L2)?,
        SandboxChoice::Bubblewrap => {
            probes.bubblewrap.as_ref().map_err(refused).map(|()| IsolationLevel::L3)?
        }
        SandboxChoice::Landlock => probes.landlock.as_ref().map_err(refused).map(|_| IsolationLevel::L4)?,
        SandboxChoice::Auto | SandboxChoice::None => IsolationLevel::None,
    };
    if level.meets(wanted.minimum) {
        return Ok(level);
    }
    Err(because(&format!("works, but is only level {level}; the mode asks for {}", wanted.minimum), None))
}

/// The person's word is enough, whatever the mode asks for; the manifest will say so.
fn without_walls(wanted: &IsolationDemand) -> Result<ChosenBackend, NoSandboxBackend> {
    if wanted.accepts_none {
        return Ok(ChosenBackend { backend: SandboxChoice::None, level: IsolationLevel::None });
    }
    let tried = TriedBackend {
        backend: SandboxChoice::None.name(),
        why: "without walls the agent can do whatever you can".to_owned(),
        remedy: Some("if that is what you want, add --i-accept-no-isolation".to_owned()),
    };
    Err(NoSandboxBackend { minimum: wanted.minimum, tried: vec![tried] })
}

impl SandboxChoice {
    /// The name of the backend, as in manifests.
    pub fn name(self) -> &'static str {
        match self {
            SandboxChoice::Auto => "auto",
            SandboxChoice::Native => "native",
            SandboxChoice::Oci => "oci",
            SandboxChoice::Bubblewrap => "bubblewrap",
            SandboxChoice::Landlock => "landlock",
            SandboxChoice::None => "none",
        }
    }
}

impl std::str::FromStr for SandboxChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [
            SandboxChoice::Auto,
            SandboxChoice::Native,
            SandboxChoice::Oci,
            SandboxChoice::Bubblewrap,
            SandboxChoice::Landlock,
            SandboxChoice::None,
        ];
        all.into_iter().find(|choice| choice.name() == text).ok_or_else(|| {
            format!("unknown sandbox {text:?}: it is one of {}", all.map(SandboxChoice::name).join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::isolation::LaunchStep;

    fn refused(errno: i32) -> LaunchRefusal {
        LaunchRefusal {
            step: LaunchStep::Namespaces,
            errno,
            message: "refused".into(),
            detail: String::new(),
        }
    }

    /// `works` names the rungs that answer: n(ative), o(ci), b(ubblewrap), l(andlock).
    fn probes(works: &str) -> IsolationProbes {
        let ok = |rung: char| if works.contains(rung) { Ok(()) } else { Err(refused(libc::EPERM)) };
        IsolationProbes {
            native: ok('n').map(|()| IsolationLevel::L0),
            oci: ok('o'),
            bubblewrap: ok('b'),
            landlock: ok('l').map(|()| 7),
        }
    }

    fn wanted(choice: SandboxChoice, minimum: IsolationLevel, image: bool) -> IsolationDemand {
        IsolationDemand { choice, minimum, image, accepts_none: false }
    }

    #[test]
    fn the_strongest_rung_that_works_and_is_enough() {
        use SandboxChoice::{Auto, Bubblewrap, Landlock, Native, Oci};
        let check = |works: &str, choice, minimum, image, expect: Option<(SandboxChoice, IsolationLevel)>| {
            let found = choose_backend(&wanted(choice, minimum, image), &probes(works)).ok();
            let expect = expect.map(|(backend, level)| ChosenBackend { backend, level });
            assert_eq!(found, expect, "{works} {choice:?} {minimum} image {image}");
        };
        check("nobl", Auto, IsolationLevel::L4, false, Some((Native, IsolationLevel::L0)));
        check("obl", Auto, IsolationLevel::L4, false, Some((Bubblewrap, IsolationLevel::L3)));
        check("ol", Auto, IsolationLevel::L4, false, Some((Landlock, IsolationLevel::L4)));
        check("l", Auto, IsolationLevel::L3, false, None);
        check("", Auto, IsolationLevel::None, false, None);
        check("nobl", Auto, IsolationLevel::L4, true, Some((Oci, IsolationLevel::L2)));
        check("nbl", Auto, IsolationLevel::L4, true, None);
        check("nobl", Auto, IsolationLevel::L1, true, None);
        check("nobl", Oci, IsolationLevel::L2, true, Some((Oci, IsolationLevel::L2)));
        check("nobl", Oci, IsolationLevel::L2, false, None);
        check("nobl", Landlock, IsolationLevel::L4, false, Some((Landlock, IsolationLevel::L4)));
        check("nobl", Landlock, IsolationLevel::L1, false, None);
        check("obl", Native, IsolationLevel::L4, false, None);
    }

    #[test]
    fn no_walls_only_on_the_persons_word() {
        let mut asked = wanted(SandboxChoice::None, IsolationLevel::L1, false);
        let refusal = choose_backend(&asked, &probes("nobl")).unwrap_err();
        assert!(refusal.to_string().contains("--i-accept-no-isolation"), "{refusal}");
        asked.accepts_none = true;
        assert_eq!(
            choose_backend(&asked, &probes("")).unwrap(),
            ChosenBackend { backend: SandboxChoice::None, level: IsolationLevel::None }
        );
        // The word alone does not lower what was not asked for.
        asked.choice = SandboxChoice::Auto;
        assert!(choose_backend(&asked, &probes("l")).is_err());
    }

    #[test]
    fn a_refusal_lists_everything_that_was_tried() {
        let refusal = choose_backend(&wanted(SandboxChoice::Auto, IsolationLevel::L3, false), &probes("l"))
            .unwrap_err();
        let names: Vec<_> = refusal.tried.iter().map(|tried| tried.backend).collect();
        assert_eq!(names, ["native", "oci", "bubblewrap", "landlock"]);
        let text = refusal.to_string();
        for part in ["level L3", "seccomp profile", "--image", "only level L4"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn names_are_understood_and_others_are_not() {
        for name in ["auto", "native", "oci", "bubblewrap", "landlock", "none"] {
            assert_eq!(name.parse::<SandboxChoice>().unwrap().name(), name);
        }
        assert!("docker".parse::<SandboxChoice>().unwrap_err().contains("bubblewrap"));
    }
}
