//! gzip without a time or a name in it.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Compresses as well as it goes.
pub fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}
