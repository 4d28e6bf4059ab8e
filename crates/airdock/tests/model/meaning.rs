//! What a directory means, said a second time: which image each name stands for.
//!
//! Of two bundles the last to arrive has a name. An agent that looks in between knows when each
//! content came; one that doesn't sees only how the file looks now: an arrival is a span, and a
//! name that two spans leave open may be either's.

use std::collections::{BTreeMap, BTreeSet};

use crate::image::{Contents, Seed};

/// A point in the order of what happens.
type Tick = u64;

/// When something came: at the earliest, at the latest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    earliest: Tick,
    latest: Tick,
}

/// That a name shall stand for an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) name: &'static str,
    pub(crate) seed: Seed,
    arrival: Span,
}

/// A bundle's bytes.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// Images that are whole.
    pub(crate) gives: Contents,
    /// Whether others aren't: then what the path gave before stays.
    pub(crate) damaged: bool,
}

/// One path of the directory.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) content: Content,
    arrival: Span,
    /// What an earlier content gave, and a damaged one doesn't.
    kept: Vec<Claim>,
}

impl File {
    fn claims(&self) -> impl Iterator<Item = Claim> {
        let arrival = self.arrival;
        let gives = self.content.gives.iter();
        let given = gives.map(move |(&name, &seed)| Claim {
            name,
            seed,
            arrival,
        });
        given.chain(self.kept.iter().copied())
    }
}

/// The directory.
#[derive(Debug, Default)]
pub(crate) struct Meaning {
    pub(crate) files: BTreeMap<&'static str, File>,
    clock: Tick,
    /// When a content was first seen anywhere: a copy may count as old as what it was copied from.
    first: BTreeMap<Vec<(&'static str, Seed)>, Tick>,
}

impl Meaning {
    /// New bytes at a path.
    pub(crate) fn put(&mut self, path: &'static str, content: Content) {
        let before = self.files.get(path);
        let is_kept = |claim: &Claim| !content.gives.contains_key(claim.name);
        let kept = match before {
            Some(file) if content.damaged => file.claims().filter(is_kept).collect(),
            _ => Vec::new(),
        };
        let arrival = self.arrival(&content.gives);
        let file = File {
            content,
            arrival,
            kept,
        };
        self.files.insert(path, file);
    }

    fn arrival(&mut self, gives: &Contents) -> Span {
        self.clock += 1;
        let key = gives.iter().map(|(&name, &seed)| (name, seed)).collect();
        let earliest = *self.first.entry(key).or_insert(self.clock);
        let latest = self.clock;
        Span { earliest, latest }
    }

    /// The same bytes, a new time.
    pub(crate) fn touch(&mut self, path: &'static str) {
        self.clock += 1;
        if let Some(file) = self.files.get_mut(path) {
            file.arrival.latest = self.clock;
        }
    }

    pub(crate) fn remove(&mut self, path: &'static str) -> Option<Content> {
        Some(self.files.remove(path)?.content)
    }

    pub(crate) fn claims(&self) -> Vec<Claim> {
        self.files.values().flat_map(File::claims).collect()
    }

    /// Images that no file can give any more.
    pub(crate) fn kept(&self) -> BTreeSet<Seed> {
        let kept = self.files.values().flat_map(|file| &file.kept);
        kept.map(|claim| claim.seed).collect()
    }

    /// For each name, the images that it may stand for.
    pub(crate) fn names(&self) -> BTreeMap<&'static str, BTreeSet<Seed>> {
        let claims = self.claims();
        let mut names: BTreeMap<_, BTreeSet<Seed>> = BTreeMap::new();
        for claim in &claims {
            let loses = |other: &Claim| {
                other.name == claim.name && other.arrival.earliest > claim.arrival.latest
            };
            if !claims.iter().any(loses) {
                names.entry(claim.name).or_default().insert(claim.seed);
            }
        }
        names
    }
}
