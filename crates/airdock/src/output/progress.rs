//! Progress bars on a terminal.

use std::path::Path;
use std::time::Duration;

use airdock_bundle::escape::escaped;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::agent::event::Event;

/// How often a bar that waits is drawn, so that it is seen to live.
const TICK: Duration = Duration::from_millis(100);

const TEMPLATE: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";

/// The progress of one command. Clones share it.
#[derive(Clone, Debug)]
pub struct Bars {
    bar: ProgressBar,
}

impl Bars {
    /// A bar on standard error; nothing is shown where that isn't a terminal.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// Starts anew for one bundle.
    pub fn start(&self, bundle: &Path, total: u64) {
        let name = bundle.file_name().unwrap_or(bundle.as_os_str());
        let name = escaped(&name.to_string_lossy()).to_string();
        self.bar.reset();
        self.bar.set_length(total);
        self.bar.set_message(name);
        self.bar.enable_steady_tick(TICK);
    }

    /// Some bytes are done.
    pub fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Follows an import.
    pub fn show(&self, event: &Event) {
        match event {
            Event::Importing {
                bundle, missing, ..
            } => self.start(bundle, *missing),
            Event::Progress { bytes, .. } => self.advance(*bytes),
            Event::Loaded { .. } | Event::Failed { .. } => self.clear(),
            Event::ForeignName { name, .. } => {
                let name = escaped(name);
                self.bar
                    .suspend(|| super::note(&format!("note: {name} was in the store already")));
            }
            _ => {}
        }
    }
}

impl Default for Bars {
    fn default() -> Self {
        Self::new()
    }
}
