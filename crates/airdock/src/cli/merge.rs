//! `airdock merge`: several bundles as one.

use std::path::PathBuf;

use airdock_bundle::platform::Platform;
use clap::Args;

use super::options::GlobalOptions;
use super::pack::{Compress, make};
use crate::exit::Exit;
use crate::pack::PackError;
use crate::pack::origin::{Origin, OriginError};
use crate::pack::request::Request;
use crate::reader::Reader;

#[derive(Debug, Args)]
pub(super) struct MergeOptions {
    /// Bundles and layout directories; of a delta and its base the result is whole
    #[arg(required = true, value_name = "BUNDLE")]
    bundles: Vec<PathBuf>,
    /// The file to write
    #[arg(short = 'o', long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    writing: WritingOptions,
    /// Leave a name that two bundles give different images to the first of them, and exit with 3
    #[arg(long)]
    keep_going: bool,
}

/// How files are written.
#[derive(Debug, Args)]
pub(super) struct WritingOptions {
    /// How the file is compressed; layers stay as they are
    #[arg(long, value_enum, default_value_t)]
    compress: Compress,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Also write FILE.sha256
    #[arg(long)]
    sha256: bool,
}

impl WritingOptions {
    /// All that bundles hold, whatever platform it is for.
    pub(super) fn everything(&self, output: PathBuf, keep_going: bool) -> Request {
        Request {
            names: Vec::new(),
            platforms: Vec::new(),
            with_referrers: false,
            docker: false,
            bases: Vec::new(),
            compression: self.compress.into(),
            keep_going,
            output,
            replace: self.force,
            checksum: self.sha256,
        }
    }
}

pub(super) async fn run(global: &GlobalOptions, options: MergeOptions) -> anyhow::Result<Exit> {
    let origins = whole(&options.bundles)?;
    let request = options.writing.everything(options.out, options.keep_going);
    make(&origins, &request, global).await
}

/// Bundles, for all platforms.
pub(super) fn whole(bundles: &[PathBuf]) -> Result<Vec<Origin>, PackError> {
    let all: [Platform; 0] = [];
    let open = |path: &PathBuf| {
        let opened = Reader::open(path, &all).map_err(OriginError::from)?;
        Ok(Origin::Bundle(opened))
    };
    bundles.iter().map(open).collect()
}
