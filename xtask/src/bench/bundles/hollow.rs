//! Large layers that are next to nothing: zeros up to a last block that tells them apart. The
//! zeros are hashed once for all of them, and take no room on the disk.

use airdock_testkit::fixture::{Descriptor, media_type};
use sha2::{Digest as _, Sha256};

/// The last block: a tar's size.
const LAST: usize = 512;

/// Zeros of one length, hashed.
#[derive(Debug)]
pub(super) struct Zeros {
    length: u64,
    hashed: Sha256,
}

/// A layer of zeros and a last block.
#[derive(Debug)]
pub(super) struct Hollow {
    /// What the manifest says of it.
    pub descriptor: Descriptor,
    /// Its end.
    pub last: [u8; LAST],
}

impl Zeros {
    /// For layers of this size: a multiple of a tar's blocks, and more than one of them.
    pub(super) fn hash(size: usize) -> Self {
        let block = vec![0; LAST << 10];
        let mut hashed = Sha256::new();
        let mut left = size.saturating_sub(LAST);
        while left > 0 {
            let now = left.min(block.len());
            hashed.update(block.get(..now).unwrap_or_default());
            left -= now;
        }
        Self {
            length: size as u64,
            hashed,
        }
    }

    /// A layer that ends with this number.
    pub(super) fn ending_with(&self, number: u64) -> Hollow {
        let mut last = [0; LAST];
        for (byte, digit) in last.iter_mut().zip(number.to_be_bytes()) {
            *byte = digit;
        }
        let sum = self.hashed.clone().chain_update(last).finalize();
        let hex: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        Hollow {
            descriptor: Descriptor {
                media_type: media_type::LAYER.to_owned(),
                digest: format!("sha256:{hex}"),
                size: self.length,
                annotations: None,
                platform: None,
            },
            last,
        }
    }
}

#[cfg(test)]
mod tests {
    use airdock_testkit::fixture::sha256;

    use super::*;

    #[test]
    fn a_layer_is_hashed_as_if_it_were_whole() {
        for size in [1024, (3 * LAST) << 10] {
            let hollow = Zeros::hash(size).ending_with(7);
            let mut whole = vec![0; size - LAST];
            whole.extend(hollow.last);
            assert_eq!(hollow.descriptor.digest, sha256(&whole));
            assert_eq!(hollow.descriptor.size, whole.len() as u64);
        }
    }
}
