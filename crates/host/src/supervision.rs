//! How closely a run is watched: flag beats spec beats project beats user, and a project can only tighten.

use std::path::Path;

use holon_core::spec::SpecSupervision;
use holon_supervisor::{SupervisorConfig, SupervisorConfigError, SupervisorLevel};

use crate::config::WorkspaceConfiguration;
use crate::error::HostError;
use crate::run::HostEnvironment;

/// Makes the supervisor watch and tell without acting.
pub(crate) const SHADOW_VARIABLE: &str = "HOLON_SUPERVISOR_SHADOW";

/// Where wishes come from.
pub(crate) struct SupervisionSources<'a> {
    pub configuration: &'a WorkspaceConfiguration,
    pub env: &'a HostEnvironment,
    /// `constraints.supervisor` of the spec.
    pub spec: Option<SpecSupervision>,
    /// `--supervisor`
    pub flag: Option<SpecSupervision>,
    /// `--shadow`
    pub shadow: bool,
}

/// The settings that count, and where level and shadow come from.
#[derive(Debug, Default)]
pub(crate) struct SupervisionSettings {
    pub config: SupervisorConfig,
    pub level_from: String,
    pub warnings: Vec<String>,
}

/// Works the settings out; anything malformed is an error that names file and key.
pub(crate) fn settle(wishes: &SupervisionSources<'_>) -> Result<SupervisionSettings, HostError> {
    let mut settled = SupervisionSettings { level_from: "default".into(), ..SupervisionSettings::default() };
    let user = &wishes.configuration.user_file;
    if let Some(section) = wishes.configuration.user_section("supervisor")? {
        settled.config = SupervisorConfig::from_table(&section).map_err(|e| wrong(user, &e))?;
        if section.contains_key("level") || section.contains_key("preset") {
            settled.level_from = user.display().to_string();
        }
    }
    let project = &wishes.configuration.project_file;
    if let Some(section) = wishes.configuration.project_section("supervisor")? {
        let before = settled.config.level;
        let loose = settled.config.tighten(&section).map_err(|e| wrong(project, &e))?;
        if settled.config.level != before {
            settled.level_from = "project holon.toml".into();
        }
        if !loose.is_empty() {
            let keys = loose.join(", ");
            settled.warnings.push(format!("holon.toml can only make supervision closer; not used: {keys}"));
        }
    }
    for (wish, from) in [(wishes.spec, "spec"), (wishes.flag, "flag --supervisor")] {
        if let Some(wish) = wish {
            settled.config.level = SupervisorLevel::from(wish);
            settled.level_from = from.into();
        }
    }
    settled.config.shadow |= wishes.shadow || wanted_by_environment(wishes.env)?;
    settled
        .config
        .check()
        .map_err(|e| HostError::usage(e.to_string(), "leave --shadow out, or raise the level"))?;
    Ok(settled)
}

fn wanted_by_environment(env: &HostEnvironment) -> Result<bool, HostError> {
    let Some(text) = env(SHADOW_VARIABLE) else { return Ok(false) };
    match text.to_string_lossy().trim() {
        "" | "0" | "false" => Ok(false),
        "1" | "true" => Ok(true),
        other => Err(HostError::usage(
            format!("{SHADOW_VARIABLE} is `{other}`"),
            "set it to 1 or 0, or leave it out",
        )),
    }
}

