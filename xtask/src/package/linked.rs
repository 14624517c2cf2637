//! What a binary needs of the system it runs on.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{XtaskFailure, process};

/// The libraries a binary is linked with, as `ldd` finds them here; none for a static one.
pub(super) fn libraries(binary: &Path) -> Result<Vec<PathBuf>, XtaskFailure> {
    let told = process::tell(Command::new("ldd").env("LC_ALL", "C").arg(binary), process::Echo::Silent)?;
    parse(&told.lines.join("\n")).map_err(|why| format!("{}: {why}", binary.display()))
}

fn parse(told: &str) -> Result<Vec<PathBuf>, XtaskFailure> {
    if told.contains("not a dynamic executable") || told.contains("statically linked") {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for line in told.lines().filter(|line| !line.trim().is_empty()) {
        if line.contains("not found") {
            return Err(format!("a library is missing: {}", line.trim()));
        }
        // What has no path, as `linux-vdso.so.1`, is the kernel's.
        let path = line.split_whitespace().find(|word| word.starts_with('/'));
        found.extend(path.map(PathBuf::from));
    }
    if found.is_empty() { Err(format!("cannot read what `ldd` said: {told}")) } else { Ok(found) }
}

/// What Debian calls the libraries, with the oldest C library that has everything the binary asks for.
pub(super) fn debian_packages(libraries: &[PathBuf], binary: &[u8]) -> Result<Vec<String>, XtaskFailure> {
    let mut packages = Vec::new();
    for library in libraries {
        let name = library.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let package = match name.split(".so").next().unwrap_or_default() {
            "libc" | "libm" | "libdl" | "libpthread" | "librt" | "ld-linux-x86-64" => "libc6",
            "libgcc_s" => "libgcc-s1",
            _ => return Err(format!("{name} is linked in, and its Debian package is not known here")),
        };
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages.sort_unstable();
    let with_version = |package: &str| match (package, newest_glibc(binary)) {
        ("libc6", Some((major, minor))) => format!("libc6 (>= {major}.{minor})"),
        _ => package.to_owned(),
    };
    Ok(packages.into_iter().map(with_version).collect())
}

/// The newest version of the C library among the names of versions in a binary.
fn newest_glibc(binary: &[u8]) -> Option<(u32, u32)> {
    const NAME: &[u8] = b"\0GLIBC_";
    let starts = binary.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME);
    starts
        .filter_map(|(at, _)| {
            let rest = &binary[at + NAME.len()..];
            let text =
                std::str::from_utf8(&rest[..rest.iter().take(16).position(|byte| *byte == 0)?]).ok()?;
            let mut numbers = text.split('.').map(str::parse);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        })
        .max()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ldd_is_understood() {
        let told = "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x2)\n\t/lib64/ld-linux-x86-64.so.2 (0x3)\n";
        let found = parse(told).unwrap();
        assert_eq!(
            found,
            ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from)
        );
        assert!(parse("\tstatically linked\n").unwrap().is_empty());
        assert!(parse("\tlibx.so => not found\n").unwrap_err().contains("libx.so"));
        assert!(parse("").is_err());
    }

    #[test]
    fn packages_name_the_oldest_library_that_will_do() {
        let binary = b"\0GLIBC_2.17\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_ABI_DT_RELR\0xGLIBC_3.1\0";
        let libraries =
            ["/lib/libgcc_s.so.1", "/lib/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(debian_packages(&libraries, binary).unwrap(), ["libc6 (>= 2.34)", "libgcc-s1"]);
        let foreign = [PathBuf::from("/lib/libz.so.1")];
        assert!(debian_packages(&foreign, binary).unwrap_err().contains("libz.so.1"));
    }
}
