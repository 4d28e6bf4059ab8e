//! Reads one entry to its end: its digests as it is stored, and what it unpacks to.

use std::collections::BTreeSet;
use std::io::{self, Read};

use super::allowance::Allowance;
use super::survey::Claim;
use crate::codec::{Codec, DecodeError, Decoder};
use crate::digest::{Algorithm, Digest, Hasher};
use crate::image::LayerFault;

/// What is to be found out about an entry.
#[derive(Debug, Default)]
pub(super) struct Job {
    stored: BTreeSet<Algorithm>,
    unpacking: Option<Codec>,
    unpacked: BTreeSet<Algorithm>,
}

impl Job {
    /// Adds what a claim needs to be judged.
    pub(super) fn ask(&mut self, claim: &Claim) {
        self.stored
            .extend(claim.stored.as_ref().map(Digest::algorithm));
        let Some(layer) = &claim.layer else {
            return;
        };
        let algorithm = layer.diff_id.algorithm();
        if layer.codec == Codec::Plain {
            self.stored.insert(algorithm);
        } else {
            self.unpacking = Some(layer.codec);
            self.unpacked.insert(algorithm);
        }
    }
}

/// What an entry's content is.
#[derive(Debug)]
pub(super) struct Examined {
    /// Digests as it is stored.
    pub(super) stored: Vec<Digest>,
    /// Digests of what it unpacks to; `None` where nobody asked.
    pub(super) unpacked: Option<Result<Vec<Digest>, LayerFault>>,
}

/// Reads all of `source`, through `buffer`.
///
/// # Errors
/// When `source` can't be read. What can't be unpacked is read to its end nevertheless.
pub(super) fn examine(
    job: &Job,
    source: impl Read,
    allowance: &Allowance,
    buffer: &mut [u8],
) -> io::Result<Examined> {
    let mut source = Hashed {
        source,
        hashers: Hashers::new(&job.stored),
    };
    let unpacked = match job.unpacking {
        Some(codec) => {
            let hashers = Hashers::new(&job.unpacked);
            Some(unpack(codec, &mut source, hashers, allowance, buffer)?)
        }
        None => None,
    };
    while source.read(buffer)? > 0 {}
    Ok(Examined {
        stored: source.hashers.finish(),
        unpacked,
    })
}

fn unpack(
    codec: Codec,
    source: impl Read,
    mut hashers: Hashers,
    allowance: &Allowance,
    buffer: &mut [u8],
) -> io::Result<Result<Vec<Digest>, LayerFault>> {
    let unpacked = Decoder::new(codec, source).and_then(|mut decoder| {
        loop {
            let piece = match decoder.decode(buffer)? {
                0 => return Ok(Ok(hashers.finish())),
                count => buffer.get(..count).unwrap_or_default(),
            };
            if let Err(fault) = allowance.take(piece.len()) {
                return Ok(Err(fault));
            }
            hashers.update(piece);
        }
    });
    match unpacked {
        Ok(unpacked) => Ok(unpacked),
        Err(DecodeError::Io(error)) => Err(error),
        Err(error) => Ok(Err(fault(error))),
    }
}

/// A decoder's words are about a file; these are about a layer.
fn fault(error: DecodeError) -> LayerFault {
    let detail = match error {
        DecodeError::Cut { codec, offset } => return LayerFault::Cut { codec, offset },
        DecodeError::Corrupt {
            codec,
            offset,
            detail,
        } => {
            format!("its {codec} stream is damaged, at byte {offset} or behind it ({detail})")
        }
        DecodeError::Trailing { codec, offset } => {
            format!("foreign bytes follow its {codec} stream, at byte {offset}")
        }
        error => error.to_string(),
    };
    LayerFault::Undecodable { detail }
}

/// Several digests of the same bytes.
struct Hashers(Vec<Hasher>);

impl Hashers {
    fn new(algorithms: &BTreeSet<Algorithm>) -> Self {
        Self(algorithms.iter().copied().map(Hasher::new).collect())
    }

    fn update(&mut self, piece: &[u8]) {
        for hasher in &mut self.0 {
            hasher.update(piece);
        }
    }

    fn finish(self) -> Vec<Digest> {
        self.0.into_iter().map(Hasher::finish).collect()
    }
}

/// Hashes what is read from it.
struct Hashed<R> {
    source: R,
    hashers: Hashers,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.hashers.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    fn job(codec: Codec) -> Job {
        let sha256 = BTreeSet::from([Algorithm::Sha256]);
        Job {
            stored: sha256.clone(),
            unpacking: Some(codec),
            unpacked: sha256,
        }
    }

    fn examined(stored: impl Read, allowance: &Allowance) -> io::Result<Examined> {
        let mut buffer = vec![0; limits::OUTPUT_BUFFER];
        examine(&job(Codec::Zstd), stored, allowance, &mut buffer)
    }

    #[test]
    fn both_digests_are_found_in_one_pass() {
        let stored = airdock_testkit::fixture::zstd(b"content");
        let allowance = Allowance::of(100);
        let found = examined(stored.as_slice(), &allowance).unwrap();
        assert_eq!(found.stored, [Digest::of(Algorithm::Sha256, &stored)]);
        let content = Digest::of(Algorithm::Sha256, b"content");
        assert_eq!(found.unpacked, Some(Ok(vec![content])));
        assert_eq!(allowance.taken(), 7);
    }

    #[test]
    fn what_unpacks_to_too_much_is_given_up_and_hashed_to_its_end() {
        let stored = airdock_testkit::fixture::zstd(&vec![0; 8 << 20]);
        let found = examined(stored.as_slice(), &Allowance::of(1 << 20)).unwrap();
        assert_eq!(found.stored, [Digest::of(Algorithm::Sha256, &stored)]);
        let fault = found.unpacked.unwrap().unwrap_err().to_string();
        assert!(fault.contains("unpack to over 1048576 bytes"), "{fault}");
    }

    #[test]
    fn a_source_that_fails_is_not_taken_for_a_cut_one() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("bad sector"))
            }
        }
        let stored = airdock_testkit::fixture::zstd(b"content");
        let fails = stored[..9].chain(Fails);
        let error = examined(fails, &Allowance::of(100)).unwrap_err();
        assert_eq!(error.to_string(), "bad sector");
    }
}
