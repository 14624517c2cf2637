//! A trust store as Java reads it: certificates alone, sealed with a password that everybody knows.

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// The password that seals every such store; there is nothing secret in it.
pub(super) const PASSWORD: &str = "changeit";
const MAGIC: u32 = 0xfeed_feed;
const VERSION: u32 = 2;
const TRUSTED: u32 = 2;

/// Makes a store of all certificates in a text.
pub(super) fn trust_store(bundle: &str) -> Vec<u8> {
    let certificates: Vec<_> =
        CertificateDer::pem_slice_iter(bundle.as_bytes()).filter_map(Result::ok).collect();
    let mut out = Vec::new();
    for number in [MAGIC, VERSION, length(certificates.len())] {
        out.extend(number.to_be_bytes());
    }
    for (at, certificate) in certificates.iter().enumerate() {
        out.extend(TRUSTED.to_be_bytes());
        text(&mut out, &format!("c{at}"));
        out.extend(0_u64.to_be_bytes());
        text(&mut out, "X.509");
        out.extend(length(certificate.len()).to_be_bytes());
        out.extend_from_slice(certificate);
    }
    let mut seal = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    let password: Vec<u8> = PASSWORD.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for part in [&password, b"Mighty Aphrodite".as_slice(), &out] {
        seal.update(part);
    }
    out.extend_from_slice(seal.finish().as_ref());
    out
}

fn length(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(u16::try_from(text.len()).unwrap_or(u16::MAX).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_what_java_reads() {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        // Both seals were made by another program, and `keytool -list` reads such a store.
        assert_eq!(hex(&trust_store("")), "feedfeed0000000200000000e2686e45fb43dfa4d992dd41ceb6b21c6330d792");
        let bundle = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n";
        let entry = "00000002000263300000000000000000000558 2e353039000000053003020101".replace(' ', "");
        assert_eq!(
            hex(&trust_store(bundle)),
            format!("feedfeed0000000200000001{entry}491eddffa5714d013bf607f90c7388a7e52465c7")
        );
    }
}
