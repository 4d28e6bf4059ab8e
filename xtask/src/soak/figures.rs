//! What the samples of a soak come to, and what grew.

use std::fmt;

use super::sample::Sample;

/// A figure of every sample.
struct Kind {
    name: &'static str,
    of: fn(&Sample) -> u64,
    /// How much more its middle value may be in the last quarter than in the first: what the size
    /// of the directory, which is never quite the same, makes of it. Of memory, what an allocator
    /// keeps in pieces.
    slack: u64,
}

const KINDS: [Kind; 10] = [
    Kind {
        name: "resident KiB",
        of: |s| s.resident,
        slack: 2048,
    },
    Kind {
        name: "anonymous KiB",
        of: |s| s.anonymous,
        slack: 2048,
    },
    Kind {
        name: "threads",
        of: |s| s.threads,
        slack: 2,
    },
    Kind {
        name: "descriptors",
        of: |s| s.descriptors,
        slack: 4,
    },
    Kind {
        name: "inotify watches",
        of: |s| s.watches,
        slack: 8,
    },
    Kind {
        name: "leases",
        of: |s| s.leases,
        slack: 1,
    },
    Kind {
        name: "ingests",
        of: |s| s.ingests,
        slack: 1,
    },
    Kind {
        name: "ledger files",
        of: |s| s.ledger,
        slack: 4,
    },
    Kind {
        name: "names",
        of: |s| s.names,
        slack: 12,
    },
    Kind {
        name: "blobs",
        of: |s| s.blobs,
        slack: 24,
    },
];

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    name: &'static str,
    quarters: [u64; 4],
    most: u64,
    rest: u64,
    slack: u64,
}

impl Line {
    fn of(kind: &Kind, samples: &[Sample], rest: &Sample) -> Self {
        let quarter = |n: usize| {
            let (from, to) = (samples.len() * n / 4, samples.len() * (n + 1) / 4);
            middle(samples.get(from..to).unwrap_or_default(), kind.of)
        };
        Self {
            name: kind.name,
            quarters: [0, 1, 2, 3].map(quarter),
            most: samples.iter().map(kind.of).max().unwrap_or_default(),
            rest: (kind.of)(rest),
            slack: kind.slack,
        }
    }

    fn grew(&self) -> bool {
        let [first, .., last] = self.quarters;
        last > first + self.slack
    }
}

fn middle(samples: &[Sample], of: fn(&Sample) -> u64) -> u64 {
    let mut values: Vec<u64> = samples.iter().map(of).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name, most, rest, ..
        } = self;
        let [a, b, c, d] = self.quarters;
        write!(f, "| {name} | {a} | {b} | {c} | {d} | {most} | {rest} |")
    }
}

/// The table.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    samples: usize,
    lines: Vec<Line>,
}

impl Figures {
    /// Of the samples while all went on, and of the one at rest.
    pub(super) fn of(samples: &[Sample], rest: &Sample) -> Self {
        let lines = KINDS.iter().map(|kind| Line::of(kind, samples, rest));
        Self {
            samples: samples.len(),
            lines: lines.collect(),
        }
    }

    /// The names of what grew.
    pub(super) fn grown(&self) -> Vec<&'static str> {
        let grown = self.lines.iter().filter(|line| line.grew());
        grown.map(|line| line.name).collect()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let samples = self.samples;
        writeln!(f, "{samples} samples; the middle one of each quarter:")?;
        writeln!(f, "| | first | second | third | last | most | at rest |")?;
        write!(f, "|---|---|---|---|---|---|---|")?;
        self.lines.iter().try_for_each(|line| write!(f, "\n{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident(values: impl IntoIterator<Item = u64>) -> Vec<Sample> {
        let of = |resident| Sample {
            resident,
            ..Sample::default()
        };
        values.into_iter().map(of).collect()
    }

    #[test]
    fn what_is_more_at_the_end_grew() {
        let up = resident((0..100).map(|n| 10_000 + n * 100));
        assert_eq!(
            Figures::of(&up, &Sample::default()).grown(),
            ["resident KiB"]
        );
    }

    #[test]
    fn what_goes_up_and_down_did_not() {
        let wave = resident((0..100).map(|n| 10_000 + n % 7 * 2_000));
        let figures = Figures::of(&wave, &Sample::default());
        assert!(figures.grown().is_empty(), "{figures}");
        assert!(Figures::of(&[], &Sample::default()).grown().is_empty());
    }
}
