//! Reads bundles and layout directories for those who take something out of them: what they list,
//! documents, and where layers stand.

mod error;
mod region;
mod spool;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use airdock_bundle::TakeError;
use airdock_bundle::archive::{Archive, ArchiveError, EntryId, Region};
use airdock_bundle::digest::Digest;
use airdock_bundle::document::Descriptor;
use airdock_bundle::image::Image;
use airdock_bundle::name::Name;
use airdock_bundle::open::{Bundle, Format, OpenError};
use airdock_bundle::platform::{Matcher, Platform};
use airdock_bundle::write::Listed;
use bytes::Bytes;

pub use error::ReadError;
pub use region::read_region;

/// A bundle that images are taken from.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    /// An OCI layout once; a docker-archive for each platform, since only opening it makes the
    /// manifests of its images.
    bundles: Vec<Bundle>,
    listed: Vec<Listed>,
}

impl Reader {
    /// Opens a bundle, for images of these platforms: of all where there is none.
    pub fn open(path: &Path, platforms: &[Platform]) -> Result<Self, ReadError> {
        let failed = |source: OpenError| ReadError::Open {
            path: path.to_owned(),
            source: Box::new(source),
        };
        let bundles = open_all(path, platforms).map_err(failed)?;
        let mut listed = Vec::new();
        for bundle in &bundles {
            listed.extend(settled(bundle, bundle.listed().map_err(failed)?));
        }
        let path = path.to_owned();
        Ok(Self {
            path,
            bundles,
            listed,
        })
    }

    /// Where it stands.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it lists.
    pub fn listed(&self) -> &[Listed] {
        &self.listed
    }

    /// Images that are listed and can't be taken, since nothing tells their digests, with the
    /// reasons.
    pub fn refused(&self) -> impl Iterator<Item = (String, String)> {
        let images = self.bundles.iter().flat_map(Bundle::images);
        let is_taken = |image: &Image| {
            let mut listed = self.listed.iter();
            listed.any(|it| image.names.iter().any(|name| it.names.contains(name)))
        };
        images
            .filter(move |image| image.target.is_none() && !is_taken(image))
            .map(|image| (image.title(), image.reason().unwrap_or_default()))
    }

    /// Who has a layer that it leaves out.
    pub fn bases_of(&self, layer: &Digest) -> Option<&[String]> {
        let left_out = self.bundles.iter().map(Bundle::left_out);
        let mut left_out = left_out.filter(|left_out| left_out.layers.contains(layer));
        left_out.next().map(|left_out| &*left_out.bases)
    }

    /// What a name stands for.
    pub fn resolve(&self, name: &Name) -> Option<Descriptor> {
        let tagged = name.clone().tag_first();
        let listed = self.listed.iter().find(|listed| {
            let by_digest = || {
                let digest = name.digest()?;
                let same = |other: &Name| other.repository() == name.repository();
                Some(*digest == listed.descriptor.digest && listed.names.iter().any(same))
            };
            listed.names.contains(&tagged) || (tagged.tag().is_none() && by_digest() == Some(true))
        })?;
        Some(listed.descriptor.clone())
    }

    /// A document's verified bytes.
    pub fn document(&self, descriptor: &Descriptor) -> Result<Option<Bytes>, ReadError> {
        for bundle in &self.bundles {
            let document = bundle.document(descriptor);
            if let Some(bytes) = document.map_err(|source| self.failed(source))? {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// Whether it has a layer of this digest and size.
    pub fn has(&self, descriptor: &Descriptor) -> Result<bool, ReadError> {
        Ok(self.find(descriptor)?.is_some())
    }

    /// Where layers stand in the file; those of a compressed one are unpacked first. What isn't
    /// there is left out.
    pub fn regions<'a>(
        &self,
        wanted: impl Iterator<Item = &'a Descriptor> + Clone,
    ) -> Result<BTreeMap<Digest, Region>, ReadError> {
        let mut regions = BTreeMap::new();
        for bundle in &self.bundles {
            let mut packed = Vec::new();
            for descriptor in wanted.clone() {
                let found = bundle.blob(descriptor);
                let Some(entry) = found.map_err(|source| self.failed(source))? else {
                    continue;
                };
                let region = bundle.archive().region(entry);
                match region.map_err(|error| self.unreadable(error))? {
                    Some(region) => drop(regions.insert(descriptor.digest.clone(), region)),
                    None => packed.push((entry, descriptor.digest.clone())),
                }
            }
            regions.extend(spool::unpack(&self.path, bundle.archive(), &packed)?);
        }
        Ok(regions)
    }

    fn find(&self, descriptor: &Descriptor) -> Result<Option<EntryId>, ReadError> {
        for bundle in &self.bundles {
            let found = bundle.blob(descriptor);
            if let Some(entry) = found.map_err(|source| self.failed(source))? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    fn failed(&self, source: TakeError) -> ReadError {
        let path = self.path.clone();
        let source = Box::new(source);
        ReadError::Take { path, source }
    }

    fn unreadable(&self, error: ArchiveError) -> ReadError {
        self.failed(TakeError::Bundle(error.into()))
    }
}

/// Some tools list an image once for each platform, all under one name. It is that of the image
/// which can be used; the others go, as they do when the bundle is imported.
fn settled(bundle: &Bundle, listed: Vec<Listed>) -> Vec<Listed> {
    let images = bundle.images().iter().filter(|image| image.outcome.is_ok());
    let target = |image: &'_ Image| image.target.as_ref().map(|it| it.digest.clone());
    let holders: BTreeMap<&Name, Option<Digest>> = images
        .flat_map(|image| image.names.iter().map(move |name| (name, target(image))))
        .collect();
    let is_held = |name: &Name, digest: &Digest| match holders.get(name) {
        Some(Some(holder)) => holder == digest,
        _ => true,
    };
    let own = |mut listed: Listed| {
        let is_named = !listed.names.is_empty();
        let digest = listed.descriptor.digest.clone();
        listed.names.retain(|name| is_held(name, &digest));
        (!is_named || !listed.names.is_empty()).then_some(listed)
    };
    listed.into_iter().filter_map(own).collect()
}

fn open_all(path: &Path, platforms: &[Platform]) -> Result<Vec<Bundle>, OpenError> {
    let open = |platform: &Platform| {
        let matcher = Matcher::only(platform.clone());
        Bundle::open(Archive::open(path)?, &matcher)
    };
    let first = platforms.first().cloned().unwrap_or_else(Platform::host);
    let bundle = open(&first)?;
    if bundle.format() == Format::OciLayout {
        return Ok(vec![bundle]);
    }
    let mut wanted: BTreeSet<Platform> = platforms.iter().cloned().collect();
    if platforms.is_empty() {
        let images = bundle.images().iter();
        wanted.extend(images.flat_map(|image| image.platforms.iter().cloned()));
    }
    wanted.remove(&first);
    let mut bundles = vec![bundle];
    for platform in &wanted {
        bundles.push(open(platform)?);
    }
    Ok(bundles)
}
