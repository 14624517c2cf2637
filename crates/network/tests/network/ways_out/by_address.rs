//! By an address, in any spelling, or by a name that leads to one.

use super::*;

#[test]
fn by_address() {
    let all = Surroundings::new();
    for authority in [
        "127.0.0.1:443",
        "127.0.0.1:80",
        "10.0.0.5:443",
        "172.16.0.5:443",
        "192.168.1.1:443",
        "169.254.169.254:80",
        "100.64.0.1:443",
        "0.0.0.0:80",
        "224.0.0.1:80",
        "[::1]:443",
        "[::ffff:127.0.0.1]:443",
        "[64:ff9b::7f00:1]:443",
        "[2002:7f00:1::]:443",
        "[fd00:ec2::254]:80",
        "[fe80::1]:443",
        "[::]:80",
        "93.184.216.34:443",
        "[::7f00:1]:80",
        "[::ffff:93.184.216.34]:443",
        "127.1:80",
        "2130706433:80",
        "0x7f000001:80",
        "0177.0.0.1:80",
        "127.0.0.1.:80",
        "127.0.0.1.:443",
        "[fe80::1%25eth0]:80",
        "１２７.0.0.1:80",
        "0x7f.1:80",
        "localhost:80",
        "127.0.0.1%00.open.test:443",
        "open.test@127.0.0.1:443",
        "127.0.0.1:443#open.test:443",
        "127.0.0.1",
        "open.test",
        "open.test:22",
        "open.test:0",
        "open.test:443:80",
        "other.test:443",
        "wild.test:443",
        "xwild.test:443",
        "open.test.other.test:443",
        ":443",
        "*:443",
        "a.wild.test:8443",
        "open.test:65979",
        "open.test,127.0.0.1:443",
        "//127.0.0.1:443",
        "open.test:443/",
        "read.test:80",
    ] {
        all.expect_nothing_through(authority, connect(authority));
        if !authority.contains(":443") {
            all.expect_nothing_through(authority, get(&format!("http://{authority}/{MARK}"), ""));
        }
    }
}

#[test]
fn by_a_name_that_leads_elsewhere() {
    let all = Surroundings::new();
    for address in [
        "127.0.0.1",
        "10.0.0.5",
        "172.16.0.5",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "fd00:ec2::254",
        "fe80::1",
        "::",
        "100.100.100.200",
        "192.0.2.1",
        "::7f00:1",
        "168.63.129.16",
        OWN,
    ] {
        let name = name_for(address);
        all.expect_nothing_through(address, connect(&format!("{name}:443")));
        all.expect_nothing_through(
            address,
            get(&format!("http://{name}/{MARK}"), &format!("Host: {name}\r\n")),
        );
    }
    let files = ReadBy("files.test:443", format!("GET /{MARK} HTTP/1.1\r\nHost: files.test\r\n\r\n"));
    all.expect_nothing_through("files at this machine", files);
    all.expect_nothing_through("several, all of them private", connect("mixed.test:443"));
    all.expect_nothing_through("the first answer counts", connect("rebind.test:443"));
    all.expect_nothing_through("no answer", connect("nowhere.wild.test:443"));
}
