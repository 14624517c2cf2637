//! Which walls a run gets: a decision without looking at the machine, from what was found out before.

use std::fmt;

use holon_core::sandbox::Level;

use super::probe::Probes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::walls::Refusal;

/// What a person asked for with `--sandbox`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SandboxChoice")]
pub enum Choice {
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
pub struct Wanted {
    /// What was asked for.
    pub choice: Choice,
    /// The weakest level the mode accepts.
    pub minimum: Level,
    /// Whether the agent is an image, or one is named for it to run in.
    pub image: bool,
    /// Whether the person accepted to have no walls.
    pub accepts_none: bool,
}

/// The backend to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// Never [`Choice::Auto`].
    pub backend: Choice,
    /// The level it stands on.
    pub level: Level,
}

/// Why no backend will do, with everything that was considered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NoBackend {
    /// The weakest level that would have been accepted.
    pub minimum: Level,
    /// What was considered, in order.
    pub tried: Vec<Tried>,
}

/// One backend that did not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// Its name.
    pub backend: &'static str,
    /// Why not.
    pub why: String,
    /// What a person can do about it.
    pub remedy: Option<String>,
}

impl fmt::Display for NoBackend {
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
const RUNGS: [Choice; 4] = [Choice::Native, Choice::Oci, Choice::Bubblewrap, Choice::Landlock];

/// Chooses the strongest backend that works, is allowed by the choice, and meets the minimum.
pub fn ladder(wanted: &Wanted, probes: &Probes) -> Result<Chosen, NoBackend> {
    let mut tried = Vec::new();
    let rungs = match wanted.choice {
        // What is in an image can only run in a container.
        Choice::Auto if wanted.image => &[Choice::Oci][..],
        Choice::Auto => &RUNGS[..],
        Choice::None => return without_walls(wanted),
        ref one => std::slice::from_ref(one),
    };
    for rung in rungs {
        match consider(*rung, wanted, probes) {
            Ok(level) => return Ok(Chosen { backend: *rung, level }),
            Err(reason) => tried.push(reason),
        }
    }
    Err(NoBackend { minimum: wanted.minimum, tried })
}

fn consider(rung: Choice, wanted: &Wanted, probes: &Probes) -> Result<Level, Tried> {
    let because = |why: &str, remedy: Option<&str>| Tried {
        backend: rung.name(),
        why: why.to_owned(),
        remedy: remedy.map(str::to_owned),
    };
    let refused = |refusal: &Refusal| because(&refusal.to_string(), refusal.remedy());
    let level = match rung {
        Choice::Native => probes.native.as_ref().map_err(refused).copied()?,
        Choice::Oci if !wanted.image => {
            return Err(because("there is no image to run the agent in", Some("name one with --image")));
        }
        Choice::Oci => probes.oci.as_ref().map_err(refused).map(|()| Level::L2)?,
        Choice::Bubblewrap => probes.bubblewrap.as_ref().map_err(refused).map(|()| Level::L3)?,
        Choice::Landlock => probes.landlock.as_ref().map_err(refused).map(|_| Level::L4)?,
        Choice::Auto | Choice::None => Level::None,
    };
    if level.meets(wanted.minimum) {
        return Ok(level);
    }
    Err(because(&format!("works, but is only level {level}; the mode asks for {}", wanted.minimum), None))
}

/// The person's word is enough, whatever the mode asks for; the manifest will say so.
fn without_walls(wanted: &Wanted) -> Result<Chosen, NoBackend> {
    if wanted.accepts_none {
        return Ok(Chosen { backend: Choice::None, level: Level::None });
    }
    let tried = Tried {
        backend: Choice::None.name(),
        why: "without walls the agent can do whatever you can".to_owned(),
        remedy: Some("if that is what you want, add --i-accept-no-isolation".to_owned()),
    };
    Err(NoBackend { minimum: wanted.minimum, tried: vec![tried] })
}

impl Choice {
    /// The name of the backend, as in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Choice::Auto => "auto",
            Choice::Native => "native",
            Choice::Oci => "oci",
            Choice::Bubblewrap => "bubblewrap",
            Choice::Landlock => "landlock",
            Choice::None => "none",
        }
    }
}

impl std::str::FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all =
            [Choice::Auto, Choice::Native, Choice::Oci, Choice::Bubblewrap, Choice::Landlock, Choice::None];
        all.into_iter().find(|choice| choice.name() == text).ok_or_else(|| {
            format!("unknown sandbox {text:?}: it is one of {}", all.map(Choice::name).join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::walls::Step;

    fn refused(errno: i32) -> Refusal {
        Refusal { step: Step::Namespaces, errno, message: "refused".into(), detail: String::new() }
    }

    /// `works` names the rungs that answer: n(ative), o(ci), b(ubblewrap), l(andlock).
    fn probes(works: &str) -> Probes {
        let ok = |rung: char| if works.contains(rung) { Ok(()) } else { Err(refused(libc::EPERM)) };
        Probes {
            native: ok('n').map(|()| Level::L0),
            oci: ok('o'),
            bubblewrap: ok('b'),
            landlock: ok('l').map(|()| 7),
        }
    }

    fn wanted(choice: Choice, minimum: Level, image: bool) -> Wanted {
        Wanted { choice, minimum, image, accepts_none: false }
    }

    #[test]
    fn the_strongest_rung_that_works_and_is_enough() {
        use Choice::{Auto, Bubblewrap, Landlock, Native, Oci};
        let check = |works: &str, choice, minimum, image, expect: Option<(Choice, Level)>| {
            let found = ladder(&wanted(choice, minimum, image), &probes(works)).ok();
            let expect = expect.map(|(backend, level)| Chosen { backend, level });
            assert_eq!(found, expect, "{works} {choice:?} {minimum} image {image}");
        };
        check("nobl", Auto, Level::L4, false, Some((Native, Level::L0)));
        check("obl", Auto, Level::L4, false, Some((Bubblewrap, Level::L3)));
        check("ol", Auto, Level::L4, false, Some((Landlock, Level::L4)));
        check("l", Auto, Level::L3, false, None);
        check("", Auto, Level::None, false, None);
        check("nobl", Auto, Level::L4, true, Some((Oci, Level::L2)));
        check("nbl", Auto, Level::L4, true, None);
        check("nobl", Auto, Level::L1, true, None);
        check("nobl", Oci, Level::L2, true, Some((Oci, Level::L2)));
        check("nobl", Oci, Level::L2, false, None);
        check("nobl", Landlock, Level::L4, false, Some((Landlock, Level::L4)));
        check("nobl", Landlock, Level::L1, false, None);
        check("obl", Native, Level::L4, false, None);
    }

    #[test]
    fn no_walls_only_on_the_persons_word() {
        let mut asked = wanted(Choice::None, Level::L1, false);
        let refusal = ladder(&asked, &probes("nobl")).unwrap_err();
        assert!(refusal.to_string().contains("--i-accept-no-isolation"), "{refusal}");
        asked.accepts_none = true;
        assert_eq!(
            ladder(&asked, &probes("")).unwrap(),
            Chosen { backend: Choice::None, level: Level::None }
        );
        // The word alone does not lower what was not asked for.
        asked.choice = Choice::Auto;
        assert!(ladder(&asked, &probes("l")).is_err());
    }

    #[test]
    fn a_refusal_lists_everything_that_was_tried() {
        let refusal = ladder(&wanted(Choice::Auto, Level::L3, false), &probes("l")).unwrap_err();
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
            assert_eq!(name.parse::<Choice>().unwrap().name(), name);
        }
        assert!("docker".parse::<Choice>().unwrap_err().contains("bubblewrap"));
    }
}
