//! Licences looked up in local package caches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;

use holon_ethics::caches::PackageCaches;
use holon_ethics::{AssessedFile, AssessmentInput, Dependency, Ecosystem, LicenceLookup, RiskLevel, assess};

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn dependency(ecosystem: Ecosystem, name: &str, version: &str) -> Dependency {
    let version = Some(version.to_owned());
    Dependency { ecosystem, name: name.into(), version, development_only: false, from_address: false }
}

const MIT: &str = "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software\n";

#[test]
fn each_ecosystem_is_read_where_it_keeps_its_packages() {
    let root = tempfile::tempdir().unwrap();
    let (work, home) = (root.path().join("project"), root.path().join("home"));
    let crates = ".cargo/registry/src/index-1";
    write(
        &home,
        &format!("{crates}/foo-1.2.3/Cargo.toml"),
        "[package]\nname = \"foo\"\nversion = \"1.2.3\"\nlicense = \"GPL-3.0-only\"\n",
    );
    write(
        &home,
        &format!("{crates}/foo-bar-1.0.0/Cargo.toml"),
        "[package]\nname = \"foo-bar\"\nversion = \"1.0.0\"\nlicense = \"MIT\"\n",
    );
    write(&work, "node_modules/@s/pkg/package.json", "{\"license\": {\"type\": \"ISC\"}}");
    write(
        &work,
        "node_modules/old/package.json",
        "{\"licenses\": [{\"type\": \"MIT\"}, {\"type\": \"GPL-2.0\"}]}",
    );
    let site = ".venv/lib/python3.12/site-packages";
    write(
        &work,
        &format!("{site}/Foo_Bar-2.0.dist-info/METADATA"),
        "Name: Foo_Bar\nLicense: UNKNOWN\nClassifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)\n\nText",
    );
    write(&work, &format!("{site}/new-1.0.dist-info/METADATA"), "Name: new\nLicense-Expression: MIT\n\n");
    write(&home, "go/pkg/mod/github.com/!big/mod@v1.0.0/LICENSE", MIT);
    write(
        &home,
        ".m2/repository/org/acme/lib/1.0/lib-1.0.pom",
        "<project><parent><groupId>org.acme</groupId><artifactId>parent</artifactId><version>3</version></parent></project>",
    );
    write(
        &home,
        ".m2/repository/org/acme/parent/3/parent-3.pom",
        "<project><licenses><license><name>Apache License, Version 2.0</name></license></licenses></project>",
    );
    let caches = PackageCaches::usual(&work, &home);
    for (ecosystem, name, version, expect) in [
        (Ecosystem::Cargo, "foo", "1.2", Some("GPL-3.0-only")),
        (Ecosystem::Cargo, "foo-bar", "1", Some("MIT")),
        (Ecosystem::Cargo, "fo", "1", None),
        (Ecosystem::Npm, "@s/pkg", "^1", Some("ISC")),
        (Ecosystem::Npm, "old", "^1", Some("MIT OR GPL-2.0")),
        (Ecosystem::Npm, "../../etc", "1", None),
        (Ecosystem::Pip, "foo-bar", "2", Some("GNU General Public License v3 (GPLv3)")),
        (Ecosystem::Pip, "new", "1", Some("MIT")),
        (Ecosystem::Go, "github.com/Big/mod", "v1.0.0", Some(MIT)),
        (Ecosystem::Maven, "org.acme:lib", "1.0", Some("Apache License, Version 2.0")),
        (Ecosystem::Maven, "org.acme:none", "1.0", None),
    ] {
        assert_eq!(caches.licence(&dependency(ecosystem, name, version)).as_deref(), expect, "{name}");
    }
}

#[test]
fn what_cannot_be_looked_up_is_unverified_and_medium() {
    let root = tempfile::tempdir().unwrap();
    let file = AssessedFile {
        path: "Cargo.toml".into(),
        before: Some(b"[dependencies]\n".to_vec()),
        after: Some(b"[dependencies]\nnobody-knows-this = \"1\"\n".to_vec()),
    };
    let input = AssessmentInput {
        files: vec![file],
        project_licence: Some("MIT".into()),
        ..AssessmentInput::default()
    };
    let assessment = assess(&input, &PackageCaches::usual(root.path(), root.path()));
    let check = assessment.checks.iter().find(|check| check.id == "dependency-licences").unwrap();
    assert_eq!((check.status.name(), check.severity), ("unverified", Some(RiskLevel::Medium)));
    assert_eq!(assessment.risk_level, RiskLevel::Medium);
}

#[test]
fn a_licence_a_person_takes_is_fine_and_others_are_not() {
    let root = tempfile::tempdir().unwrap();
    let crates = ".cargo/registry/src/index-1";
    for (name, licence) in [("copyleft", "GPL-3.0-only"), ("network", "AGPL-3.0-only")] {
        let text = format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nlicense = \"{licence}\"\n");
        write(root.path(), &format!("{crates}/{name}-1.0.0/Cargo.toml"), &text);
    }
    let assessed = |name: &str, allowed: &[&str]| {
        let after = format!("[dependencies]\n{name} = \"1\"\n").into_bytes();
        let file = AssessedFile {
            path: "Cargo.toml".into(),
            before: Some(b"[dependencies]\n".to_vec()),
            after: Some(after),
        };
        let input = AssessmentInput {
            files: vec![file],
            project_licence: Some("MIT".into()),
            allowed_licences: allowed.iter().map(ToString::to_string).collect(),
            ..AssessmentInput::default()
        };
        assess(&input, &PackageCaches::usual(root.path(), root.path())).risk_level
    };
    assert_eq!(assessed("copyleft", &[]), RiskLevel::High);
    assert_eq!(assessed("copyleft", &["MPL-2.0"]), RiskLevel::High);
    assert_eq!(assessed("copyleft", &["GPL-3.0-only"]), RiskLevel::Low);
    assert_eq!(assessed("network", &["GPL-3.0-only"]), RiskLevel::High);
}
