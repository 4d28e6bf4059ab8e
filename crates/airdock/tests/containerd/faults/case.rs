//! Which call fails, and how.

use std::collections::HashMap;
use std::fmt;

use airdock_testkit::proxy::{Call, Fault};

/// One fault in one run.
#[derive(Clone, Debug)]
pub(super) struct Case {
    method: String,
    nth: usize,
    /// Bytes of the client that pass before it.
    passes: u64,
    ill: Ill,
}

/// A way in which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ill {
    Unavailable,
    AlreadyExists,
    FailedPrecondition,
    Cut,
    Hang,
}

impl Ill {
    const ALL: [Self; 5] = [
        Self::Unavailable,
        Self::AlreadyExists,
        Self::FailedPrecondition,
        Self::Cut,
        Self::Hang,
    ];
}

/// Where writes are struck besides their beginning: in a blob of several messages, early and late.
const WITHIN_WRITES: [u64; 3] = [1, 1_200_000, 2_400_000];

const WRITE: &str = "Content/Write";

impl Case {
    /// Every call in every way, and writes in the middle too.
    pub(super) fn all(calls: &[Call]) -> Vec<Self> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let mut places = Vec::new();
        for call in calls {
            let nth = seen.entry(&call.path).or_default();
            *nth += 1;
            places.push((call.path.clone(), *nth, 0));
        }
        places.extend(WITHIN_WRITES.map(|bytes| (WRITE.to_owned(), 1, bytes)));
        let ill = |(method, nth, passes): (String, usize, u64)| {
            Ill::ALL.map(|ill| Self {
                method: method.clone(),
                nth,
                passes,
                ill,
            })
        };
        places.into_iter().flat_map(ill).collect()
    }

    /// What the proxy is told.
    pub(super) fn fault(&self) -> Fault {
        let method = &self.method;
        let fault = match self.ill {
            Ill::AlreadyExists => Fault::status(method, 6, "made up: already exists"),
            Ill::FailedPrecondition => Fault::status(method, 9, "made up: failed precondition"),
            Ill::Unavailable => Fault::status(method, 14, "made up: unavailable"),
            Ill::Cut => Fault::cut(method),
            Ill::Hang => Fault::hang(method),
        };
        fault.nth(self.nth).after(self.passes)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, nth, .. } = self;
        write!(
            f,
            "{method} #{nth} after {} bytes: {:?}",
            self.passes, self.ill
        )
    }
}
