//! `airdock split`: a bundle in parts, for media with a limit.

use std::path::PathBuf;

use clap::Args;

use super::merge::{WritingOptions, whole};
use super::options::GlobalOptions;
use super::pack::drawn;
use crate::exit::Exit;
use crate::output::split::Report;
use crate::output::{self, Bars, Format};
use crate::pack::split;

#[derive(Debug, Args)]
pub(super) struct SplitOptions {
    /// A bundle or a layout directory
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// What the parts are called: PREFIX-1.tar, PREFIX-2.tar, …
    #[arg(short = 'o', long, value_name = "PREFIX")]
    out: PathBuf,
    /// The largest that a part may be, as in 700M or 4G (1024 to the next unit)
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    max_size: u64,
    #[command(flatten)]
    writing: WritingOptions,
}

/// Bytes, with a unit.
fn bytes(typed: &str) -> Result<u64, String> {
    let digits = typed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = typed.get(digits.len()..).unwrap_or_default();
    let unit = unit.trim_end_matches("iB").trim_end_matches('B');
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(format!("{unit} is no unit: use K, M, G or T")),
    };
    let number: u64 = digits.parse().map_err(|_| "not a number".to_owned())?;
    let bytes = number.checked_mul(1 << shift);
    bytes.ok_or_else(|| "too large".to_owned())
}

pub(super) async fn run(global: &GlobalOptions, options: SplitOptions) -> anyhow::Result<Exit> {
    let origins = whole(std::slice::from_ref(&options.bundle))?;
    let request = options.writing.everything(options.out, false);
    let bars = Bars::new();
    let cancel = super::watch::stopped_by_signals();
    let progress = drawn(&bars, &request.output);
    let parts = split(&origins, &request, options.max_size, &cancel, progress).await;
    bars.clear();
    let report = Report::of(&parts?);
    match global.output {
        Format::Json => output::json(&report),
        Format::Table => report.print(),
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_units() {
        for (typed, expected) in [
            ("4096", Some(4096)),
            ("4k", Some(4096)),
            ("700M", Some(700 << 20)),
            ("4G", Some(4 << 30)),
            ("4GiB", Some(4 << 30)),
            ("1TB", Some(1 << 40)),
            ("4X", None),
            ("G", None),
            ("-1", None),
            ("99999999999T", None),
        ] {
            assert_eq!(bytes(typed).ok(), expected, "{typed}");
        }
    }
}
