//! How often progress is told in lines.

use std::time::{Duration, Instant};

/// So often at most: what is long is seen to live, and no log is filled.
const PERIOD: Duration = Duration::from_secs(10);

/// When progress was told last, or began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    last: Option<Instant>,
}

impl Pace {
    /// Whether progress is to be told now. What is over sooner tells none.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let Some(last) = self.last else {
            self.last = Some(now);
            return false;
        };
        let is_due = now.duration_since(last) >= PERIOD;
        if is_due {
            self.last = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_every_ten_seconds_at_most() {
        let start = Instant::now();
        let mut pace = Pace::default();
        let seconds = [0, 1, 9, 10, 11, 19, 20, 45, 46];
        let told = seconds.map(|seconds| pace.is_due(start + Duration::from_secs(seconds)));
        let expected = [false, false, false, true, false, false, true, true, false];
        assert_eq!(told, expected);
    }
}
