//! `airdock verify`: whether bundles are what they say, for every node, and hold what is needed.

use std::fs::File;
use std::path::{Path, PathBuf};

use airdock_bundle::archive::Archive;
use airdock_bundle::open::{Bundle, OpenError};
use airdock_bundle::platform::Matcher;
use airdock_bundle::verify::{Required, Survey, Verified};
use anyhow::Context as _;
use clap::Args;

use super::options::GlobalOptions;
use crate::exit::Exit;
use crate::output::verify::{BundleReport, Report};
use crate::output::{self, Bars, Format};

#[derive(Debug, Args)]
pub(super) struct VerifyOptions {
    /// Archives or layout directories
    #[arg(required = true, value_name = "BUNDLE")]
    bundles: Vec<PathBuf>,
    /// A file of image names, one a line, that the bundles must hold together; # starts a comment
    #[arg(long, value_name = "LIST")]
    require: Option<PathBuf>,
}

pub(super) fn run(global: &GlobalOptions, options: &VerifyOptions) -> anyhow::Result<Exit> {
    let platform = global.matcher();
    let mut required = options.require.as_deref().map(read_list).transpose()?;
    let mut worst = Exit::Success;
    let mut bundles = Vec::new();
    for path in &options.bundles {
        let verified = verify(path, &platform);
        if let (Ok(verified), Some(required)) = (&verified, &mut required) {
            required.tick_off(verified);
        }
        worst = worst.max(exit(&verified));
        bundles.push(BundleReport::of(path, &verified));
    }
    let report = Report::new(bundles, required.as_ref());
    if report.is_lacking() {
        worst = worst.max(Exit::Lacking);
    }
    match global.output {
        Format::Json => output::json(&report),
        Format::Table => report.print(),
    }
    Ok(worst)
}

fn read_list(path: &Path) -> anyhow::Result<Required> {
    let shown = || path.display().to_string();
    let list = File::open(path).with_context(shown)?;
    Required::read(list).with_context(shown)
}

fn verify(path: &Path, platform: &Matcher) -> Result<Verified, OpenError> {
    let bundle = Bundle::open(Archive::open(path)?, platform)?;
    let survey = Survey::of(bundle)?;
    let bars = Bars::new();
    bars.start(path, survey.bytes());
    let verified = survey.verify(&|bytes| bars.advance(bytes));
    bars.clear();
    Ok(verified?)
}

fn exit(verified: &Result<Verified, OpenError>) -> Exit {
    let (verdict, is_whole) = match verified {
        Ok(verified) => (verified.verdict(), verified.is_whole()),
        Err(error) => (error.verdict(), true),
    };
    match verdict {
        Some(verdict) if is_whole => Exit::from(verdict),
        _ => Exit::Unreadable,
    }
}
