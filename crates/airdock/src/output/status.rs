//! What `status` and `images` print for people.

use airdock_bundle::Verdict;
use comfy_table::{Cell, Color, Table, presets};

use super::human::{Bytes, ago, count};
use super::{line, shown};
use crate::admin::document::{BundleState, BundleStatus, ImageStatus, Status};

/// The watched directories, in a sentence.
pub fn directories(status: &Status) -> String {
    let directories = status.sources.iter().map(|source| shown(&source.directory));
    directories.collect::<Vec<_>>().join(", ")
}

/// Why a path, as it is shown, has no bundle.
pub fn unlooked(path: &str) -> String {
    format!("{path} is not looked at: its name is not UTF-8")
}

/// Everything.
pub fn everything(status: &Status) {
    let agent = &status.agent;
    let started = ago(agent.started);
    line(&format!(
        "agent   airdock {}, pid {}, started {started}",
        agent.version, agent.pid
    ));
    let store = &status.store;
    let reason = store
        .reason
        .as_ref()
        .map_or_else(String::new, |r| format!(": {r}"));
    line(&format!("store   {}, {}{reason}", store.name, store.state));
    for source in &status.sources {
        let bundles = count(source.bundles, "bundle");
        let reason = source.reason.as_ref();
        let reason = reason.map_or_else(String::new, |r| format!(": {r}"));
        line(&format!(
            "source  {}, {}, {bundles}{reason}",
            shown(&source.directory),
            source.state
        ));
        for path in &source.not_utf8 {
            line(&format!("        {}", unlooked(path)));
        }
    }
    if !status.bundles.is_empty() {
        line("");
        line(&bundles(&status.bundles).trim_fmt());
    }
    for bundle in &status.bundles {
        print_reason(bundle);
    }
}

/// One bundle with its images.
pub fn one(bundle: &BundleStatus, status: &Status) {
    line(&bundles(std::slice::from_ref(bundle)).trim_fmt());
    print_reason(bundle);
    let mut own = status
        .images
        .iter()
        .filter(|i| i.bundles.contains(&bundle.path))
        .peekable();
    if own.peek().is_some() {
        line("");
        line(&table_of(own).trim_fmt());
    }
}

/// Every image.
pub fn images(status: &Status) {
    line(&table_of(status.images.iter()).trim_fmt());
}

fn print_reason(bundle: &BundleStatus) {
    if let Some(reason) = &bundle.reason {
        line(&format!("{}: {reason}", shown(&bundle.path)));
    }
    if bundle.holds_earlier {
        let path = shown(&bundle.path);
        line(&format!("{path}: images of its last good version stay"));
    }
}

fn bundles(bundles: &[BundleStatus]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["BUNDLE", "STATE", "IMAGES", "SIZE", "ARRIVED"]);
    for bundle in bundles {
        table.add_row([
            Cell::new(shown(&bundle.path)),
            state(bundle),
            Cell::new(bundle.images),
            Cell::new(Bytes(bundle.size)),
            Cell::new(ago(bundle.arrived)),
        ]);
    }
    table
}

fn state(bundle: &BundleStatus) -> Cell {
    let word = bundle.state.as_str();
    let text = match (bundle.bytes_done, bundle.bytes_total, bundle.retry_seconds) {
        (Some(done), Some(total), _) => format!("{word} {}/{}", Bytes(done), Bytes(total)),
        (_, _, Some(seconds)) => format!("{word}, again in {seconds:.0} s"),
        _ if bundle.state == BundleState::Imported && bundle.verdict == Some(Verdict::Partial) => {
            format!("{word} in part")
        }
        _ => word.to_owned(),
    };
    let color = match bundle.state {
        BundleState::Imported => Color::Green,
        BundleState::Refused | BundleState::Failing => Color::Red,
        _ => Color::Yellow,
    };
    Cell::new(text).fg(color)
}

fn table_of<'a>(images: impl Iterator<Item = &'a ImageStatus>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["NAME", "DIGEST", "STATE", "PINNED", "SIZE", "BUNDLE"]);
    for image in images {
        let bundle = image.bundles.first().and_then(|path| path.file_name());
        let bundle = bundle.map_or_else(String::new, |name| shown(name.as_ref()));
        let digest = image.digest.as_deref().and_then(|digest| digest.get(..19));
        table.add_row([
            Cell::new(&image.name),
            Cell::new(digest.unwrap_or("-")),
            image_state(image),
            Cell::new(if image.pinned { "yes" } else { "no" }),
            Cell::new(Bytes(image.size)),
            Cell::new(bundle),
        ]);
    }
    table
}

fn image_state(image: &ImageStatus) -> Cell {
    match (&image.refused, image.is_imported()) {
        (Some(_), _) if image.left_out => Cell::new(image.state()),
        (Some(_), _) => Cell::new("refused").fg(Color::Red),
        (None, true) => Cell::new("imported").fg(Color::Green),
        (None, false) if image.digest.is_some() => Cell::new("another").fg(Color::Yellow),
        (None, false) => Cell::new("absent").fg(Color::Yellow),
    }
}
