//! One body for each fuzz target: what is done with an input, and what must hold whatever it is.
//! A body that returns has passed.

pub mod decompress;
pub mod docker;
pub mod names;
pub mod oci;
pub mod remembered;
pub mod tar_index;

mod opened;
mod parts;
mod seeds;
mod sound;

use std::io;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    Names,
    TarIndex,
    Decompress,
    Oci,
    Docker,
    Remembered,
}

impl Target {
    pub const ALL: [Self; 6] = [
        Self::Names,
        Self::TarIndex,
        Self::Decompress,
        Self::Oci,
        Self::Docker,
        Self::Remembered,
    ];

    /// As `cargo fuzz run` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::TarIndex => "tar_index",
            Self::Decompress => "decompress",
            Self::Oci => "oci",
            Self::Docker => "docker",
            Self::Remembered => "remembered",
        }
    }

    /// Does with `input` what the target does.
    pub fn run(self, input: &[u8]) {
        match self {
            Self::Names => names::run(input),
            Self::TarIndex => tar_index::run(input),
            Self::Decompress => decompress::run(input),
            Self::Oci => oci::run(input),
            Self::Docker => docker::run(input),
            Self::Remembered => remembered::run(input),
        }
    }

    /// Inputs to start from, made of the sample bundles in `tests/corpus`.
    pub fn seeds(self) -> io::Result<Vec<Vec<u8>>> {
        match self {
            Self::Names => seeds::names(),
            Self::TarIndex => seeds::archives(),
            Self::Decompress => seeds::streams(),
            Self::Oci => seeds::layouts(),
            Self::Docker => seeds::saved(),
            Self::Remembered => seeds::archives().map(remembered::seeds),
        }
    }
}
