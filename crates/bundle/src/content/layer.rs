//! Layers: their media types, and the entries that hold them.

use crate::archive::{Archive, EntryId};
use crate::codec::Codec;
use crate::document::Descriptor;
use crate::document::media_type::{self, LayerKind};
use crate::documents;
use crate::fault::Fault;
use crate::image::{ImageError, LayerFault, Role};
use crate::left_out::LeftOut;

/// A layer, and the entry that holds its blob; `None` where another bundle does.
pub(crate) struct PlacedLayer {
    pub(crate) descriptor: Descriptor,
    pub(crate) entry: Option<EntryId>,
    pub(crate) codec: Codec,
}

/// Finds the layer at `position` in the archive.
///
/// # Errors
/// When it is missing, of another size, or something that its media type does not say.
pub(crate) fn place(
    archive: &Archive,
    position: usize,
    descriptor: &Descriptor,
    left_out: &LeftOut,
) -> Result<PlacedLayer, Fault> {
    let refuse = |fault| {
        Fault::Image(ImageError::Layer {
            position,
            digest: descriptor.digest.clone(),
            fault,
        })
    };
    let (codec, foreign) = said(&descriptor.media_type).map_err(refuse)?;
    let entry = match documents::locate(archive, descriptor, Role::Layer)? {
        Some(entry) => entry,
        None if left_out.has(&descriptor.digest) => {
            return Ok(PlacedLayer {
                descriptor: descriptor.bare(),
                entry: None,
                codec,
            });
        }
        None if foreign => return Err(refuse(LayerFault::ForeignAbsent)),
        None => {
            return Err(Fault::Image(ImageError::Missing {
                role: Role::Layer,
                digest: descriptor.digest.clone(),
            }));
        }
    };
    let found = check_codec(Codec::sniff(&archive.head(entry)?)).map_err(refuse)?;
    if found != codec {
        let media_type = descriptor.media_type.clone();
        return Err(refuse(LayerFault::Contradiction { media_type, found }));
    }
    Ok(PlacedLayer {
        descriptor: descriptor.bare(),
        entry: Some(entry),
        codec,
    })
}

/// Compression, and whether the blob may be absent, as the media type says it.
fn said(media_type: &str) -> Result<(Codec, bool), LayerFault> {
    match media_type::layer(media_type) {
        Some(LayerKind::Tar { codec, foreign }) => Ok((codec, foreign)),
        Some(LayerKind::Encrypted) => Err(LayerFault::Encrypted),
        None if media_type.is_empty() => Err(LayerFault::NoMediaType),
        None => Err(LayerFault::MediaType {
            media_type: media_type.to_owned(),
        }),
    }
}

/// That containerd can unpack it: it knows gzip and zstd, and takes anything else for a plain tar.
pub(crate) fn check_codec(codec: Codec) -> Result<Codec, LayerFault> {
    match codec {
        Codec::Plain | Codec::Gzip | Codec::Zstd => Ok(codec),
        Codec::Xz | Codec::Lz4 | Codec::Bzip2 => Err(LayerFault::Codec { codec }),
    }
}
