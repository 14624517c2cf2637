//! Tokens made by a generator: shapes of many providers, shapes nobody knows yet, and values that only look like them.

use holon_core::artifact::ethics::CheckStatus;
use holon_ethics::{NoLicenceLookup, assess, combine};

use crate::story::{StoryCase, StoryRandom, expand};
use crate::{LEAST_RECALL, MOST_FALSE, show};

/// How many of each are made.
const ROUNDS: usize = 8;

/// Places a value can stand in: path and line, with VALUE for it.
const CARRIERS: [(&str, &str); 8] = [
    ("src/client.py", "client = Client(\"VALUE\")"),
    (".env", "SERVICE_TOKEN=VALUE"),
    ("config/app.yaml", "service:\n  token: VALUE"),
    ("web/app.js", "const key = 'VALUE';"),
    ("cmd/main.go", "var token = \"VALUE\""),
    ("docs/run.md", "export TOKEN=VALUE"),
    ("tests/test_it.py", "HEADERS = {'X-Auth': 'VALUE'}"),
    ("src/Main.java", "String s = \"Bearer VALUE\";"),
];

/// Shapes of providers, in parts.
const PROVIDERS: [&str; 40] = [
    "«gh|p_|@alnum36»",
    "«gh|s_|@alnum36»",
    "«github|_pat_|@alnum22|_|@alnum59»",
    "«gl|pat-|@url20»",
    "«AK|IA|@base32:16»",
    "«AS|IA|@base32:16»",
    "«AI|za|@url35»",
    "«ya|29.|@url60»",
    "«GO|CSPX-|@url28»",
    "«xo|xb-|@digit12|-|@digit12|-|@alnum24»",
    "«xo|xp-|@digit12|-|@digit12|-|@digit12|-|@hex32»",
    "«sk|_live_|@alnum24»",
    "«rk|_live_|@alnum24»",
    "«wh|sec_|@alnum32»",
    "«sk|-ant-api03-|@url93|AA»",
    "«sk|-proj-|@url64»",
    "«sk|-or-v1-|@hex64»",
    "«gs|k_|@alnum52»",
    "«h|f_|@alnum34»",
    "«r|8_|@alnum37»",
    "«S|G.|@url22|.|@url43»",
    "«np|m_|@alnum36»",
    "«py|pi-AgEIcHlwaS5vcmc|@url70»",
    "«dck|r_pat_|@url27»",
    "«do|p_v1_|@hex64»",
    "«da|pi|@hex32»",
    "«hv|s.|@url90»",
    "«lin|_api_|@alnum40»",
    "«shp|at_|@hex32»",
    "«@digit10|:AA|@url33»",
    "«@hex32|-us|21»",
    "«gl|sa_|@alnum32|_|@hex8»",
    "«PM|AK-|@hex24|-|@hex34»",
    "«rubyg|ems_|@hex48»",
    "«pa|t|@alnum14|.|@hex64»",
    "«fig|d_|@url43»",
    "«xkey|sib-|@hex64|-|@alnum16»",
    "«key|-|@hex32»",
    "«nt|n_|@alnum46»",
    "«@alnum14|.atlas|v1.|@url64»",
];

/// Credentials of nobody's known shape, which only their name gives away.
const UNKNOWN: [(&str, &str); 10] = [
    ("src/a.py", "ACME_API_KEY = '«acme|_live_|@alnum32»'"),
    ("app/b.rb", "config.client_secret = \"«@alnum28»\""),
    ("src/c.ts", "export const authToken: string = '«zq|-|@hex40»';"),
    ("conf/d.properties", "payment.gateway.secret=«@url36»"),
    ("e.env", "INTERNAL_SERVICE_TOKEN=«v2|:|@b64:48»"),
    ("infra/f.tfvars", "db_password = \"«@alnum20»\""),
    ("src/g.go", "signingKey := \"«@hex64»\""),
    ("src/H.java", "private static final String ENCRYPTION_KEY = \"«@b64:44»\";"),
    ("i.json", "{\"accessToken\": \"«tok|_|@alnum24|_|@alnum8»\"}"),
    ("j.cs", "var apiKey = \"«@upnum32»\";"),
];

