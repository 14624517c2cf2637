//! An authority made for one run: its key is in this process alone, and nobody but the run trusts it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::permit::TargetHost;

/// Signs for the hosts of one run.
pub struct RunAuthority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    /// All hosts share one key: it never leaves either.
    key: KeyPair,
    valid: (SystemTime, SystemTime),
    hosts: Mutex<HashMap<TargetHost, Arc<ServerConfig>>>,
}

/// Why there is no authority, or no certificate of it.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A key or a certificate could not be made.
    #[error("no certificate for this run can be made: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The encryption could not be set up.
    #[error("encryption for this run cannot be set up: {0}")]
    Encryption(#[from] rustls::Error),
}

/// Clocks inside and outside may differ.
const BEFORE: Duration = Duration::from_secs(24 * 3600);
/// No run lasts longer.
const AFTER: Duration = Duration::from_secs(30 * 24 * 3600);
/// So many hosts are remembered at a time.
const MOST_HOSTS: usize = 1000;

impl RunAuthority {
    /// Makes a key and a certificate for it that is valid around a time.
    pub fn new(now: SystemTime) -> Result<Self, AuthorityError> {
        let valid = (now - BEFORE, now + AFTER);
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.distinguished_name.push(DnType::CommonName, "Holon, for one run");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        (params.not_before, params.not_after) = (valid.0.into(), valid.1.into());
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.der().clone();
        Ok(Self {
            issuer: Issuer::new(params, key),
            certificate,
            key: KeyPair::generate()?,
            valid,
            hosts: Mutex::default(),
        })
    }

    /// The certificate for the run's trust store; it holds no secret.
    pub fn certificate_pem(&self) -> String {
        pem(&self.certificate)
    }

    /// The certificate as it is.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// How a server for this host encrypts.
    pub(crate) fn server(&self, host: &TargetHost) -> Result<Arc<ServerConfig>, AuthorityError> {
        let known = |hosts: &HashMap<TargetHost, Arc<ServerConfig>>| hosts.get(host).cloned();
        if let Some(known) = known(&self.hosts.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(known);
        }
        let config = Arc::new(self.make(host)?);
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MOST_HOSTS {
            hosts.clear();
        }
        hosts.insert(host.clone(), Arc::clone(&config));
        Ok(config)
    }

    fn make(&self, host: &TargetHost) -> Result<ServerConfig, AuthorityError> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.subject_alt_names = vec![match host {
            TargetHost::Name(name) => SanType::DnsName(name.as_str().try_into()?),
            TargetHost::Address(address) => SanType::IpAddress(*address),
        }];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        (params.not_before, params.not_after) = (self.valid.0.into(), self.valid.1.into());
        let certificate = params.signed_by(&self.key, &self.issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone(), self.certificate.clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // Nothing of a client is kept from one connection to the next.
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        Ok(config)
    }
}

/// A certificate as text.
pub(super) fn pem(certificate: &CertificateDer<'_>) -> String {
    let text = STANDARD.encode(certificate);
    let lines: Vec<&str> =
        (0..text.len()).step_by(64).filter_map(|at| text.get(at..text.len().min(at + 64))).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

impl fmt::Debug for RunAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunAuthority")
    }
}
