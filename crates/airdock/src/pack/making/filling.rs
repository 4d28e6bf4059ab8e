//! What the chosen images make together, and which origin gives each layer.

use std::collections::{BTreeMap, BTreeSet};

use airdock_bundle::digest::Digest;
use airdock_bundle::document::Descriptor;
use airdock_bundle::write::Contents;

use super::Making;
use super::taking::Chosen;
use crate::pack::error::PackError;
use crate::pack::origin::{Blobs, Wanted};

impl Making<'_> {
    pub(super) fn contents(&self) -> Result<Contents, PackError> {
        self.contents_of(self.chosen.iter())
    }

    /// What these images make.
    pub(in crate::pack) fn contents_of<'c>(
        &self,
        chosen: impl Iterator<Item = &'c Chosen>,
    ) -> Result<Contents, PackError> {
        let mut contents = Contents::default();
        for Chosen { selected, .. } in chosen {
            for (digest, bytes) in &selected.documents {
                contents.add_document(digest, bytes.clone())?;
            }
            for (digest, descriptor) in &selected.layers {
                contents.add_layer(digest, descriptor.size)?;
            }
            for (digest, descriptor) in &selected.elsewhere {
                self.refer(&mut contents, digest, descriptor)?;
            }
            for listed in &selected.listed {
                contents.list(listed.descriptor.clone(), listed.names.iter().cloned());
            }
            if self.request.docker {
                let images = selected.docker.iter().cloned();
                images.for_each(|image| contents.list_for_docker(image));
            }
        }
        for base in &self.request.bases {
            contents.leave_out(&base.id, |digest| base.digests.contains(digest));
        }
        Ok(contents)
    }

    /// A layer that an image's own origin, a delta, hasn't: another may have it.
    fn refer(
        &self,
        contents: &mut Contents,
        digest: &Digest,
        descriptor: &Descriptor,
    ) -> Result<(), PackError> {
        if self.provider(descriptor)?.is_some() {
            contents.add_layer(digest, descriptor.size)?;
            return Ok(());
        }
        let bases = self.origins.iter().filter_map(|it| it.bases_of(digest));
        contents.refer(digest, descriptor.size, bases.flatten().cloned());
        Ok(())
    }

    fn provider(&self, descriptor: &Descriptor) -> Result<Option<usize>, PackError> {
        for (at, origin) in self.origins.iter().enumerate() {
            if origin.may_have(descriptor)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Every layer that is written, from the first image that has it.
    pub(in crate::pack) async fn blobs(&self, contents: &Contents) -> Result<Blobs, PackError> {
        let mut left: BTreeSet<&Digest> = contents.layers().map(|(digest, _)| digest).collect();
        let mut wanted: BTreeMap<usize, Vec<Wanted>> = BTreeMap::new();
        for chosen in &self.chosen {
            let layers = chosen.selected.layers.values();
            let mine = layers.filter(|layer| left.remove(&layer.digest));
            let mine = mine.map(|descriptor| Wanted {
                name: chosen.name.clone(),
                descriptor: descriptor.clone(),
            });
            wanted.entry(chosen.origin).or_default().extend(mine);
        }
        for chosen in &self.chosen {
            for descriptor in chosen.selected.elsewhere.values() {
                if left.remove(&descriptor.digest)
                    && let Some(origin) = self.provider(descriptor)?
                {
                    let (name, descriptor) = (chosen.name.clone(), descriptor.clone());
                    let wanted = wanted.entry(origin).or_default();
                    wanted.push(Wanted { name, descriptor });
                }
            }
        }
        let mut blobs = Blobs::new();
        for (origin, mut wanted) in wanted {
            // As they are written.
            wanted.sort_by(|a, b| a.descriptor.digest.cmp(&b.descriptor.digest));
            if let Some(origin) = self.origins.get(origin) {
                blobs.extend(origin.blobs(&wanted).await?);
            }
        }
        Ok(blobs)
    }
}
