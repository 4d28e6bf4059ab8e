//! Content digests (`sha256:…`), as the OCI image specification writes them.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;
use std::sync::Arc;

use aws_lc_rs::digest as hash;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::escape::escaped;
use crate::limits;

/// A hash function that a digest may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    Sha256,
    Sha512,
}

impl Algorithm {
    /// The prefix of digests made with it, without the colon.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    fn from_prefix(prefix: &str) -> Option<Self> {
        [Self::Sha256, Self::Sha512]
            .into_iter()
            .find(|known| known.as_str() == prefix)
    }

    fn hex_len(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }

    fn function(self) -> &'static hash::Algorithm {
        match self {
            Self::Sha256 => &hash::SHA256,
            Self::Sha512 => &hash::SHA512,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The digest of some content, in its one canonical spelling: `sha256:` and 64 lower-case
/// hexadecimal digits, or `sha512:` and 128 of them. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    /// Algorithm, colon, digits.
    text: Arc<str>,
}

impl Digest {
    /// The digest of `content`.
    pub fn of(algorithm: Algorithm, content: &[u8]) -> Self {
        Self::from_raw(
            algorithm,
            hash::digest(algorithm.function(), content).as_ref(),
        )
    }

    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The whole digest, with its algorithm.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The hexadecimal digits alone.
    pub fn hex(&self) -> &str {
        self.text.split_once(':').map_or("", |(_, hex)| hex)
    }

    /// The first twelve digits: enough to recognise an image, as Docker shows it.
    pub fn short(&self) -> &str {
        let hex = self.hex();
        hex.get(..12).unwrap_or(hex)
    }

    fn from_raw(algorithm: Algorithm, raw: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(algorithm.as_str().len() + 1 + algorithm.hex_len());
        text.push_str(algorithm.as_str());
        text.push(':');
        for byte in raw {
            for nibble in [byte >> 4, byte & 0xf] {
                text.push(
                    DIGITS
                        .get(usize::from(nibble))
                        .copied()
                        .map_or('0', char::from),
                );
            }
        }
        Self {
            algorithm,
            text: text.into(),
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(given: &str) -> Result<Self, DigestError> {
        let (prefix, hex) = given
            .split_once(':')
            .ok_or_else(|| DigestError::NoAlgorithm {
                given: given.into(),
            })?;
        let algorithm = Algorithm::from_prefix(prefix).ok_or_else(|| DigestError::Algorithm {
            algorithm: prefix.into(),
        })?;
        if hex.len() != algorithm.hex_len() {
            return Err(DigestError::Length {
                given: given.into(),
                algorithm,
            });
        }
        if !hex
            .bytes()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
        {
            return Err(DigestError::Digits {
                given: given.into(),
            });
        }
        Ok(Self {
            algorithm,
            text: given.into(),
        })
    }
}

/// What is wrong with a text that should be a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    #[error("digest \"{}\" names no algorithm (as in sha256:…)", escaped(given))]
    NoAlgorithm { given: String },
    #[error(
        "digest algorithm \"{}\" is not supported (only sha256 and sha512 are)",
        escaped(algorithm)
    )]
    Algorithm { algorithm: String },
    #[error("digest \"{}\" has not the {} hexadecimal digits of {algorithm}", escaped(given), algorithm.hex_len())]
    Length { given: String, algorithm: Algorithm },
    #[error(
        "digest \"{}\" holds something else than lower-case hexadecimal digits",
        escaped(given)
    )]
    Digits { given: String },
}

/// Computes a digest piece by piece.
#[derive(Clone)]
pub struct Hasher {
    algorithm: Algorithm,
    context: hash::Context,
}

impl Hasher {
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            context: hash::Context::new(algorithm.function()),
        }
    }

    pub fn update(&mut self, content: &[u8]) {
        self.context.update(content);
    }

    /// Takes all that a reader has to give; returns how many bytes that were.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn read(&mut self, mut reader: impl Read) -> io::Result<u64> {
        let mut buffer = vec![0; limits::VISIT_CHUNK];
        let mut total = 0;
        loop {
            let count = match reader.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                count => count?,
            };
            if count == 0 {
                return Ok(total);
            }
            self.update(buffer.get(..count).unwrap_or_default());
            total += count as u64;
        }
    }

    /// The digest of everything that was given to [`update`](Self::update).
    pub fn finish(self) -> Digest {
        Digest::from_raw(self.algorithm, self.context.finish().as_ref())
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, the empty message and "abc".
    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn what_a_reader_gives_has_the_digest_of_its_content() {
        let content = vec![7; limits::VISIT_CHUNK + 1];
        let mut hasher = Hasher::new(Algorithm::Sha256);
        assert_eq!(hasher.read(&content[..]).unwrap(), content.len() as u64);
        assert_eq!(hasher.finish(), Digest::of(Algorithm::Sha256, &content));
    }

    #[test]
    fn content_has_the_published_digest() {
        assert_eq!(Digest::of(Algorithm::Sha256, b"").as_str(), EMPTY);
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(b"a");
        hasher.update(b"bc");
        let digest = hasher.finish();
        assert_eq!(digest.as_str(), ABC);
        assert_eq!(digest.short(), "ba7816bf8f01");
        assert_eq!(digest.hex().len(), 64);
        assert!(
            Digest::of(Algorithm::Sha512, b"abc")
                .as_str()
                .starts_with("sha512:ddaf35a193617aba")
        );
    }

    #[test]
    fn a_digest_reads_back_as_itself() {
        for content in [&b""[..], b"abc", b"\0"] {
            for algorithm in [Algorithm::Sha256, Algorithm::Sha512] {
                let digest = Digest::of(algorithm, content);
                assert_eq!(digest.as_str().parse(), Ok(digest));
            }
        }
    }

    #[test]
    fn other_spellings_are_refused_by_name() {
        let upper = ABC.replace("ba78", "BA78");
        for (given, reason) in [
            ("", "names no algorithm"),
            ("ba7816bf", "names no algorithm"),
            (
                "md5:900150983cd24fb0d6963f7d28e17f72",
                "\"md5\" is not supported",
            ),
            ("SHA256:00", "\"SHA256\" is not supported"),
            ("sha256:", "64 hexadecimal digits"),
            (&ABC[..70], "64 hexadecimal digits"),
            (&ABC.replace("sha256", "sha512"), "128 hexadecimal digits"),
            (&upper, "lower-case"),
            (&ABC.replace("ba78", "ba/8"), "lower-case"),
        ] {
            let error = given.parse::<Digest>().expect_err(given).to_string();
            assert!(error.contains(reason), "{given:?}: {error}");
        }
    }
}
