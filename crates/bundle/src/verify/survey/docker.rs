//! Everything that a docker-archive's `manifest.json` names.

use std::sync::Arc;

use super::{Claim, LayerClaim, Map, Node};
use crate::archive::Archive;
use crate::codec::Codec;
use crate::content;
use crate::digest::Digest;
use crate::docker::{self, Configs, Listed, ReadConfig};
use crate::documents;
use crate::fault::Fault;
use crate::image::{ImageError, Role};
use crate::open::OpenError;
use crate::verify::hazard;

/// Adds all that the archive lists to `map`.
pub(super) fn survey(archive: &Archive, map: &mut Map) -> Result<(), OpenError> {
    let Some(list) = archive.find(docker::LIST)? else {
        return Ok(());
    };
    let mut configs = Configs::new(archive);
    for listed in docker::read_list(archive, list)? {
        let node = image(&mut configs, &listed)?;
        let place = map.add(node)?;
        map.roots.push((listed.position, place));
    }
    (map.documents, map.document_bytes) = configs.seen();
    Ok(())
}

fn image(configs: &mut Configs<'_>, listed: &Listed) -> Result<Node, OpenError> {
    let mut node = Node::default();
    let config = Fault::settle(read_config(configs, listed))?;
    let Some(config) = node.take(config) else {
        return Ok(node);
    };
    node.platform = Some(config.config.platform.clone());
    node.hazards = hazard::of(&config.bytes);
    node.take(docker::check_path(&listed.config, &config.digest));
    let diff_ids = &config.config.diff_ids;
    let counts = content::check_counts(listed.layers.len(), &config.config);
    if node.take(counts).is_some() {
        for (position, diff_id) in diff_ids.iter().enumerate() {
            let claim = Fault::settle(layer(configs.archive(), listed, position, diff_id))?;
            let claim = node.take(claim);
            node.claims.extend(claim);
        }
    }
    Ok(node)
}

fn read_config(configs: &mut Configs<'_>, listed: &Listed) -> Result<Arc<ReadConfig>, Fault> {
    let field = format!("[{}].Config", listed.position);
    let entry = docker::find(configs.archive(), field, &listed.config)?;
    configs.read(entry, &listed.config)
}

/// What is said of a layer. A plain one has its diff id as digest; of a compressed one nobody says
/// how it is stored.
fn layer(
    archive: &Archive,
    listed: &Listed,
    position: usize,
    diff_id: &Digest,
) -> Result<Claim, Fault> {
    let field = format!("[{}].Layers[{position}]", listed.position);
    let path = listed.layers.get(position).map_or("", String::as_str);
    let entry = docker::find(archive, field, path)?;
    let codec = content::check_codec(Codec::sniff(&archive.head(entry)?));
    let codec = codec.map_err(|fault| ImageError::Layer {
        position,
        digest: diff_id.clone(),
        fault,
    })?;
    if codec == Codec::Plain {
        documents::check_storable(diff_id, Role::Layer)?;
        return Ok(Claim {
            entry,
            stored: Some(diff_id.clone()),
            layer: None,
        });
    }
    let diff_id = diff_id.clone();
    Ok(Claim {
        entry,
        stored: None,
        layer: Some(LayerClaim {
            position,
            diff_id,
            codec,
        }),
    })
}
