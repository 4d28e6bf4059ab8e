//! Room for what is missing: looked for before the first byte, and from time to time while a
//! bundle waits for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::statvfs;
use tokio::time::Instant;

use super::context::Context;
use super::failure::Failure;
use super::plan::BundlePlan;

/// How often a bundle that waits for room looks for it: one system call, and no look at the
/// bundle, which may be large and compressed.
const LOOK: Duration = Duration::from_secs(2);

/// Room that a bundle waits for.
#[derive(Clone, Debug)]
pub struct Wanted {
    root: PathBuf,
    bytes: u64,
    /// When it is looked for next.
    pub look: Instant,
}

impl Wanted {
    /// What would have to be free for the bundle not to have failed like this.
    pub fn by(failure: &Failure, now: Instant) -> Option<Self> {
        match failure {
            Failure::NoSpace {
                needed,
                reserve,
                root,
                ..
            } => Some(Self {
                root: root.clone(),
                bytes: needed.saturating_add(*reserve),
                look: now + LOOK,
            }),
            _ => None,
        }
    }

    /// Whether there is enough now; otherwise it is looked for again later.
    pub fn is_there(&mut self, now: Instant) -> bool {
        if now < self.look {
            return false;
        }
        self.look = now + LOOK;
        free(&self.root).is_some_and(|free| free >= self.bytes)
    }
}

/// Before the first byte: half an image is worth nothing, and a full disk stops the node.
pub async fn check(plan: &BundlePlan, context: &Context) -> Result<(), Failure> {
    let needed = plan.missing();
    if needed == 0 {
        return Ok(());
    }
    let Some(root) = context.store.root().await else {
        return Ok(());
    };
    let Some(free) = free(&root) else {
        return Ok(());
    };
    let reserve = context.reserve;
    if needed.saturating_add(reserve) > free {
        return Err(Failure::NoSpace {
            needed,
            free,
            reserve,
            root,
        });
    }
    Ok(())
}

/// Bytes that are free where the path is, if that can be told.
pub fn free(path: &Path) -> Option<u64> {
    let stat = statvfs(path).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(bytes: u64) -> Wanted {
        let failure = Failure::NoSpace {
            needed: bytes,
            free: 0,
            reserve: 0,
            root: std::env::temp_dir(),
        };
        Wanted::by(&failure, Instant::now()).unwrap()
    }

    #[test]
    fn room_is_not_looked_for_all_the_time() {
        let mut wanted = wanted(1);
        assert!(!wanted.is_there(Instant::now()));
        assert!(wanted.is_there(wanted.look));
    }

    #[test]
    fn too_little_room_is_looked_for_later() {
        let mut wanted = wanted(u64::MAX);
        let first = wanted.look;
        assert!(!wanted.is_there(first));
        assert!(wanted.look > first);
    }
}
