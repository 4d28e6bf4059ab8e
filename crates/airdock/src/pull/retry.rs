//! When something is tried again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use super::error::Fault;
use super::limits;

/// How often, and how long until then.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    retries: u32,
    used: u32,
}

impl Patience {
    pub(super) fn new(retries: u32) -> Self {
        Self { retries, used: 0 }
    }

    /// Something was achieved: what goes wrong next is another failure.
    pub(super) fn renew(&mut self) {
        self.used = 0;
    }

    /// The pause until the next try; `None` where there is none.
    pub(super) fn pause(&mut self, fault: &Fault) -> Option<Duration> {
        if !fault.is_transient() || self.used >= self.retries {
            return None;
        }
        if matches!(fault, Fault::Broken { .. }) {
            // Once more in case it was broken on its way; it is fetched as a whole each time.
            self.used = self.retries.saturating_sub(1);
        }
        let asked = fault.retry_after();
        if asked.is_some_and(|asked| asked > limits::LONGEST_RETRY_AFTER) {
            return None;
        }
        let own = jittered(doubled(self.used), RandomState::new().hash_one(self.used));
        self.used += 1;
        Some(asked.map_or(own, |asked| asked.max(own)))
    }
}

fn doubled(times: u32) -> Duration {
    let factor = 1u32.checked_shl(times).unwrap_or(u32::MAX);
    let pause = limits::FIRST_PAUSE.saturating_mul(factor);
    pause.min(limits::LONGEST_PAUSE)
}

/// Between half of it and all of it, so that many who were turned away don't come back together.
fn jittered(pause: Duration, random: u64) -> Duration {
    let share = u32::try_from(random % 1000).unwrap_or_default();
    pause / 2 + (pause / 2).saturating_mul(share) / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pull::said::Said;

    fn limited(after: Option<u64>) -> Fault {
        Fault::RateLimited {
            after: after.map(Duration::from_secs),
            said: Said::default(),
        }
    }

    #[test]
    fn pauses_grow_up_to_a_bound_and_end() {
        let mut patience = Patience::new(3);
        for times in 0..3 {
            let pause = patience.pause(&Fault::Silent).unwrap();
            assert!(pause >= doubled(times) / 2 && pause <= doubled(times));
        }
        assert_eq!(patience.pause(&Fault::Silent), None);
        patience.renew();
        assert!(patience.pause(&Fault::Silent).is_some());
        assert_eq!(doubled(40), limits::LONGEST_PAUSE);
    }

    #[test]
    fn what_cannot_pass_is_not_tried_again() {
        assert_eq!(Patience::new(3).pause(&Fault::WantsTls), None);
        assert_eq!(Patience::new(0).pause(&Fault::Silent), None);
    }

    #[test]
    fn a_registry_is_given_the_time_it_asks_for_unless_that_is_too_long() {
        let second = Duration::from_secs(1);
        assert!(Patience::new(1).pause(&limited(Some(1))) >= Some(second));
        assert_eq!(Patience::new(1).pause(&limited(Some(21_600))), None);
        assert!(Patience::new(1).pause(&limited(None)).is_some());
    }
}
