//! An image of a docker-archive on its way to a manifest.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use super::config::{self, Configs, ReadConfig};
use super::list::Listed;
use super::unpack::Unpacked;
use crate::archive::{Archive, EntryId};
use crate::codec::Codec;
use crate::content::{self, Held, PlacedLayer};
use crate::digest::{Algorithm, Digest};
use crate::document::Descriptor;
use crate::document::media_type::{
    DOCKER_CONFIG, DOCKER_LAYER, DOCKER_LAYER_GZIP, DOCKER_MANIFEST,
};
use crate::fault::Fault;
use crate::image::{Content, ImageError, LayerFault, Role, Warning};
use crate::platform::Matcher;

/// An image of which all parts are found, before the digests of its layers are known.
pub(super) struct Draft {
    config: Arc<ReadConfig>,
    layers: Vec<DraftLayer>,
    warnings: Vec<Warning>,
}

#[derive(Clone, Copy)]
struct DraftLayer {
    entry: EntryId,
    size: u64,
    codec: Codec,
}

/// An image with its manifest.
pub(super) struct Finished {
    pub(super) content: Content,
    pub(super) warnings: Vec<Warning>,
}

impl Draft {
    /// Finds and checks the parts of a listed image.
    pub(super) fn of(
        configs: &mut Configs<'_>,
        platform: &Matcher,
        listed: &Listed,
    ) -> Result<Self, Fault> {
        let archive = configs.archive();
        let field = format!("[{}].Config", listed.position);
        let entry = find(archive, field, &listed.config)?;
        let config = configs.read(entry, &listed.config)?;
        let warning = config::check_path(&listed.config, &config.digest)?;
        content::check_counts(listed.layers.len(), &config.config)?;
        let found = &config.config.platform;
        if platform.rank(found).is_none() {
            let found = vec![found.clone()];
            return Err(ImageError::wrong_platform(platform, found).into());
        }
        Ok(Self {
            layers: layers(archive, listed, &config.config.diff_ids)?,
            config,
            warnings: warning.into_iter().collect(),
        })
    }

    /// The layers whose digest is not said by the config.
    pub(super) fn compressed(&self) -> impl Iterator<Item = (EntryId, Codec)> {
        let compressed = self.layers.iter().filter(|it| it.codec != Codec::Plain);
        compressed.map(|layer| (layer.entry, layer.codec))
    }

    /// The image, given the digests of all compressed layers.
    pub(super) fn finish(
        self,
        unpacked: &BTreeMap<EntryId, Unpacked>,
    ) -> Result<Finished, ImageError> {
        let diff_ids = &self.config.config.diff_ids;
        let layers = self.layers.iter().zip(diff_ids).enumerate();
        let layers: Vec<PlacedLayer> = layers
            .map(|(position, (layer, diff_id))| layer.placed(position, diff_id, unpacked))
            .collect::<Result<_, _>>()?;
        let config = held(
            DOCKER_CONFIG,
            self.config.digest.clone(),
            &self.config.bytes,
        );
        let bytes = manifest_bytes(&config.descriptor, &layers);
        let digest = Digest::of(Algorithm::Sha256, &bytes);
        let manifest = held(DOCKER_MANIFEST, digest, &bytes);
        Ok(Finished {
            content: content::assemble(manifest, config, layers, &self.config.config),
            warnings: self.warnings,
        })
    }
}

/// The file that `field` of the list names.
pub(crate) fn find(archive: &Archive, field: String, path: &str) -> Result<EntryId, Fault> {
    if path.is_empty() {
        return Err(ImageError::EmptyPath { field }.into());
    }
    let entry = archive.find(path)?;
    let path = path.to_owned();
    Ok(entry.ok_or(ImageError::MissingFile { field, path })?)
}

fn layers(
    archive: &Archive,
    listed: &Listed,
    diff_ids: &[Digest],
) -> Result<Vec<DraftLayer>, Fault> {
    let layers = listed.layers.iter().zip(diff_ids).enumerate();
    layers
        .map(|(position, (path, diff_id))| {
            let field = format!("[{}].Layers[{position}]", listed.position);
            let entry = find(archive, field, path)?;
            let codec = content::check_codec(Codec::sniff(&archive.head(entry)?));
            Ok(DraftLayer {
                entry,
                size: archive.size(entry),
                codec: codec.map_err(|fault| refuse(position, diff_id, fault))?,
            })
        })
        .collect()
}

fn refuse(position: usize, diff_id: &Digest, fault: LayerFault) -> ImageError {
    ImageError::Layer {
        position,
        digest: diff_id.clone(),
        fault,
    }
}

impl DraftLayer {
    /// A plain layer's digest is its diff id; the store, or a check, finds out if it is not. Of
    /// a compressed layer nobody but the config knows what it should be.
    fn placed(
        self,
        position: usize,
        diff_id: &Digest,
        unpacked: &BTreeMap<EntryId, Unpacked>,
    ) -> Result<PlacedLayer, ImageError> {
        let (media_type, digest) = match unpacked.get(&self.entry) {
            Some(unpacked) => {
                let checked = unpacked.check(diff_id);
                checked.map_err(|fault| refuse(position, diff_id, fault))?;
                // containerd's importer calls every compressed layer gzip, and looks at the
                // content when it unpacks. A zstd type would be truer, but make another digest,
                // and containerd 1.6 has none.
                (DOCKER_LAYER_GZIP, &unpacked.stored)
            }
            None => (DOCKER_LAYER, diff_id),
        };
        if digest.algorithm() != Algorithm::Sha256 {
            return Err(ImageError::Unstorable {
                role: Role::Layer,
                digest: digest.clone(),
            });
        }
        Ok(PlacedLayer {
            descriptor: Descriptor::new(media_type, digest.clone(), self.size),
            entry: Some(self.entry),
            codec: self.codec,
        })
    }
}

fn held(media_type: &str, digest: Digest, bytes: &Bytes) -> Held {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Held {
        descriptor: Descriptor::new(media_type, digest, size),
        bytes: bytes.clone(),
    }
}

/// Field order and spelling are containerd's; they decide the image's digest.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    schema_version: u8,
    media_type: &'static str,
    config: &'a Descriptor,
    layers: Vec<&'a Descriptor>,
}

fn manifest_bytes(config: &Descriptor, layers: &[PlacedLayer]) -> Bytes {
    let manifest = Manifest {
        schema_version: 2,
        media_type: DOCKER_MANIFEST,
        config,
        layers: layers.iter().map(|layer| &layer.descriptor).collect(),
    };
    #[expect(
        clippy::expect_used,
        reason = "strings and numbers alone always serialise"
    )]
    let bytes = serde_json::to_vec(&manifest).expect("a manifest of strings and numbers");
    bytes.into()
}
