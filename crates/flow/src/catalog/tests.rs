#![allow(clippy::unwrap_used)]
use super::*;

const READS: &str = "description = \"x\"\n[[step]]\nname = \"a\"\nmode = \"plan\"\n";

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(format!("{name}.toml")), text).unwrap();
}

#[test]
fn files_of_the_user_come_before_those_of_a_project_and_wrong_ones_stop_nobody() {
    let temp = tempfile::tempdir().unwrap();
    let at = |name: &str| temp.path().join(name);
    let places = HolonFolders { state: at("state"), cache: at("cache"), config: at("config"), home: None };
    let workspace = at("work");
    let (own, theirs) = (places.config.join("flows"), workspace.join(".holon/flows"));
    write(&own, "both", READS);
    write(&own, "broken", "description = 1\n");
    write(&theirs, "both", READS);
    write(&theirs, "more", READS);
    write(&theirs, "plan-then-execute", READS);
    std::os::unix::fs::symlink(own.join("both.toml"), theirs.join("linked.toml")).unwrap();
    let catalog = FlowCatalog::of(&places, Some(&workspace)).unwrap();
    let names: Vec<(&str, ModeSource)> =
        catalog.list().iter().map(|flow| (flow.name.as_str(), flow.source())).collect();
    let expected = [
        ("plan-then-execute", ModeSource::Builtin),
        ("review-fix", ModeSource::Builtin),
        ("both", ModeSource::User),
        ("more", ModeSource::Project),
    ];
    assert_eq!(names, expected);
    let refused: Vec<&str> = catalog.refused().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(refused, ["linked", "broken", "both", "plan-then-execute"]);
    let wrong = catalog.find("broken").unwrap_err();
    assert_eq!(wrong.line, Some(1));
    assert!(wrong.file.ends_with("config/flows/broken.toml"), "{wrong}");
    assert_eq!(catalog.find("both").unwrap().unwrap().source(), ModeSource::User);
    // A project's file keeps nobody from the user's mode of that name.
    write(&places.config.join("modes"), "mine", "extends = \"plan\"\ndescription = \"x\"\n");
    write(&theirs, "mine", READS);
    let again = FlowCatalog::of(&places, Some(&workspace)).unwrap();
    assert!(again.find("mine").unwrap().is_none() && again.refused().iter().any(|(name, _)| name == "mine"));
    assert!(catalog.find("nothing").unwrap().is_none());
}