/// Values that are no credentials.
const LOOK_ALIKES: [(&str, &str); 16] = [
    ("src/a.py", "COMMIT = '«@hex40»'"),
    ("src/b.go", "const digest = \"sha256:«@hex64»\""),
    ("src/c.ts", "const id = '«@uuid»';"),
    ("yarn.lock", "  integrity sha512-«@b64:86»=="),
    ("Cargo.lock", "checksum = \"«@hex64»\""),
    ("src/d.rs", "const PUBLIC_KEY: &str = \"«@b64:44»\";"),
    ("keys.pub", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ«@b64:200» me@host"),
    ("web/e.html", "<img src=\"data:image/png;base64,iVBORw0KGgo«@b64:120»\">"),
    ("src/f.js", "const etag = '«@hex32»';"),
    ("docs/g.md", "Set `API_KEY=your-key-here` first; the build was «@hex40»."),
    ("tests/test_h.py", "TOKEN = 'test-token-«@digit6»'"),
    ("src/i.py", "page_token = '«@alnum32»'"),
    ("src/j.java", "private static final long serialVersionUID = «@digit18»L;"),
    ("data/k.csv", "id,hash\n1,«@hex64»\n2,«@hex64»"),
    ("src/l.ts", "const className = 'css-«@hex8»-MuiButton-root';"),
    ("Dockerfile", "FROM debian@sha256:«@hex64»"),
];

fn case(number: usize, path: &str, line: &str) -> StoryCase {
    StoryCase::of(&format!("round {number} {path} {line}"), path, line)
}

#[test]
fn generated_tokens_of_providers_are_found() {
    let (mut total, mut missed) = (0, Vec::new());
    for round in 0..ROUNDS {
        for (index, shape) in PROVIDERS.iter().enumerate() {
            let (path, line) = CARRIERS[(round + index) % CARRIERS.len()];
            let case = case(round, path, &line.replace("VALUE", shape));
            let assessment = assess(&case.input(), &NoLicenceLookup);
            total += 1;
            let check = assessment.checks.iter().find(|check| check.id == "secrets").unwrap();
            if check.status != CheckStatus::Fail {
                missed.push(format!("{} {}", case.name, expand(shape, &case.name)));
                continue;
            }
            let report = combine(&assessment, None, true);
            let told = serde_json::to_string(&report).unwrap() + &report.to_markdown();
            let value = case.values().remove(0);
            assert!(!told.contains(&value), "{told}");
        }
    }
    let recall = 1.0 - missed.len() as f64 / total as f64;
    println!("generated tokens: {total}, recall {:.1} %", recall * 100.0);
    missed.iter().for_each(|missed| println!("missed {missed}"));
    assert!(recall >= LEAST_RECALL);
}

#[test]
fn held_out_shapes_are_found_by_their_name() {
    let (mut total, mut missed) = (0, Vec::new());
    for round in 0..ROUNDS * 4 {
        for (path, line) in UNKNOWN {
            let case = case(round, path, line);
            total += 1;
            let assessment = assess(&case.input(), &NoLicenceLookup);
            if !assessment.risk_level.blocks() {
                missed.push(format!("{path} {}", expand(line, &case.name)));
            }
        }
    }
    let recall = 1.0 - missed.len() as f64 / total as f64;
    println!("unknown shapes: {total}, recall {:.1} %", recall * 100.0);
    missed.iter().for_each(|missed| println!("missed {missed}"));
    assert!(recall >= LEAST_RECALL);
}

#[test]
fn generated_look_alikes_pass() {
    let (mut total, mut wrong) = (0, Vec::new());
    for round in 0..ROUNDS * 4 {
        for (path, line) in LOOK_ALIKES {
            let case = case(round, path, line);
            total += 1;
            let assessment = assess(&case.input(), &NoLicenceLookup);
            if assessment.risk_level.blocks() {
                wrong.push(format!("{path} {}\n{}", expand(line, &case.name), show(&assessment)));
            }
        }
    }
    let share = wrong.len() as f64 / total as f64;
    println!("generated look-alikes: {total}, false positives {:.1} %", share * 100.0);
    wrong.iter().for_each(|wrong| println!("blocked {wrong}"));
    assert!(share <= MOST_FALSE);
}

#[test]
fn the_generator_is_the_same_everywhere() {
    assert_eq!(StoryRandom::of("x").text("abcdef", 8), StoryRandom::of("x").text("abcdef", 8));
    assert_eq!(expand("a «b|c» d", ""), "a bc d");
    assert_ne!(expand("«@hex32»", "1"), expand("«@hex32»", "2"));
}
