//! Whether what a name stands for is there: on the daemon's disk, hashed by a second hand.

use std::collections::BTreeSet;

use airdock_testkit::fixture::sha256;
use airdock_testkit::{Daemon, Outcome};

use crate::support::Records;

/// Follows every name from its record to its layers, on the daemon's disk, hashing all.
pub(crate) fn every_name_is_whole(daemon: &Daemon, records: &Records) -> Outcome {
    let mut hashed = BTreeSet::new();
    for (name, (digest, _)) in records {
        let manifest = sound_blob(daemon, name, digest, &mut hashed)?;
        let manifest: serde_json::Value = serde_json::from_slice(&manifest)?;
        let layers = manifest["layers"].as_array().expect("layers").iter();
        for descriptor in layers.chain([&manifest["config"]]) {
            let digest = descriptor["digest"].as_str().expect("a digest");
            sound_blob(daemon, name, digest, &mut hashed)?;
        }
    }
    Ok(())
}

fn sound_blob(
    daemon: &Daemon,
    name: &str,
    digest: &str,
    hashed: &mut BTreeSet<String>,
) -> Result<Vec<u8>, std::io::Error> {
    let path = daemon.blob(digest);
    let content = std::fs::read(&path)
        .map_err(|e| std::io::Error::other(format!("{name}: {}: {e}", path.display())))?;
    if hashed.insert(digest.to_owned()) && sha256(&content) != digest {
        return Err(std::io::Error::other(format!("{name}: {digest} is torn")));
    }
    Ok(content)
}
