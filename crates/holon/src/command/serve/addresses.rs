//! The addresses a server is told by: those that work, each with the token.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use holon_server::OpenDoor;

/// What a person types or clicks, this machine's own address first.
pub(super) fn reachable(door: &OpenDoor) -> Vec<String> {
    let query = door.token.as_ref().map(|token| format!("?token={token}")).unwrap_or_default();
    hosts(door.address).into_iter().map(|address| format!("http://{address}/{query}")).collect()
}

/// What the browser is handed: other users may see the arguments of a program, so it is good only once.
pub(super) fn opened(door: &OpenDoor) -> String {
    let address = hosts(door.address).into_iter().next().unwrap_or(door.address);
    let query = door.ticket.as_ref().map(|ticket| format!("?ticket={ticket}")).unwrap_or_default();
    format!("http://{address}/{query}")
}

/// An address that means all of them is none that a browser can go to.
fn hosts(address: SocketAddr) -> Vec<SocketAddr> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let mut ips: Vec<IpAddr> = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            let mut ips = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
            ips.extend(local_v4(&read("/proc/net/fib_trie")).into_iter().map(IpAddr::V4));
            ips
        }
        IpAddr::V6(ip) if ip.is_unspecified() => {
            let mut ips = vec![IpAddr::V6(Ipv6Addr::LOCALHOST)];
            ips.extend(local_v6(&read("/proc/net/if_inet6")).into_iter().map(IpAddr::V6));
            ips
        }
        ip => vec![ip],
    };
    let mut seen = std::collections::BTreeSet::new();
    ips.retain(|ip| seen.insert(*ip));
    ips.into_iter().map(|ip| SocketAddr::new(ip, address.port())).collect()
}

/// The addresses of this machine in the kernel's table of routes: each `host LOCAL` below its number.
fn local_v4(table: &str) -> Vec<Ipv4Addr> {
    let mut last = None;
    let mut out = Vec::new();
    for line in table.lines() {
        if let Some(number) = line.trim_start().strip_prefix("|-- ") {
            last = number.trim().parse::<Ipv4Addr>().ok();
        } else if line.contains("/32 host LOCAL") {
            out.extend(last.filter(|ip| !ip.is_loopback()));
        }
    }
    out
}

/// The same of the newer family, without those that need an interface's name.
fn local_v6(table: &str) -> Vec<Ipv6Addr> {
    let first = table.lines().filter_map(|line| line.split_whitespace().next());
    first
        .filter_map(|digits| u128::from_str_radix(digits, 16).ok())
        .map(Ipv6Addr::from)
        .filter(|ip| !ip.is_loopback() && !ip.is_unicast_link_local())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn door(address: &str, token: Option<&str>) -> OpenDoor {
        let address = address.parse().unwrap();
        OpenDoor { address, token: token.map(str::to_owned), ticket: Some("once".into()) }
    }

    #[test]
    fn the_token_is_in_the_address_that_is_printed_and_not_in_the_one_that_is_handed_on() {
        assert_eq!(reachable(&door("127.0.0.1:7070", Some("t"))), ["http://127.0.0.1:7070/?token=t"]);
        assert_eq!(reachable(&door("[::1]:7070", None)), ["http://[::1]:7070/"]);
        assert_eq!(opened(&door("127.0.0.1:7070", Some("t"))), "http://127.0.0.1:7070/?ticket=once");
        let everywhere = reachable(&door("0.0.0.0:7070", Some("t")));
        assert_eq!(everywhere[0], "http://127.0.0.1:7070/?token=t");
        assert!(everywhere.iter().all(|url| !url.contains("0.0.0.0") && url.ends_with("?token=t")));
    }

    #[test]
    fn the_kernels_tables_say_which_addresses_there_are() {
        let table = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.0.0\n        /24 link UNICAST\n        |-- 10.0.0.5\n\
           /32 host LOCAL\n        |-- 10.0.0.255\n           /32 link BROADCAST\n     |-- 127.0.0.1\n        /32 host LOCAL\n";
        assert_eq!(local_v4(table), ["10.0.0.5".parse::<Ipv4Addr>().unwrap()]);
        let table = "fe800000000000000000000000000001 02 40 20 80 eth0\n20010db8000000000000000000000005 02 40 00 80 eth0\n\
                     00000000000000000000000000000001 01 80 10 80 lo\n";
        assert_eq!(local_v6(table), ["2001:db8::5".parse::<Ipv6Addr>().unwrap()]);
    }
}
