//! Who hears what happens.

use super::log;
use super::progress::Bars;
use crate::agent::event::Event;

/// The listeners of one run. Clones share them.
#[derive(Clone, Debug)]
pub enum Reporter {
    /// Log lines: the agent.
    Log,
    /// Progress bars: `load` on a terminal.
    Bars(Bars),
    /// Log lines of what went wrong only: `load` elsewhere, whose result is printed at the end.
    Problems,
}

impl Reporter {
    /// Tells whoever listens.
    pub fn report(&self, event: &Event) {
        match self {
            Self::Log => log::write(event),
            Self::Bars(bars) => bars.show(event),
            Self::Problems if log::is_problem(event) => log::write(event),
            Self::Problems => {}
        }
    }
}
