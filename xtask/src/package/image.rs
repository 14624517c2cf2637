//! The container image: an OCI archive made of nothing but the binary and the libraries it is linked with.

use serde_json::{Value, json};

use crate::XtaskFailure;

use super::payload::Payload;
use super::release::Release;
use super::tar::TarWriter;
use super::{digest, gzip, linked};

/// How `podman load` and `podman run` call it.
const NAME: &str = "localhost/holon";

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// The whole archive; its entry point is Holon's own agent.
pub(super) fn archive(payload: &Payload, release: &Release) -> Result<Vec<u8>, XtaskFailure> {
    let tree = tree(payload, release.time)?;
    let layer = gzip::compress(&tree)?;
    let created = release.date("+%Y-%m-%dT%H:%M:%SZ")?;
    let config = json!({
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": ["/bin/holon", "adapter"],
            "Env": ["PATH=/bin"],
            "Labels": {
                "org.opencontainers.image.title": "holon",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": "Apache-2.0 OR MIT",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", digest::sha256(&tree))] },
        "history": [{ "created": created, "comment": "the binary and the libraries it is linked with" }],
    });
    let mut blobs = Blobs(Vec::new());
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": blobs.add(CONFIG, config.to_string().into_bytes()),
        "layers": [blobs.add(LAYER, layer)],
    });
    let mut entry = blobs.add(MANIFEST, manifest.to_string().into_bytes());
    entry["annotations"] =
        json!({ "org.opencontainers.image.ref.name": format!("{NAME}:{}", release.version) });
    blobs.into_archive(&entry, release.time)
}

/// Blobs with their digests.
struct Blobs(Vec<(String, Vec<u8>)>);

impl Blobs {
    /// Keeps a blob and returns what a manifest says of it.
    fn add(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let digest = digest::sha256(&bytes);
        let entry =
            json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len() });
        self.0.push((digest, bytes));
        entry
    }

    fn into_archive(self, entry: &Value, time: u64) -> Result<Vec<u8>, XtaskFailure> {
        let index = json!({ "schemaVersion": 2, "manifests": [entry] });
        let mut tar = TarWriter::new(time);
        tar.file("oci-layout", 0o644, json!({ "imageLayoutVersion": "1.0.0" }).to_string().as_bytes())?;
        tar.file("index.json", 0o644, index.to_string().as_bytes())?;
        tar.folder("blobs", 0o755)?;
        tar.folder("blobs/sha256", 0o755)?;
        for (digest, bytes) in &self.0 {
            tar.file(&format!("blobs/sha256/{digest}"), 0o644, bytes)?;
        }
        Ok(tar.finish())
    }
}

/// What a container of the image sees.
fn tree(payload: &Payload, time: u64) -> Result<Vec<u8>, XtaskFailure> {
    let mut tar = TarWriter::new(time);
    let mut folders = vec!["bin".to_owned(), "dev".into(), "etc".into(), "proc".into(), "sys".into()];
    let mut libraries = Vec::new();
    for library in linked::libraries(&payload.binary_path)? {
        let content =
            std::fs::read(&library).map_err(|error| format!("cannot read {}: {error}", library.display()))?;
        let path = library.to_string_lossy().trim_start_matches('/').to_owned();
        folders.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
        libraries.push((path, content));
    }
    folders.sort();
    folders.dedup();
    for folder in folders {
        tar.folder(&folder, 0o755)?;
    }
    tar.folder("tmp", 0o1777)?;
    tar.file("etc/passwd", 0o644, b"root:x:0:0::/tmp:/bin/holon\n")?;
    tar.file("bin/holon", 0o755, &payload.binary)?;
    for (path, content) in libraries {
        tar.file(&path, 0o755, &content)?;
    }
    Ok(tar.finish())
}
