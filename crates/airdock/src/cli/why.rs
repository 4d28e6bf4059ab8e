//! `airdock why NAME`: is this image here, and why, or why not.

use airdock_bundle::escape::escaped;
use airdock_bundle::name::Name;
use clap::Args;
use serde::Serialize;

use super::ask::AskOptions;
use super::options::GlobalOptions;
use crate::admin::document::{BundleState, BundleStatus, ImageStatus, Status};
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
            let asked_for = escaped(asked);
            let because = vec![format!("{asked_for} is not a name: {error}")];
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
    let mut because = because(image);
    if !status.store.is_reachable() && image.digest.is_some() {
        because.push("  that was so when the store answered last: it doesn't now".to_owned());
    }
    Answer {
        present: image.is_imported(),
        because,
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
        .map(|bundle| output::shown(bundle))
        .collect();
    let from = bundles.join(", then ");
    if let Some(reason) = image.refused.as_ref().filter(|_| image.left_out) {
        return vec![format!("{name} is in {from}, but {reason}")];
    }
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
    because.extend(unread(status).map(|bundle| {
        let (path, state) = (output::shown(&bundle.path), bundle.state.as_str());
        let reason = bundle.reason.as_ref();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        format!("  perhaps in {path}, which is {state}{reason}")
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

/// Bundles of whose images nothing is known.
fn unread(status: &Status) -> impl Iterator<Item = &BundleStatus> {
    let is_over = |bundle: &BundleStatus| {
        matches!(bundle.state, BundleState::Imported | BundleState::Releasing)
    };
    let has_images = |bundle: &BundleStatus| {
        let mut images = status.images.iter();
        images.any(|image| image.bundles.contains(&bundle.path))
    };
    let bundles = status.bundles.iter();
    bundles.filter(move |bundle| !is_over(bundle) && !has_images(bundle))
}

fn nearest(name: &str, status: &Status) -> Vec<String> {
    let asked = path_of(name);
    let alike = |image: &ImageStatus| {
        let alike = strsim::jaro_winkler(asked, path_of(&image.name));
        (alike, image.name.clone())
    };
    let mut names: Vec<(f64, String)> = status.images.iter().map(alike).collect();
    names.retain(|(alike, _)| *alike >= ALIKE);
    names.sort_by(|a, b| b.0.total_cmp(&a.0));
    names.truncate(NEAREST);
    names.into_iter().map(|(_, name)| name).collect()
}

/// What people remember of a name: without its registry, which many share, or mistake.
fn path_of(name: &str) -> &str {
    let path = match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => path,
        _ => name,
    };
    path.strip_prefix("library/").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::path_of;

    #[test]
    fn registries_dont_make_names_alike() {
        for (name, path) in [
            ("docker.io/library/x:1", "x:1"),
            ("quay.io/team/server:1", "team/server:1"),
            ("localhost/server:1", "server:1"),
            ("team/server:1", "team/server:1"),
            ("x:1", "x:1"),
        ] {
            assert_eq!(path_of(name), path);
        }
    }
}
