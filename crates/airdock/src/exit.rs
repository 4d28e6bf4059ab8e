//! Every status the program exits with. Scripts rely on these: they are never reused or renumbered.

use std::process::ExitCode;

use airdock_bundle::Verdict;

/// How a command ended.
///
/// Of several endings (several bundles in one command) the greatest in this order is reported:
/// what needs a person most comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// All that was asked for was done, and read back.
    Success,
    /// `diff`: the two sides differ. As with diff itself, trouble is never 1.
    Differs,
    /// A bundle is well formed and holds no image.
    Empty,
    /// A bundle's images have no usable name: nothing was published.
    Unnamed,
    /// Some images of a bundle were imported; each of the others was refused with a reason.
    Partial,
    /// A bundle is cut short, or still arriving.
    Incomplete,
    /// A bundle can never be imported as it is.
    Refused,
    /// A bundle is sound, but lacks a name that `verify --require` asked for.
    Lacking,
    /// A bundle could not be read (permission, I/O error): nothing is known about its content.
    Unreadable,
    /// The store has too little space for what is missing.
    NoSpace,
    /// The store could not be reached, or did not do what it was asked.
    Store,
    /// Another agent already works on the same state directory.
    Busy,
    /// `wait`: nothing that is watched has what was asked for.
    NotHeld,
    /// `wait`: something goes wrong that is tried again, until now in vain.
    Failing,
    /// `wait`: it isn't over yet, and the time is.
    Timeout,
    /// No agent answers.
    NoAgent,
    /// The command line or the configuration can't be used.
    Usage,
    /// Anything else that went wrong.
    Failure,
    /// Stopped by a signal before the work was done.
    Interrupted,
}

impl Exit {
    /// The process's exit status.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Differs => 1,
            // clap exits with it as well.
            Self::Usage => 2,
            Self::Partial => 3,
            Self::Unnamed => 4,
            Self::Empty => 5,
            Self::Incomplete => 6,
            Self::Refused => 7,
            Self::Unreadable => 8,
            Self::Store => 9,
            Self::NoSpace => 10,
            Self::Lacking => 11,
            Self::Busy => 12,
            Self::Timeout => 13,
            Self::NoAgent => 14,
            Self::NotHeld => 15,
            Self::Failing => 16,
            Self::Interrupted => 130,
        }
    }
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Ok => Self::Success,
            Verdict::Partial => Self::Partial,
            Verdict::Unnamed => Self::Unnamed,
            Verdict::Empty => Self::Empty,
            Verdict::Incomplete => Self::Incomplete,
            Verdict::Refused => Self::Refused,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_endings_is_reported() {
        let worst = [Exit::Success, Exit::Store, Exit::Partial]
            .into_iter()
            .max();
        assert_eq!(worst, Some(Exit::Store));
    }

    #[test]
    fn every_verdict_has_a_status_of_its_own() {
        let verdicts = [
            Verdict::Ok,
            Verdict::Partial,
            Verdict::Unnamed,
            Verdict::Empty,
            Verdict::Incomplete,
            Verdict::Refused,
        ];
        let mut codes: Vec<u8> = verdicts.map(|v| Exit::from(v).code()).to_vec();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes, [0, 3, 4, 5, 6, 7]);
    }
}
