//! What a process inside needs to be told, so that every client asks the proxy and trusts the authority of the run.

mod java;
mod registries;
mod variables;

use crate::tls::RunAuthority;

pub use registries::RegistrySettings;
pub use variables::{ClientSettings, SettingsFile, SettingsPlaces};

impl ClientSettings {
    /// The variables and files for a proxy at a port of the run's loopback.
    ///
    /// `system_bundle` is the text of the certificates that this machine trusts; clients get one file in which those and the
    /// authority of the run stand, because several of them take one file in place of all others.
    pub fn new(
        port: u16,
        places: &SettingsPlaces,
        authority: &RunAuthority,
        system_bundle: &str,
        registries: &[RegistrySettings],
    ) -> Self {
        let mut bundle = system_bundle.trim_end().to_owned();
        if !bundle.is_empty() {
            bundle.push('\n');
        }
        bundle.push_str(&authority.certificate_pem());
        let java = java::trust_store(&bundle);
        let mut all = variables::settings(port, places, bundle, java);
        let (variables, files) = registries::told(registries, &places.folder);
        all.variables.extend(variables);
        all.files.extend(files);
        all
    }
}
