//! `airdock pack`: makes a bundle of images.

use std::path::{Path, PathBuf};

use airdock_bundle::escape::escaped;
use airdock_bundle::name::Name;
use airdock_bundle::platform::Platform;
use airdock_bundle::write::Compression;
use anyhow::Context as _;
use clap::{Args, ValueEnum};

use super::options::GlobalOptions;
use super::pull_options::PullOptions;
use super::source::Source;
use crate::config::PlatformText;
use crate::exit::Exit;
use crate::output::pack::Report;
use crate::output::{self, Bars, Format, shown};
use crate::pack::base::Base;
use crate::pack::node::Node;
use crate::pack::origin::Origin;
use crate::pack::request::Request;
use crate::pack::{PackError, Progress, pack};
use crate::workload::{self, Fields};

#[derive(Debug, Args)]
pub(super) struct PackOptions {
    /// Images by name; without any, and without --list, all that bundles among the sources hold
    #[arg(value_name = "IMAGE")]
    images: Vec<String>,
    /// The file to write
    #[arg(short = 'o', long, value_name = "FILE")]
    out: PathBuf,
    /// A file that names images, as `images-of` reads it; - is standard input
    #[arg(long, value_name = "FILE")]
    list: Vec<PathBuf>,
    /// Where images come from: a bundle, a layout directory, containerd:SOCKET, or registry: the
    /// registry of each name; asked in this order
    #[arg(long, value_name = "SOURCE", default_value = "registry")]
    from: Vec<Source>,
    #[command(flatten)]
    pull: PullOptions,
    /// Platforms whose images are taken, as OS/ARCHITECTURE[/VARIANT] [default: this machine's]
    #[arg(
        long,
        env = "AIRDOCK_PLATFORM",
        value_delimiter = ',',
        value_name = "PLATFORM"
    )]
    platform: Vec<PlatformText>,
    /// Take the images of every platform that there is
    #[arg(long, conflicts_with = "platform")]
    all_platforms: bool,
    /// Also take what refers to an image: signatures, SBOMs
    #[arg(long)]
    with_referrers: bool,
    /// Leave out the layers that this bundle has, or that this file lists by digest
    #[arg(long, value_name = "BUNDLE|LIST")]
    base: Vec<PathBuf>,
    /// Leave out the layers of the images that this node has, by what `airdock status --output
    /// json` prints there; they are looked up in the sources
    #[arg(long, value_name = "STATUS")]
    for_node: Option<PathBuf>,
    /// How the file is compressed; layers stay as they are
    #[arg(long, value_enum, default_value_t)]
    compress: Compress,
    /// Also write the list that `docker load` reads before version 25
    #[arg(long, conflicts_with_all = ["base", "for_node"])]
    docker: bool,
    /// Pack what can be had, and exit with 3 where something can't
    #[arg(long)]
    keep_going: bool,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
    /// Also write FILE.sha256
    #[arg(long)]
    sha256: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Compress {
    /// A plain tar: blobs can be read at random, and share extents.
    #[default]
    None,
    /// Frames with a seek table; any zstd reads it.
    Zstd,
}

impl From<Compress> for Compression {
    fn from(compress: Compress) -> Self {
        match compress {
            Compress::None => Self::None,
            Compress::Zstd => Self::Zstd,
        }
    }
}

pub(super) async fn run(global: &GlobalOptions, options: PackOptions) -> anyhow::Result<Exit> {
    let mut request = options.request(global)?;
    let mut origins = Vec::new();
    for source in &options.from {
        let origin = source.open(&request.platforms, global, &options.pull);
        origins.push(origin.await?);
    }
    if let Some(path) = &options.for_node {
        let node = Node::read(path, &origins).await.map_err(PackError::from)?;
        for image in &node.unknown {
            output::note(&format!("note: no source knows the node's {image}"));
        }
        request.bases.push(node.base());
    }
    make(&origins, &request, global).await
}

/// Draws how far a file is that is being made.
pub(super) fn drawn(bars: &Bars, output: &Path) -> impl Fn(Progress) + Clone + Send + use<> {
    let (bar, path) = (bars.clone(), output.to_owned());
    move |progress| match progress {
        Progress::Writing(total) => bar.start(&path, total),
        Progress::Wrote(bytes) => bar.advance(bytes),
    }
}

/// Makes the bundle, and says so.
pub(super) async fn make(
    origins: &[Origin],
    request: &Request,
    global: &GlobalOptions,
) -> anyhow::Result<Exit> {
    let bars = Bars::new();
    let cancel = super::watch::stopped_by_signals();
    let progress = drawn(&bars, &request.output);
    let packed = pack(origins, request, &cancel, progress).await;
    bars.clear();
    let report = Report::of(&packed?);
    match global.output {
        Format::Json => output::json(&report),
        Format::Table => report.print(),
    }
    Ok(report.exit())
}

impl PackOptions {
    fn request(&self, global: &GlobalOptions) -> anyhow::Result<Request> {
        let platforms = self.platforms(global);
        Ok(Request {
            names: self.names()?,
            with_referrers: self.with_referrers,
            docker: self.docker,
            bases: self.bases(&global.settings.platform)?,
            compression: self.compress.into(),
            keep_going: self.keep_going,
            output: self.out.clone(),
            replace: self.force,
            checksum: self.sha256,
            platforms,
        })
    }

    fn names(&self) -> anyhow::Result<Vec<Name>> {
        let mut names = Vec::new();
        for image in &self.images {
            names.push(Name::parse(image).with_context(|| escaped(image).to_string())?);
        }
        for path in &self.list {
            let listed = workload::read(path, Fields::Pods);
            names.extend(listed.with_context(|| shown(path))?);
        }
        Ok(names)
    }

    fn platforms(&self, global: &GlobalOptions) -> Vec<Platform> {
        if self.all_platforms {
            return Vec::new();
        }
        match self.platform.is_empty() {
            true => vec![global.settings.platform.clone()],
            false => self.platform.iter().map(|it| it.0.clone()).collect(),
        }
    }

    fn bases(&self, platform: &Platform) -> Result<Vec<Base>, PackError> {
        let bases = self.base.iter().map(|path| Base::read(path, platform));
        Ok(bases.collect::<Result<_, _>>()?)
    }
}
