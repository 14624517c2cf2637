//! A process and all that descends from it, as the kernel lists them.

use std::fs;

use crate::sandbox::children;

/// One process at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FamilyProcess {
    /// How far it is from the first: 0 for that itself.
    pub(crate) depth: usize,
    /// The name it was started by.
    pub(crate) name: String,
    /// The most memory it ever had, in MB.
    pub(crate) peak_mb: f64,
    /// The same with each page that several processes share counted in parts, so that sums are honest.
    pub(crate) fair_mb: f64,
}

/// The process and its descendants, parents before children; those that end meanwhile are left out.
pub(crate) fn of(process: u32) -> Vec<FamilyProcess> {
    let mut all = Vec::new();
    let mut next = vec![(0, process.to_string())];
    while let Some((depth, id)) = next.pop() {
        if let Some(peak_mb) = peak_mb(&id) {
            let fair_mb = peak_mb * share(&id).unwrap_or(1.0);
            all.push(FamilyProcess { depth, name: name(&id), peak_mb, fair_mb });
        }
        next.extend(children(&id).into_iter().map(|child| (depth + 1, child)));
    }
    all
}

/// The kernel's high-water mark of a process, in MB.
pub(crate) fn peak_mb(id: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(peak.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}

/// How much of what a process has now is its own: pages that others have too count in parts.
fn share(id: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
    let figure = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    };
    let (proportional, resident) = (figure("Pss:")?, figure("Rss:")?);
    (resident > 0.0).then(|| proportional / resident)
}

fn name(id: &str) -> String {
    let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let first = words.split(|byte| *byte == 0).next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    first.rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn grandchildren_are_found() {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", "/bin/sh -c 'echo ready; read line; true'; true"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let family = of(shell.id());
        drop(shell.stdin.take());
        shell.wait().unwrap();
        let found: Vec<_> = family.iter().map(|p| (p.depth, p.name.as_str())).collect();
        assert_eq!(found, [(0, "sh"), (1, "sh")]);
        assert!(family.iter().all(|p| p.peak_mb > 0.1 && p.fair_mb > 0.0 && p.fair_mb <= p.peak_mb));
        assert!(of(u32::MAX).is_empty());
    }
}
