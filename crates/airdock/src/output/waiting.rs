//! What is waited for, on standard error: one line that changes on a terminal; elsewhere a line for
//! each new trouble, for whoever reads the log.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::progress::TICK;

/// Somebody waits.
#[derive(Debug)]
pub struct Waiting {
    /// On a terminal.
    line: Option<ProgressBar>,
    /// The last trouble: what is tried again and fails again is no news.
    told: String,
}

impl Waiting {
    /// Nothing is shown yet.
    pub fn new() -> Self {
        Self {
            line: io::stderr().is_terminal().then(spinner),
            told: String::new(),
        }
    }

    /// How far it is.
    pub fn state(&self, text: &str) {
        if let Some(line) = &self.line {
            line.set_message(text.to_owned());
        }
    }

    /// Why it may never end unless somebody does something.
    pub fn trouble(&mut self, text: &str) {
        self.state(text);
        if self.line.is_none() && self.told != text {
            super::note(text);
            text.clone_into(&mut self.told);
        }
    }

    /// Takes the line away.
    pub fn end(&self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

impl Default for Waiting {
    fn default() -> Self {
        Self::new()
    }
}

fn spinner() -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    line.enable_steady_tick(TICK);
    match ProgressStyle::with_template("{spinner} {wide_msg}") {
        Ok(style) => line.with_style(style),
        Err(_) => line,
    }
}
