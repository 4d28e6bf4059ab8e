//! `airdock why NAME`: is this image here, and why, or why not.

use airdock_bundle::name::Name;
use clap::Args;
use serde::Serialize;

use super::ask::AskOptions;
use super::options::GlobalOptions;
use crate::admin::document::{BundleState, ImageStatus, Status};
use crate::exit::Exit;
use crate::output::human::ago;
use crate::output::{self, Format};

/// Names that are shown where none is right.
const NEAREST: usize = 3;

/// How alike two names must be for one to be meant by the other (Jaro-Winkler, 0 to 1).
const ALIKE: f64 = 0.85;

#[derive(Debug, Args)]
pub(super) struct WhyOptions {
    /// An image's name, as a pod's manifest has it
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    ask: AskOptions,
}

/// The answer, as JSON.
#[derive(Debug, Serialize)]
struct Answer {
    /// As it was asked for, normalised.
    name: String,
    /// Whether a pod with `imagePullPolicy: Never` finds it.
    present: bool,
    /// In sentences.
    because: Vec<String>,
    /// All that is known of it.
    image: Option<ImageStatus>,
    /// Names that may have been meant.
    nearest: Vec<String>,
}

pub(super) async fn run(global: &GlobalOptions, options: WhyOptions) -> anyhow::Result<Exit> {
    let status = options.ask.status(global).await?;
    let answer = answer(&options.name, &status);
    match global.output {
        Format::Json => output::json(&answer),
        Format::Table => answer.because.iter().for_each(|line| output::line(line)),
    }
    Ok(match (answer.present, &answer.image) {
        (true, _) => Exit::Success,
        (false, Some(image)) if image.refused.is_some() => Exit::Refused,
        (false, _) => Exit::NotHeld,
    })
}

fn answer(asked: &str, status: &Status) -> Answer {
    let name = match Name::parse(asked) {
        Ok(name) => name.to_string(),
        Err(error) => {
            let because = vec![format!("{asked} is not a name: {error}")];
            return Answer {
                name: asked.to_owned(),
                present: false,
                because,
                image: None,
                nearest: nearest(asked, status),
            };
        }
    };
    let by_digest = |image: &&ImageStatus| image.also.contains(&name);
    let mut images = status.images.iter();
    let image = images.clone().find(|image| image.name == name);
    let image = image.or_else(|| images.find(by_digest));
    let Some(image) = image else {
        return unknown(name, status);
    };
    Answer {
        present: image.is_imported(),
        because: because(image),
        image: Some(image.clone()),
        nearest: Vec::new(),
        name,
    }
}

fn because(image: &ImageStatus) -> Vec<String> {
    let name = &image.name;
    let bundles: Vec<String> = image
        .bundles
        .iter()
        .map(|b| b.display().to_string())
        .collect();
    let from = bundles.join(", then ");
    if let Some(reason) = &image.refused {
        return vec![format!("{name} is in {from}, but is refused: {reason}")];
    }
    let (Some(digest), Some(wanted)) = (&image.digest, &image.wanted) else {
        return vec![format!(
            "{name} is in {from}, but not in the store yet: see `airdock status`"
        )];
    };
    if digest != wanted {
        return vec![format!(
            "{name} is in the store with another image, {digest}; {from} has {wanted}"
        )];
    }
    let since = image.since.map_or_else(String::new, ago);
    let mut lines = vec![
        format!("{name} is in the store, from {from}, which came {since}"),
        format!("  digest  {digest}"),
    ];
    lines.extend(
        image
            .config
            .iter()
            .map(|config| format!("  id      {config}")),
    );
    lines.extend(image.also.iter().map(|other| format!("  also as {other}")));
    let pinned = if image.pinned {
        "pinned: kubelet's garbage collection leaves it alone"
    } else {
        "not pinned"
    };
    lines.push(format!("  {pinned}"));
    lines
}

fn unknown(name: String, status: &Status) -> Answer {
    let directories = output::status::directories(status);
    let mut because = vec![format!("{name} is in no bundle in {directories}")];
    let unread = status.bundles.iter().filter(|bundle| {
        matches!(
            bundle.state,
            BundleState::Refused | BundleState::Failing | BundleState::Incomplete
        )
    });
    because.extend(unread.map(|bundle| {
        let reason = bundle.reason.as_deref().unwrap_or("see `airdock status`");
        format!(
            "  perhaps in {}, which is {}: {reason}",
            bundle.path.display(),
            bundle.state.as_str()
        )
    }));
    let nearest = nearest(&name, status);
    because.extend(
        nearest
            .iter()
            .map(|other| format!("  perhaps {other} is meant")),
    );
    Answer {
        name,
        present: false,
        because,
        image: None,
        nearest,
    }
}

fn nearest(name: &str, status: &Status) -> Vec<String> {
    let alike = |image: &ImageStatus| (strsim::jaro_winkler(name, &image.name), image.name.clone());
    let mut names: Vec<(f64, String)> = status.images.iter().map(alike).collect();
    names.retain(|(alike, _)| *alike >= ALIKE);
    names.sort_by(|a, b| b.0.total_cmp(&a.0));
    names.truncate(NEAREST);
    names.into_iter().map(|(_, name)| name).collect()
}
