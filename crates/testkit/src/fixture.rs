//! Bundles for tests: described, packed, damaged, written.
//!
//! [`Layer`] and [`Image`] say what an image is, [`Bundle`] which names it has, [`Tree`] is the
//! list of files that either format packs it into. Damage is done to the tree (a blob left out,
//! a byte flipped) or to the bytes of the outer file (cut, compressed).
//! The same description gives the same bytes, always.

mod bundle;
mod compress;
mod digest;
mod docker;
mod document;
mod image;
mod layer;
mod tar;
mod tree;

pub use bundle::{Bundle, Target};
pub use compress::{gzip, gzip_members, gzip_stored, through, zstd};
pub use digest::{sha256, sha512};
pub use document::{Blob, Descriptor};
pub use image::Image;
pub use layer::{File, Layer};
pub use tree::{Entry, Kind, Tree, blob_path};

/// Media types that fixtures are written with.
pub mod media_type {
    /// An OCI image index.
    pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    /// An OCI image manifest.
    pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
    /// An OCI image config.
    pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
    /// A layer as a plain tar.
    pub const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
    /// A layer as a gzip-compressed tar.
    pub const LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
    /// A layer as a zstd-compressed tar.
    pub const LAYER_ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
}
