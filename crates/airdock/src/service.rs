//! What a service manager is told (`sd_notify(3)`): ready, in a few words what is going on, still
//! alive, stopping. Without one, nothing is told and nothing is done.

use std::env;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// How many signs of life fit into the time after which the manager gives up.
const BEATS: u32 = 3;

/// The connection to the service manager.
#[derive(Debug, Default)]
pub struct Service {
    is_managed: bool,
    beat: Option<Interval>,
    status: String,
}

impl Service {
    /// Takes up what the environment says: `NOTIFY_SOCKET`, `WATCHDOG_USEC`.
    pub fn from_environment() -> Self {
        let watchdog = sd_notify::watchdog_enabled().map(|patience| patience / BEATS);
        Self {
            is_managed: env::var_os("NOTIFY_SOCKET").is_some(),
            beat: watchdog.filter(|pause| *pause > Duration::ZERO).map(every),
            status: String::new(),
        }
    }

    /// Says that the start is over.
    pub fn ready(&self) {
        self.tell(&[NotifyState::Ready]);
    }

    /// Says what is going on, where that is something new.
    pub fn status(&mut self, text: impl FnOnce() -> String) {
        if !self.is_managed {
            return;
        }
        let text = text();
        if text != self.status {
            self.tell(&[NotifyState::Status(&text)]);
            self.status = text;
        }
    }

    /// Waits until a sign of life is due, and gives it; for ever where none is wanted. Cancel
    /// safe.
    ///
    /// Whoever waits here beside everything else shows that it isn't stuck.
    pub async fn beat(&mut self) {
        match &mut self.beat {
            Some(beat) => drop(beat.tick().await),
            None => std::future::pending().await,
        }
        self.tell(&[NotifyState::Watchdog]);
    }

    /// Says that the end has begun.
    pub fn stopping(&self) {
        self.tell(&[NotifyState::Stopping]);
    }

    /// A manager that can't be told is no reason to stop working.
    fn tell(&self, state: &[NotifyState<'_>]) {
        if self.is_managed
            && let Err(error) = sd_notify::notify(state)
        {
            let reason = error.to_string();
            tracing::debug!(
                msg = "the service manager can't be told",
                component = "agent",
                reason
            );
        }
    }
}

fn every(pause: Duration) -> Interval {
    let mut beat = interval(pause);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat
}
