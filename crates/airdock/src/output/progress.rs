//! Progress of one command, on standard error: a bar on a terminal, a line now and then elsewhere.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use airdock_bundle::escape::escaped;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::human::Bytes;
use super::pace::Pace;
use crate::agent::event::Event;

/// How often a bar that waits is drawn, so that it is seen to live.
pub(super) const TICK: Duration = Duration::from_millis(100);

const TEMPLATE: &str = "{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";

/// The progress of one command. Clones share it.
#[derive(Clone, Debug)]
pub struct Bars {
    drawn: Drawn,
}

#[derive(Clone, Debug)]
enum Drawn {
    Bar(ProgressBar),
    Lines(Arc<Mutex<Option<Lines>>>),
}

/// What lines tell of one bundle.
#[derive(Clone, Debug)]
struct Lines {
    name: String,
    total: u64,
    done: u64,
    started: Instant,
    pace: Pace,
}

impl Bars {
    /// Progress on standard error.
    pub fn new() -> Self {
        let drawn = if io::stderr().is_terminal() {
            Drawn::Bar(bar())
        } else {
            Drawn::Lines(Arc::default())
        };
        Self { drawn }
    }

    /// Starts anew for one bundle.
    pub fn start(&self, bundle: &Path, total: u64) {
        let name = bundle.file_name().unwrap_or(bundle.as_os_str());
        let name = escaped(&name.to_string_lossy()).to_string();
        match &self.drawn {
            Drawn::Bar(bar) => {
                bar.reset();
                bar.set_length(total);
                bar.set_message(name);
                bar.enable_steady_tick(TICK);
            }
            Drawn::Lines(lines) => {
                let lines = lines.lock();
                let mut lines = lines.unwrap_or_else(PoisonError::into_inner);
                *lines = Some(Lines::new(name, total, Instant::now()));
            }
        }
    }

    /// Some bytes are done.
    pub fn advance(&self, bytes: u64) {
        match &self.drawn {
            Drawn::Bar(bar) => bar.inc(bytes),
            Drawn::Lines(lines) => {
                let lines = lines.lock();
                let mut lines = lines.unwrap_or_else(PoisonError::into_inner);
                let line = lines
                    .as_mut()
                    .and_then(|l| l.advance(bytes, Instant::now()));
                line.iter().for_each(|line| super::note(line));
            }
        }
    }

    /// Takes the bar away.
    pub fn clear(&self) {
        if let Drawn::Bar(bar) = &self.drawn {
            bar.finish_and_clear();
        }
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
                let note = format!("note: {} was in the store already", escaped(name));
                self.beside(|| super::note(&note));
            }
            _ => {}
        }
    }

    /// Prints something that isn't progress.
    fn beside(&self, print: impl FnOnce()) {
        match &self.drawn {
            Drawn::Bar(bar) => bar.suspend(print),
            Drawn::Lines(_) => print(),
        }
    }
}

impl Default for Bars {
    fn default() -> Self {
        Self::new()
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(TEMPLATE) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

impl Lines {
    fn new(name: String, total: u64, now: Instant) -> Self {
        let mut pace = Pace::default();
        // From here on it counts.
        pace.is_due(now);
        Self {
            name,
            total,
            done: 0,
            started: now,
            pace,
        }
    }

    /// The line that is due, if one is.
    fn advance(&mut self, bytes: u64, now: Instant) -> Option<String> {
        self.done = self.done.saturating_add(bytes).min(self.total);
        self.pace.is_due(now).then(|| self.line(now))
    }

    fn line(&self, now: Instant) -> String {
        let Self {
            name, total, done, ..
        } = self;
        let milliseconds = now.duration_since(self.started).as_millis().max(1);
        let rate = u128::from(*done).saturating_mul(1000) / milliseconds;
        let left = u128::from(total.saturating_sub(*done)).checked_div(rate);
        let left = left.map_or_else(String::new, |seconds| format!(", {seconds} s left"));
        let rate = Bytes(u64::try_from(rate).unwrap_or(u64::MAX));
        format!(
            "{name}: {} of {}, {rate}/s{left}",
            Bytes(*done),
            Bytes(*total)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    #[test]
    fn a_line_tells_bytes_rate_and_the_time_that_is_left() {
        let start = Instant::now();
        let mut lines = Lines::new("x.tar".to_owned(), 100 * MIB, start);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(lines.advance(5 * MIB, at(5)), None);
        let line = lines.advance(15 * MIB, at(10)).unwrap();
        assert_eq!(line, "x.tar: 20.0 MiB of 100.0 MiB, 2.0 MiB/s, 40 s left");
    }

    #[test]
    fn nothing_done_has_no_end_in_sight() {
        let start = Instant::now();
        let mut lines = Lines::new("x.tar".to_owned(), MIB, start);
        let line = lines.advance(0, start + Duration::from_secs(10)).unwrap();
        assert_eq!(line, "x.tar: 0 B of 1.0 MiB, 0 B/s");
    }
}
