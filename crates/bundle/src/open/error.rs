//! Why a bundle as a whole can't be used.

use crate::archive::ArchiveError;
use crate::document::DocumentError;
use crate::escape::escaped;
use crate::limits;
use crate::name::Name;
use crate::open::Mistake;
use crate::verdict::Verdict;

/// Why a bundle as a whole can't be used: one sentence that ends with what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Mistake(#[from] Mistake),
    #[error("it holds no files; save an image into it")]
    Empty,
    #[error("\"{entry}\" {source}; save the bundle again")]
    Control {
        entry: &'static str,
        #[source]
        source: DocumentError,
    },
    #[error("oci-layout is there, but index.json is not; save the bundle again")]
    NoIndex,
    #[error(
        "index.json is there, but oci-layout is not; run \
         `echo '{{\"imageLayoutVersion\":\"1.0.0\"}}' > oci-layout` beside it, \
         and pack an archive again with `tar -cf BUNDLE.tar *`"
    )]
    NoMarker,
    #[error(
        "oci-layout has imageLayoutVersion \"{}\", and only 1.0.0 is known; save the bundle in that version",
        escaped(.version)
    )]
    LayoutVersion { version: String },
    #[error(
        "index.json and manifest.json disagree about {name}; save the bundle again with one tool"
    )]
    Disagree { name: Name },
    #[error(
        "it lists over {} manifests; split it into several bundles",
        limits::DESCRIPTORS
    )]
    TooManyDescriptors,
    #[error(
        "its indexes, manifests and configs take over {} bytes; split it into several bundles",
        limits::DOCUMENTS_HELD
    )]
    TooManyDocuments,
    #[error(
        "its images have over {} layers and documents in all; split it into several bundles",
        limits::BLOBS
    )]
    TooManyBlobs,
    #[error(
        "its images have over {} layers, documents and references for all platforms; split it into several bundles",
        limits::VERIFIED
    )]
    TooMuchToVerify,
}

impl OpenError {
    /// What the error says about the bundle; `None` where it only says that we could not look.
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Archive(error) => error.verdict(),
            Self::Empty => Some(Verdict::Empty),
            _ => Some(Verdict::Refused),
        }
    }

    /// Whether the reason is something absent, which a directory that is still being filled would
    /// get.
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::Empty | Self::NoIndex | Self::NoMarker)
    }

    pub(crate) fn control(entry: &'static str, source: DocumentError) -> Self {
        Self::Control { entry, source }
    }
}
