//! Takes single documents and blobs out of a bundle, whatever platform they are for.

use bytes::Bytes;

use crate::archive::EntryId;
use crate::bundle::{Bundle, Format};
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::documents::{self, Documents};
use crate::fault::Fault;
use crate::image::{Blob, Image, ImageError, Place, Role};
use crate::layout;
use crate::open::OpenError;
use crate::write::Listed;

/// Why something can't be taken out of a bundle.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Bundle(#[from] OpenError),
}

impl From<Fault> for TakeError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Image(error) => Self::Image(error),
            Fault::Bundle(error) => Self::Bundle(error),
        }
    }
}

impl Bundle {
    /// Everything that it lists, artifacts among it, with the names that can be used.
    ///
    /// # Errors
    /// When its list can't be read again.
    pub fn listed(&self) -> Result<Vec<Listed>, OpenError> {
        match self.format {
            Format::OciLayout => layout::listed(&self.archive),
            Format::DockerArchive => Ok(self.images.iter().filter_map(listed).collect()),
        }
    }

    /// The verified bytes of a document; `None` if the bundle has it not.
    ///
    /// # Errors
    /// When they are damaged, too large, or can't be read.
    pub fn document(&self, descriptor: &Descriptor) -> Result<Option<Bytes>, TakeError> {
        if let Some(bytes) = self.held(&descriptor.digest) {
            return Ok(Some(bytes));
        }
        let mut documents = Documents::of_any_digest(&self.archive);
        Ok(documents.read(descriptor, Role::Config)?)
    }

    /// The entry that holds a blob, not yet verified; `None` if the bundle has it not.
    ///
    /// # Errors
    /// When it has another size, or the archive's links lead nowhere.
    pub fn blob(&self, descriptor: &Descriptor) -> Result<Option<EntryId>, TakeError> {
        let placed = self.blobs().find(|blob| is(blob, &descriptor.digest));
        if let Some(Place::Entry(entry)) = placed.map(|blob| &blob.place) {
            return Ok(Some(*entry));
        }
        Ok(documents::find(&self.archive, descriptor)?)
    }

    /// What was read when the bundle was opened: docker-archives hold no manifests of their own.
    fn held(&self, digest: &Digest) -> Option<Bytes> {
        self.blobs().find_map(|blob| match &blob.place {
            Place::Memory(bytes) if is(blob, digest) => Some(bytes.clone()),
            _ => None,
        })
    }

    fn blobs(&self) -> impl Iterator<Item = &Blob> {
        let outcomes = self.images.iter().map(|image| &image.outcome);
        let contents = outcomes.filter_map(|outcome| outcome.as_ref().ok());
        contents.flat_map(|content| &content.blobs)
    }
}

fn is(blob: &Blob, digest: &Digest) -> bool {
    blob.descriptor.digest == *digest
}

fn listed(image: &Image) -> Option<Listed> {
    Some(Listed {
        descriptor: image.target.clone()?,
        names: image.names.iter().cloned().collect(),
    })
}
