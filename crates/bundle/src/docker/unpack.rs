//! Compressed layers, whose digests nothing tells: as stored, and unpacked.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use zstd::stream::write::Decoder as ZstdDecoder;

use crate::archive::{Archive, ArchiveError, EntryId};
use crate::codec::Codec;
use crate::digest::{Algorithm, Digest, Hasher};
use crate::image::LayerFault;
use crate::limits;
use crate::pass::{self, Steps};

/// A layer that was unpacked once.
pub(super) struct Unpacked {
    /// Digest of the compressed bytes.
    pub(super) stored: Digest,
    /// Digest of what comes out of them, or why nothing does.
    content: io::Result<Digest>,
}

impl Unpacked {
    /// That the layer is what the config calls `diff_id`.
    pub(super) fn check(&self, diff_id: &Digest) -> Result<(), LayerFault> {
        match &self.content {
            Ok(found) if found == diff_id => Ok(()),
            Ok(found) => Err(LayerFault::DiffId {
                expected: diff_id.clone(),
                found: found.clone(),
            }),
            Err(error) => Err(LayerFault::Undecodable {
                detail: error.to_string(),
            }),
        }
    }
}

/// The digests of `layers`, read in one pass.
pub(super) fn digests(
    archive: &Archive,
    layers: &BTreeMap<EntryId, Codec>,
) -> Result<BTreeMap<EntryId, Unpacked>, ArchiveError> {
    let entries: Vec<EntryId> = layers.keys().copied().collect();
    let steps = Steps {
        start: |entry| {
            let codec = layers.get(&entry).copied().unwrap_or(Codec::Gzip);
            Unpacking::new(codec, archive.size(entry))
        },
        feed: Unpacking::feed,
        finish: Unpacking::finish,
    };
    pass::over(archive, &entries, steps)
}

/// A layer that is being unpacked.
struct Unpacking {
    stored: Hasher,
    /// The first failure ends the unpacking, but not the hashing.
    decoder: io::Result<Decoder>,
}

enum Decoder {
    Gzip(Box<MultiGzDecoder<Sink>>),
    Zstd(Box<ZstdDecoder<'static, Sink>>),
}

impl Unpacking {
    fn new(codec: Codec, size: u64) -> Self {
        Self {
            stored: Hasher::new(Algorithm::Sha256),
            decoder: Decoder::new(codec, Sink::new(size)),
        }
    }

    fn feed(&mut self, piece: &[u8]) {
        self.stored.update(piece);
        if let Ok(decoder) = &mut self.decoder
            && let Err(error) = decoder.write_all(piece)
        {
            self.decoder = Err(error);
        }
    }

    fn finish(self) -> Unpacked {
        Unpacked {
            stored: self.stored.finish(),
            content: self.decoder.and_then(Decoder::finish),
        }
    }
}

impl Decoder {
    fn new(codec: Codec, sink: Sink) -> io::Result<Self> {
        Ok(match codec {
            Codec::Zstd => {
                let mut decoder = ZstdDecoder::new(sink)?;
                decoder.window_log_max(limits::ZSTD_WINDOW_LOG)?;
                Self::Zstd(Box::new(decoder))
            }
            // No other compressed layer gets this far.
            _ => Self::Gzip(Box::new(MultiGzDecoder::new(sink))),
        })
    }

    fn write_all(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Gzip(decoder) => decoder.write_all(piece),
            Self::Zstd(decoder) => decoder.write_all(piece),
        }
    }

    /// A zstd frame that was cut gives less, and so another digest.
    fn finish(self) -> io::Result<Digest> {
        let sink = match self {
            Self::Gzip(decoder) => decoder.finish()?,
            Self::Zstd(mut decoder) => {
                decoder.flush()?;
                decoder.into_inner()
            }
        };
        Ok(sink.hasher.finish())
    }
}

/// Hashes what is written, up to what a layer of its size can hold.
struct Sink {
    hasher: Hasher,
    left: u64,
}

impl Sink {
    fn new(size: u64) -> Self {
        Self {
            hasher: Hasher::new(Algorithm::Sha256),
            left: size.saturating_mul(limits::RATIO).max(limits::RATIO_FLOOR),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let size = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        let left = self.left.checked_sub(size);
        self.left = left.ok_or_else(|| io::Error::other("it is a decompression bomb"))?;
        self.hasher.update(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
