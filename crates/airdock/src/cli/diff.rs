//! `airdock diff`: what differs between two sets of images.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use airdock_bundle::archive::Archive;
use airdock_bundle::open::{Bundle, OpenError};
use airdock_bundle::platform::Matcher;
use anyhow::Context as _;
use clap::Args;

use super::options::GlobalOptions;
use crate::agent::scan::scan;
use crate::compare::Side;
use crate::exit::Exit;
use crate::output::diff::Report;
use crate::output::{self, Format, shown};
use crate::store::Role;

/// The store that the other options choose.
const STORE: &str = "store:";

#[derive(Debug, Args)]
pub(super) struct DiffOptions {
    /// A bundle, a layout directory, a directory of bundles, or store: for the store
    #[arg(value_name = "A")]
    first: Place,
    /// What it is compared with
    #[arg(value_name = "B")]
    second: Place,
}

/// Where images are, as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Store,
    Path(PathBuf),
}

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        Ok(match typed {
            STORE => Self::Store,
            path => Self::Path(path.into()),
        })
    }
}

pub(super) async fn run(global: &GlobalOptions, options: DiffOptions) -> anyhow::Result<Exit> {
    match compare(global, &options).await {
        Ok(exit) => Ok(exit),
        // As diff does: 1 says that they differ, trouble is more.
        Err(error) => Ok(match super::report(error) {
            Exit::Failure => Exit::Unreadable,
            exit => exit,
        }),
    }
}

async fn compare(global: &GlobalOptions, options: &DiffOptions) -> anyhow::Result<Exit> {
    let first = side(&options.first, global).await?;
    let second = side(&options.second, global).await?;
    let difference = first.difference(&second);
    let report = Report::of(&difference);
    match global.output {
        Format::Json => output::json(&report),
        Format::Table => report.print(),
    }
    Ok(match difference.is_none() {
        true => Exit::Success,
        false => Exit::Differs,
    })
}

async fn side(place: &Place, global: &GlobalOptions) -> anyhow::Result<Side> {
    match place {
        Place::Store => {
            let store = global.open_store(&Role::Load)?;
            Ok(Side::of_store(&store.view().await?))
        }
        Place::Path(path) => of_path(path, &global.matcher()),
    }
}

fn of_path(path: &Path, platform: &Matcher) -> anyhow::Result<Side> {
    let mut side = Side::default();
    if !path.is_dir() || path.join("oci-layout").exists() || path.join("manifest.json").exists() {
        add(&mut side, path, platform).with_context(|| shown(path))?;
        return Ok(side);
    }
    let listing = scan(path, false).with_context(|| shown(path))?;
    for candidate in listing.candidates {
        let path = &candidate.path;
        add(&mut side, path, platform).with_context(|| shown(path))?;
    }
    Ok(side)
}

fn add(side: &mut Side, path: &Path, platform: &Matcher) -> Result<(), OpenError> {
    let bundle = Bundle::open(Archive::open(path)?, platform)?;
    let listed = bundle.listed()?;
    side.add(&bundle, &listed);
    Ok(())
}
