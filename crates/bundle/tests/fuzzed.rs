//! The bodies of the fuzz targets (see `fuzz/`), on the samples and on mutations of them: what a
//! fuzzer looks for over hours, for some seconds on every toolchain. `PROPTEST_CASES` makes it
//! more.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a body states facts: a panic is how it reports that one is none"
)]

#[expect(unreachable_pub, reason = "what the fuzz targets call is private here")]
#[path = "../../../fuzz/src/bodies/mod.rs"]
mod bodies;

use bodies::Target;
use proptest::prelude::*;
use proptest::sample::Index;

/// What happens to a seed on its way to an input.
#[derive(Clone, Debug)]
enum Mutation {
    Set(Index, u8),
    FlipBit(Index, u8),
    Cut(Index),
    Remove(Index, usize),
    /// Puts some bytes, which mean something somewhere, at a place.
    Insert(Index, &'static str),
    /// Puts a piece of the input itself at another place.
    Repeat(Index, Index, usize),
}

/// What documents, headers and names are made of.
const WORDS: [&str; 24] = [
    "@d0",
    "@d1",
    "@d2",
    "@h0",
    "@s1",
    "\n@@\n",
    "null",
    "[]",
    "{}",
    "\"",
    "0",
    "9",
    "-1",
    "../",
    "./",
    "/",
    ":",
    "@",
    "index.json",
    "manifest.json",
    "oci-layout",
    "sha256:",
    "amd64",
    "\0",
];

/// Bytes removed or repeated at most: a header and a half.
const PIECE: usize = 768;

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        (at(), 0..8u8).prop_map(|(at, bit)| Mutation::FlipBit(at, bit)),
        at().prop_map(Mutation::Cut),
        (at(), 1..PIECE).prop_map(|(at, count)| Mutation::Remove(at, count)),
        (at(), prop::sample::select(&WORDS[..])).prop_map(|(at, it)| Mutation::Insert(at, it)),
        (at(), at(), 1..PIECE).prop_map(|(from, to, count)| Mutation::Repeat(from, to, count)),
    ]
}

impl Mutation {
    fn apply(&self, input: &mut Vec<u8>) {
        if input.is_empty() {
            return;
        }
        let len = input.len();
        let end = |at: usize, count: usize| (at + count).min(len);
        match self {
            Self::Set(at, byte) => input[at.index(len)] = *byte,
            Self::FlipBit(at, bit) => input[at.index(len)] ^= 1 << bit,
            Self::Cut(at) => input.truncate(at.index(len)),
            Self::Remove(at, count) => {
                let at = at.index(len);
                input.drain(at..end(at, *count));
            }
            Self::Insert(at, word) => {
                let at = at.index(len);
                input.splice(at..at, word.bytes());
            }
            Self::Repeat(from, to, count) => {
                let (from, to) = (from.index(len), to.index(len));
                let piece = input[from..end(from, *count)].to_vec();
                input.splice(to..to, piece);
            }
        }
    }
}

fn seeds(target: Target) -> Vec<Vec<u8>> {
    let seeds = target.seeds().expect("samples");
    assert!(seeds.len() > 10, "{} has lost its samples", target.name());
    seeds
}

#[test]
fn what_holds_of_every_input_holds_of_the_samples() {
    for target in Target::ALL {
        seeds(target).iter().for_each(|seed| target.run(seed));
    }
}

fn holds_of_mutations(target: Target) {
    let seed = prop::sample::select(seeds(target));
    let mutations = prop::collection::vec(mutation(), 1..5);
    proptest!(|(mut input in seed, mutations in mutations)| {
        mutations.iter().for_each(|it| it.apply(&mut input));
        target.run(&input);
    });
}

#[test]
fn names_stay_in_their_normal_form() {
    holds_of_mutations(Target::Names);
}

#[test]
fn archives_have_one_index_however_they_are_packed() {
    holds_of_mutations(Target::TarIndex);
}

#[test]
fn streams_decode_the_same_in_any_rhythm() {
    holds_of_mutations(Target::Decompress);
}

#[test]
fn layouts_give_whole_images_or_none() {
    holds_of_mutations(Target::Oci);
}

#[test]
fn docker_archives_give_whole_images_or_none() {
    holds_of_mutations(Target::Docker);
}

#[test]
fn remembered_indexes_are_taken_up_as_they_were_or_not_at_all() {
    holds_of_mutations(Target::Remembered);
}
