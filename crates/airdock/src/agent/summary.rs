//! What is going on, in one line: for the service manager's status.

use std::fmt;

use super::run::{Agent, StoreState};
use super::sources::SourceState;
use super::tracked::{State, Tracked};

/// Counts of bundles, and what else stands in the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Summary {
    is_cut_off: bool,
    missing: usize,
    imported: usize,
    waiting: usize,
    importing: usize,
    refused: usize,
    failing: usize,
}

impl Agent {
    /// Says what is going on, where that is something new.
    pub(super) fn tell_status(&mut self) {
        let (store, sources) = (self.store, self.sources.values());
        let bundles = self.bundles.values();
        self.service.status(|| {
            let is_cut_off = store == StoreState::Unreachable;
            let missing = sources
                .filter(|s| matches!(s, SourceState::Missing { .. }))
                .count();
            let start = Summary {
                is_cut_off,
                missing,
                ..Summary::default()
            };
            bundles.fold(start, Summary::and).to_string()
        });
    }
}

impl Summary {
    fn and(mut self, bundle: &Tracked) -> Self {
        let count = match bundle.state {
            State::Settling { .. } | State::Waiting { .. } => &mut self.waiting,
            State::Importing { .. } => &mut self.importing,
            State::Imported => &mut self.imported,
            State::Judged { .. } => &mut self.refused,
            State::Failing { .. } => &mut self.failing,
            State::Departed { .. } => return self,
        };
        *count += 1;
        self
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_cut_off {
            write!(f, "the store does not answer; ")?;
        }
        if self.missing > 0 {
            write!(f, "directories that can't be listed: {}; ", self.missing)?;
        }
        write!(f, "bundles: {} imported", self.imported)?;
        let more = [
            (self.importing, "importing"),
            (self.waiting, "waiting"),
            (self.refused, "not importable"),
            (self.failing, "failing"),
        ];
        for (count, word) in more.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {word}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_there_is_is_told() {
        let quiet = Summary {
            imported: 2,
            ..Summary::default()
        };
        assert_eq!(quiet.to_string(), "bundles: 2 imported");
        let busy = Summary {
            is_cut_off: true,
            missing: 1,
            waiting: 3,
            failing: 1,
            ..quiet
        };
        assert_eq!(
            busy.to_string(),
            "the store does not answer; directories that can't be listed: 1; \
             bundles: 2 imported, 3 waiting, 1 failing"
        );
    }
}
