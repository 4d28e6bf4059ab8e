//! `airdock images-of`: which images files name.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::options::GlobalOptions;
use crate::exit::Exit;
use crate::output::{self, Format, shown};
use crate::workload::{self, Fields};

#[derive(Debug, Args)]
pub(super) struct ImagesOfOptions {
    /// Kubernetes manifests, what `helm template` prints, or lists with one name a line; - is
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Take each `image` field, also outside of pod templates, as custom resources have it
    #[arg(long)]
    all_fields: bool,
}

pub(super) fn run(global: &GlobalOptions, options: &ImagesOfOptions) -> anyhow::Result<Exit> {
    let fields = match options.all_fields {
        true => Fields::Every,
        false => Fields::Pods,
    };
    let mut names = BTreeSet::new();
    for path in &options.files {
        names.extend(workload::read(path, fields).with_context(|| shown(path))?);
    }
    // As text, so that they are in the order of their bytes: what `sort` would give.
    let names: BTreeSet<String> = names.iter().map(ToString::to_string).collect();
    match global.output {
        Format::Json => output::json(&names),
        Format::Table => names.iter().for_each(|name| output::line(name)),
    }
    Ok(match names.is_empty() {
        true => Exit::Empty,
        false => Exit::Success,
    })
}
