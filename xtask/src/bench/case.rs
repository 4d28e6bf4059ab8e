//! The cases, and what each has to reach.

use airdock_testkit::Version;
use clap::ValueEnum;

use super::bundles::Name;
use super::pairs::{self, Goal, Pair};
use super::row::Row;
use super::side::Side;
use super::{Bench, idle, latency, memory, pulling};

/// Pairs of runs where a ratio near a goal counts.
const CENTRAL: usize = 5;

/// Pairs of runs where the goal is far away, or none was set.
const FEW: usize = 3;

/// A case. Letters, for they are typed and stand in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Case {
    A,
    A2,
    B,
    C,
    D,
    E,
    F,
    G,
    H,
    I,
    J,
    K,
    L,
    M,
}

impl Case {
    /// Those that were asked for; all where none was.
    pub(super) fn wanted(asked: &[Self]) -> Vec<Self> {
        let is_wanted = |case: &&Self| asked.is_empty() || asked.contains(case);
        Self::value_variants()
            .iter()
            .filter(is_wanted)
            .copied()
            .collect()
    }

    pub(super) fn letter(self) -> String {
        format!("{self:?}")
    }

    /// What is compared with another program is measured on all releases, the rest on the newest.
    pub(super) fn is_measured_on(self, version: Version) -> bool {
        version == Version::V2_1 || !self.pairs(version).is_empty()
    }

    /// Runs it. What fails is a row that says so.
    pub(super) fn run(self, bench: &Bench, version: Version) -> Vec<Row> {
        let rows = match self {
            Self::D => vec![idle::restart(bench, version)],
            Self::G => vec![latency::arrival(bench, version)],
            Self::H => vec![latency::healing(bench, version)],
            Self::I => memory::peak(bench, version),
            Self::J => vec![idle::idle(bench, version)],
            Self::L => pulling::rows(bench, version),
            Self::M => vec![latency::repair(bench, version)],
            _ => {
                let pairs = self.pairs(version).into_iter();
                pairs
                    .map(|pair| pairs::run(bench, version, &pair))
                    .collect()
            }
        };
        let row = |row: anyhow::Result<Row>| {
            row.unwrap_or_else(|error| Row::failure(self.letter(), version, &error))
        };
        rows.into_iter().map(row).collect()
    }

    /// The bundles that it needs, beside those that it makes for itself.
    pub(super) fn bundles(self) -> Vec<Name> {
        let pairs = self.pairs(Version::V2_1).into_iter();
        let compared = pairs.flat_map(|pair| pair.before.into_iter().chain([pair.bundle]));
        match self {
            Self::I => memory::BUNDLES.map(|(_, bundle)| bundle).to_vec(),
            Self::L => vec![Name::One],
            Self::M => vec![Name::Gzip],
            _ => compared.collect(),
        }
    }

    /// The comparisons of a case.
    fn pairs(self, version: Version) -> Vec<Pair> {
        let is_new = version == Version::V2_1;
        let beside = if is_new { CENTRAL } else { FEW };
        let goal = |times: f64| is_new.then_some(Goal::Faster(times));
        let cold = |title, bundle, goal| Pair {
            case: self.letter(),
            title,
            before: None,
            bundle,
            other: Side::Stock,
            times: CENTRAL,
            goal,
        };
        match self {
            Self::A => {
                let goal = Goal::Faster(if is_new { 2.3 } else { 1.7 });
                vec![cold(
                    "cold, 10 images × 4 gzip layers of 8.6 MB",
                    Name::A,
                    Some(goal),
                )]
            }
            Self::A2 => vec![cold(
                "cold, 2 images × 3 plain layers of 150 MB",
                Name::A2,
                goal(2.3),
            )],
            Self::B => vec![cold(
                "cold, 60 images × 6 layers of 0.2 MB",
                Name::B,
                goal(1.5),
            )],
            Self::C => vec![Pair {
                before: Some(Name::A),
                times: beside,
                ..cold("A again, nothing changed", Name::A, goal(50.0))
            }],
            Self::E => vec![Pair {
                before: Some(Name::A),
                times: beside,
                ..cold("A with 1 of 40 layers changed", Name::Changed, goal(10.0))
            }],
            Self::F => vec![
                cold("A inside .tar.zst", Name::Zstd, goal(1.6)),
                cold("A inside .tar.gz", Name::Gzip, goal(1.6)),
            ],
            Self::K => {
                let within = is_new.then_some(Goal::Within(1.25));
                let a = "A, against the blobs alone from a bare writer";
                let b = "B, against the blobs alone from a bare writer";
                let bare = |pair| Pair {
                    other: Side::Push,
                    times: beside,
                    ..pair
                };
                [cold(a, Name::A, within), cold(b, Name::B, None)]
                    .map(bare)
                    .to_vec()
            }
            Self::D | Self::G | Self::H | Self::I | Self::J | Self::L | Self::M => Vec::new(),
        }
    }
}
