//! go.

use serde_json::Value;

use super::queries::ClientQueries;
use super::set_host::{SetHosts, without_user};

/// Asks go for its proxies and its database of checksums.
pub(super) fn go(queries: &dyn ClientQueries, hosts: &mut SetHosts) {
    let arguments = ["env", "-json", "GOPROXY", "GOSUMDB", "GONOPROXY", "GOPRIVATE"];
    let answer = match queries.ask("go", &arguments) {
        Ok(answer) => answer,
        Err(error) => return hosts.note(error.to_string()),
    };
    let Ok(value) = serde_json::from_str::<Value>(&answer) else {
        return hosts.note("`go env -json` printed no JSON");
    };
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    for proxy in text("GOPROXY").split([',', '|']).map(str::trim) {
        match proxy {
            "direct" => hosts.note(
                "where a proxy lacks a module, go asks the module's own host: name it with --allow-net",
            ),
            "off" | "" => {}
            url => hosts.add_url(url, "`go env GOPROXY`"),
        }
    }
    let database = text("GOSUMDB");
    // A key, and an address where that is not the name itself.
    let mut words = database.split_whitespace();
    if let Some(name) = words.next().filter(|name| *name != "off") {
        let name = name.split('+').next().unwrap_or_default();
        let url = words.next().map_or_else(|| format!("https://{name}/"), str::to_owned);
        hosts.add_url(&url, "`go env GOSUMDB`");
    }
    let proxies: Vec<String> = text("GOPROXY")
        .split(',')
        .map(|one| one.split('|').filter_map(|url| without_user(url.trim())).collect::<Vec<_>>().join("|"))
        .collect();
    for (key, value) in [
        ("GOPROXY", proxies.join(",")),
        ("GOSUMDB", database.split_whitespace().filter_map(without_user).collect::<Vec<_>>().join(" ")),
        ("GONOPROXY", text("GONOPROXY")),
        ("GOPRIVATE", text("GOPRIVATE")),
    ] {
        hosts.tell_as_it_is(key, &value);
    }
    let private = text("GOPRIVATE");
    if !private.is_empty() {
        hosts.note(format!("modules of {private} come from their own hosts: name them with --allow-net"));
    }
}