fn wrong(path: &Path, error: &SupervisorConfigError) -> HostError {
    HostError::usage(
        format!("{}: {error}", path.display()),
        "docs/supervisor.md lists every key with its default",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::ConfigurationFiles;
    use crate::holon_folders::HolonFolders;

    struct SupervisionCase<'a> {
        user: &'a str,
        project: &'a str,
        spec: Option<SpecSupervision>,
        flag: Option<SpecSupervision>,
        shadow: bool,
        variable: &'a str,
    }

    const NONE: SupervisionCase<'_> =
        SupervisionCase { user: "", project: "", spec: None, flag: None, shadow: false, variable: "" };

    fn settle_case(case: &SupervisionCase<'_>) -> Result<SupervisionSettings, HostError> {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (folder, file, text) in [("c", "config.toml", case.user), ("w", "holon.toml", case.project)] {
            std::fs::create_dir(at(folder)).unwrap();
            if !text.is_empty() {
                std::fs::write(at(folder).join(file), text).unwrap();
            }
        }
        let places = HolonFolders { state: at("s"), cache: at("h"), config: at("c"), home: None };
        let variable = case.variable.to_owned();
        let env = move |name: &str| (name == SHADOW_VARIABLE).then(|| variable.clone().into());
        let (spec, flag, shadow) = (case.spec, case.flag, case.shadow);
        let configuration = &ConfigurationFiles::new(&places).of(&at("w"))?;
        settle(&SupervisionSources { configuration, env: &env, spec, flag, shadow })
    }

    fn check(case: SupervisionCase<'_>, level: SupervisorLevel, from: &str, shadow: bool, warnings: usize) {
        let settled = settle_case(&case).unwrap();
        assert_eq!((settled.config.level, settled.config.shadow), (level, shadow));
        assert!(settled.level_from.ends_with(from), "{}", settled.level_from);
        assert_eq!(settled.warnings.len(), warnings, "{:?}", settled.warnings);
    }

    const OFF: &str = "[supervisor]\nlevel = 'off'\n";
    const STRICT: &str = "[supervisor]\nlevel = 'strict'\n";

    #[test]
    fn flag_beats_spec_beats_project_beats_user() {
        check(NONE, SupervisorLevel::Adaptive, "default", false, 0);
        check(SupervisionCase { user: OFF, ..NONE }, SupervisorLevel::Off, "config.toml", false, 0);
        check(
            SupervisionCase { user: OFF, project: STRICT, ..NONE },
            SupervisorLevel::Strict,
            "holon.toml",
            false,
            0,
        );
        check(
            SupervisionCase { user: STRICT, project: OFF, ..NONE },
            SupervisorLevel::Strict,
            "config.toml",
            false,
            1,
        );
        check(
            SupervisionCase { project: STRICT, spec: Some(SpecSupervision::Off), ..NONE },
            SupervisorLevel::Off,
            "spec",
            false,
            0,
        );
        let both =
            SupervisionCase { spec: Some(SpecSupervision::Off), flag: Some(SpecSupervision::Strict), ..NONE };
        check(both, SupervisorLevel::Strict, "--supervisor", false, 0);
    }

    #[test]
    fn shadow_by_flag_variable_or_key() {
        check(SupervisionCase { shadow: true, ..NONE }, SupervisorLevel::Adaptive, "default", true, 0);
        check(SupervisionCase { variable: "1", ..NONE }, SupervisorLevel::Adaptive, "default", true, 0);
        check(SupervisionCase { variable: "0", ..NONE }, SupervisorLevel::Adaptive, "default", false, 0);
        check(
            SupervisionCase { user: "[supervisor]\nshadow = true\n", ..NONE },
            SupervisorLevel::Adaptive,
            "default",
            true,
            0,
        );
        check(
            SupervisionCase { project: "[supervisor]\nshadow = true\n", ..NONE },
            SupervisorLevel::Adaptive,
            "default",
            false,
            1,
        );
    }

    #[test]
    fn what_is_malformed_is_an_error_that_names_the_key() {
        let wrong = |case: SupervisionCase<'_>, words: &str| {
            let error = settle_case(&case).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(words), "{error}");
        };
        wrong(SupervisionCase { user: "[supervisor]\nlevel = 'max'\n", ..NONE }, "supervisor.level");
        wrong(
            SupervisionCase { project: "[supervisor.triggers]\nno_progress = 'x'\n", ..NONE },
            "supervisor.triggers.no_progress",
        );
        wrong(SupervisionCase { user: "[supervisor\n", ..NONE }, "config.toml");
        wrong(SupervisionCase { user: "supervisor = 3\n", ..NONE }, "not a table");
        wrong(SupervisionCase { user: OFF, shadow: true, ..NONE }, "supervisor.shadow");
        wrong(SupervisionCase { variable: "yes please", ..NONE }, SHADOW_VARIABLE);
    }
}
