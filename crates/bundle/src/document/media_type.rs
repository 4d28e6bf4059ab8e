//! Media types of the OCI image specification and of Docker's image manifest, version 2.

use crate::codec::Codec;

pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
pub const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar";
pub const DOCKER_LAYER_GZIP: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

const DOCKER_FOREIGN_LAYER: &str = "application/vnd.docker.image.rootfs.foreign.diff.tar";
const OCI_LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
const OCI_FOREIGN_LAYER: &str = "application/vnd.oci.image.layer.nondistributable.v1.tar";
/// `…manifest.v1+json` and its signed form `…manifest.v1+prettyjws`.
const DOCKER_SCHEMA1: &str = "application/vnd.docker.distribution.manifest.v1+";
/// Appended by ocicrypt to the type of the layer that it encrypted.
const ENCRYPTED: &str = "+encrypted";

/// What a descriptor in an index points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Index,
    Manifest,
    /// Docker's first manifest format.
    Schema1,
    /// The media type was left out: the document's shape decides.
    Unsaid,
    Other,
}

/// What the media type of an index's descriptor stands for.
pub fn kind(media_type: &str) -> Kind {
    match media_type {
        OCI_INDEX | DOCKER_INDEX => Kind::Index,
        OCI_MANIFEST | DOCKER_MANIFEST => Kind::Manifest,
        "" => Kind::Unsaid,
        other if other.starts_with(DOCKER_SCHEMA1) => Kind::Schema1,
        _ => Kind::Other,
    }
}

/// Whether a config of this media type belongs to an image. Some old tools left it out.
pub fn is_image_config(media_type: &str) -> bool {
    matches!(media_type, OCI_CONFIG | DOCKER_CONFIG | "")
}

/// What the media type of an image's layer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    Tar {
        codec: Codec,
        /// Not to be distributed with the image: its blob may be absent.
        foreign: bool,
    },
    Encrypted,
}

/// `None` for a media type that no image layer has.
pub fn layer(media_type: &str) -> Option<LayerKind> {
    if let Some(inner) = media_type.strip_suffix(ENCRYPTED) {
        return layer(inner).map(|_| LayerKind::Encrypted);
    }
    let bases = [
        (OCI_LAYER, '+', false),
        (OCI_FOREIGN_LAYER, '+', true),
        (DOCKER_LAYER, '.', false),
        (DOCKER_FOREIGN_LAYER, '.', true),
    ];
    bases.into_iter().find_map(|(base, separator, foreign)| {
        let codec = layer_codec(media_type.strip_prefix(base)?, separator)?;
        Some(LayerKind::Tar { codec, foreign })
    })
}

fn layer_codec(suffix: &str, separator: char) -> Option<Codec> {
    if suffix.is_empty() {
        return Some(Codec::Plain);
    }
    match suffix.strip_prefix(separator)? {
        "gzip" => Some(Codec::Gzip),
        "zstd" => Some(Codec::Zstd),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layers_media_type_says_its_compression() {
        let tar = |codec, foreign| Some(LayerKind::Tar { codec, foreign });
        let oci = "application/vnd.oci.image.layer";
        let docker = "application/vnd.docker.image.rootfs";
        for (media_type, expected) in [
            (format!("{oci}.v1.tar"), tar(Codec::Plain, false)),
            (format!("{oci}.v1.tar+gzip"), tar(Codec::Gzip, false)),
            (format!("{oci}.v1.tar+zstd"), tar(Codec::Zstd, false)),
            (
                format!("{oci}.nondistributable.v1.tar+gzip"),
                tar(Codec::Gzip, true),
            ),
            (format!("{docker}.diff.tar"), tar(Codec::Plain, false)),
            (format!("{docker}.diff.tar.gzip"), tar(Codec::Gzip, false)),
            (format!("{docker}.diff.tar.zstd"), tar(Codec::Zstd, false)),
            (
                format!("{docker}.foreign.diff.tar.gzip"),
                tar(Codec::Gzip, true),
            ),
            (
                format!("{oci}.v1.tar+gzip+encrypted"),
                Some(LayerKind::Encrypted),
            ),
            (format!("{oci}.v1.tar+xz"), None),
            (format!("{oci}.v1.tar.gzip"), None),
            (
                "application/vnd.cncf.helm.chart.content.v1.tar+gzip".to_owned(),
                None,
            ),
            (
                "application/vnd.dev.cosign.simplesigning.v1+json".to_owned(),
                None,
            ),
            (String::new(), None),
        ] {
            assert_eq!(layer(&media_type), expected, "{media_type}");
        }
    }
}
