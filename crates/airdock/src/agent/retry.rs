//! When to try again: soon at first, then ever later, never in step with others.

use std::time::Duration;

use tokio::time::Instant;

/// The first wait: long enough that a restarting containerd isn't hammered.
const FIRST: Duration = Duration::from_secs(1);
/// The longest wait: an operator who mended the cause sees it taken up within this.
const LONGEST: Duration = Duration::from_secs(300);
/// The same for a store that doesn't answer: asking costs a connection, and a node that waits for
/// its images waits for this.
const LONGEST_FOR_STORE: Duration = Duration::from_secs(15);

/// A failure that will be tried again.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    /// How often it failed.
    pub attempts: u32,
    /// When it is tried again.
    pub at: Instant,
}

impl Retry {
    /// After one more failure.
    pub fn after(previous: Option<Self>, now: Instant) -> Self {
        Self::within(LONGEST, previous, now)
    }

    /// After the store has once more not answered.
    pub fn of_store(previous: Option<Self>, now: Instant) -> Self {
        Self::within(LONGEST_FOR_STORE, previous, now)
    }

    fn within(longest: Duration, previous: Option<Self>, now: Instant) -> Self {
        let attempts = previous.map_or(0, |retry| retry.attempts).saturating_add(1);
        let at = now + jittered(backoff(attempts).min(longest));
        Self { attempts, at }
    }

    /// How long until then.
    pub fn wait(&self, now: Instant) -> Duration {
        self.at.saturating_duration_since(now)
    }
}

/// The wait after so many failures in a row.
pub fn backoff(attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(1).min(16);
    FIRST.saturating_mul(1 << doublings).min(LONGEST)
}

/// Between three quarters and the whole of a wait, so that bundles that failed together don't
/// come back together.
fn jittered(wait: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let sixteenth = RandomState::new().hash_one(()) % 5;
    wait.mul_f64(1.0 - f64::from(u8::try_from(sixteenth).unwrap_or(0)) / 16.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_are_bounded() {
        let waits: Vec<u64> = [1, 2, 3, 9, 40].map(|n| backoff(n).as_secs()).to_vec();
        assert_eq!(waits, [1, 2, 4, 256, 300]);
    }

    #[test]
    fn a_store_is_never_left_unasked_for_long() {
        let now = Instant::now();
        let many = Retry {
            attempts: 30,
            at: now,
        };
        assert!(Retry::of_store(Some(many), now).wait(now) <= LONGEST_FOR_STORE);
        assert!(Retry::after(Some(many), now).wait(now) > LONGEST_FOR_STORE);
    }

    #[test]
    fn jitter_shortens_by_a_quarter_at_most() {
        for _ in 0..100 {
            let wait = jittered(Duration::from_secs(16));
            assert!((12..=16).contains(&wait.as_secs()), "{wait:?}");
        }
    }
}
