//! The four decoders that work from slice to slice, behind one interface.

use bzip2::Decompress as Bunzip2;
use flate2::{Decompress as Inflate, FlushDecompress};
use liblzma::stream::{Action, Stream as Unxz};
use zstd::stream::raw::{DParameter, Decoder as Unzstd, Operation as _};

use super::Codec;
use crate::limits;

/// Decodes one frame: a gzip member, a zstd frame, an xz or bzip2 stream.
pub(super) enum Engine {
    Gzip(Inflate),
    Zstd(Unzstd<'static>),
    Xz(Unxz),
    Bzip2(Bunzip2),
}

/// What one call got done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) read: usize,
    pub(super) written: usize,
    /// The frame is over, and its trailer was right.
    pub(super) ended: bool,
}

/// Why a frame cannot be decoded.
#[derive(Debug)]
pub(super) enum Fault {
    Corrupt(String),
    Memory,
}

/// gzip's largest window, which is also what every encoder uses.
const GZIP_WINDOW_BITS: u8 = 15;

impl Engine {
    /// A decoder for one frame of `codec`; `None` for codecs that are decoded otherwise.
    pub(super) fn new(codec: Codec) -> Option<Result<Self, Fault>> {
        Some(match codec {
            Codec::Gzip => Ok(Self::Gzip(Inflate::new_gzip(GZIP_WINDOW_BITS))),
            Codec::Zstd => unzstd(),
            Codec::Xz => Unxz::new_stream_decoder(limits::XZ_MEMORY, 0)
                .map(Self::Xz)
                .map_err(|error| Fault::Corrupt(error.to_string())),
            Codec::Bzip2 => Ok(Self::Bzip2(Bunzip2::new(false))),
            Codec::Plain | Codec::Lz4 => return None,
        })
    }

    /// Decodes from `input` to `output`. Neither read nor written means that the frame goes on
    /// and `input` was empty.
    pub(super) fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
        match self {
            Self::Gzip(inflate) => gzip(inflate, input, output),
            Self::Zstd(unzstd) => zstd(unzstd, input, output),
            Self::Xz(unxz) => xz(unxz, input, output),
            Self::Bzip2(bunzip2) => bzip2(bunzip2, input, output),
        }
    }
}

fn gzip(inflate: &mut Inflate, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
    let before = (inflate.total_in(), inflate.total_out());
    let status = inflate
        .decompress(input, output, FlushDecompress::None)
        .map_err(|error| Fault::Corrupt(error.message().unwrap_or("invalid data").to_owned()))?;
    let after = (inflate.total_in(), inflate.total_out());
    Ok(Step::between(
        before,
        after,
        status == flate2::Status::StreamEnd,
    ))
}

fn unzstd() -> Result<Engine, Fault> {
    let unzstd = Unzstd::new().and_then(|mut unzstd| {
        unzstd.set_parameter(DParameter::WindowLogMax(limits::ZSTD_WINDOW_LOG))?;
        Ok(unzstd)
    });
    unzstd
        .map(Engine::Zstd)
        .map_err(|error| Fault::Corrupt(error.to_string()))
}

fn zstd(unzstd: &mut Unzstd<'_>, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
    let status = unzstd
        .run_on_buffers(input, output)
        .map_err(|error| Fault::Corrupt(error.to_string()))?;
    Ok(Step {
        read: status.bytes_read,
        written: status.bytes_written,
        ended: status.remaining == 0,
    })
}

fn xz(unxz: &mut Unxz, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
    use liblzma::stream::{Error, Status};
    let before = (unxz.total_in(), unxz.total_out());
    let status = unxz
        .process(input, output, Action::Run)
        .map_err(|error| match error {
            Error::MemLimit | Error::Mem => Fault::Memory,
            error => Fault::Corrupt(error.to_string()),
        })?;
    Ok(Step::between(
        before,
        (unxz.total_in(), unxz.total_out()),
        status == Status::StreamEnd,
    ))
}

fn bzip2(bunzip2: &mut Bunzip2, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
    let before = (bunzip2.total_in(), bunzip2.total_out());
    let status = bunzip2.decompress(input, output).map_err(|error| {
        Fault::Corrupt(error.to_string().trim_start_matches("bzip2: ").to_owned())
    })?;
    let after = (bunzip2.total_in(), bunzip2.total_out());
    Ok(Step::between(
        before,
        after,
        status == bzip2::Status::StreamEnd,
    ))
}

impl Step {
    /// From a decoder's totals, in and out, before and after a call.
    fn between(before: (u64, u64), after: (u64, u64), ended: bool) -> Self {
        // A call works on slices, so that the differences are no larger than those.
        let difference = |after: u64, before: u64| usize::try_from(after - before).unwrap_or(0);
        Self {
            read: difference(after.0, before.0),
            written: difference(after.1, before.1),
            ended,
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gzip(_) => "Gzip",
            Self::Zstd(_) => "Zstd",
            Self::Xz(_) => "Xz",
            Self::Bzip2(_) => "Bzip2",
        })
    }
}
