//! Lists as they came: whether one is what it was the last time is seen without decoding it.
//!
//! A node's store holds thousands of records, and hardly ever has one changed between two looks at
//! them all. Decoding them, with a string for every label, is most of what a look costs.

use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;

use bytes::{Buf, Bytes};
use prost::encoding::{WireType, decode_key, decode_varint};

use crate::error::{Call, Error};

/// Messages of one kind, not decoded yet.
#[derive(Debug)]
pub struct Listing<T> {
    call: Call,
    messages: Vec<Bytes>,
    listed: PhantomData<fn() -> T>,
}

/// What a list can be of.
pub(crate) trait Listed: Sized {
    /// The number of the field that is a message with a map in it.
    const NESTED: Option<u32>;

    fn decode(call: &Call, message: Bytes) -> Result<Self, Error>;
}

/// By which lists are summed up: sums by another key, and so by another process, say nothing of
/// these.
#[derive(Debug, Default)]
pub struct SumKey(RandomState);

impl<T> Listing<T> {
    pub(crate) fn new(call: Call, messages: Vec<Bytes>) -> Self {
        Self {
            call,
            messages,
            listed: PhantomData,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

#[expect(
    private_bounds,
    reason = "what can be listed is this crate's own matter"
)]
impl<T: Listed> Listing<T> {
    /// A number that differs when anything in the list does, but for a chance of one in 2⁶⁴. The order
    /// of the messages, and that of the entries of maps, which the daemon shuffles, make no
    /// difference.
    pub fn sum(&self, key: &SumKey) -> u64 {
        let sums = self.messages.iter().map(|it| key.sum(it, T::NESTED));
        sums.fold(0, u64::wrapping_add)
    }

    /// What was listed, in the order of the daemon.
    pub fn decoded(self) -> impl Iterator<Item = Result<T, Error>> {
        let Self { call, messages, .. } = self;
        messages.into_iter().map(move |it| T::decode(&call, it))
    }
}

impl SumKey {
    fn sum(&self, message: &[u8], nested: Option<u32>) -> u64 {
        let fields = self.fields(message, nested);
        self.0.hash_one(fields.ok_or(message))
    }

    /// The sum of all fields, in whatever order; `None` where it isn't the message that it should be.
    fn fields(&self, mut rest: &[u8], nested: Option<u32>) -> Option<u64> {
        let mut sum = 0_u64;
        while rest.has_remaining() {
            let (tag, wire) = decode_key(&mut rest).ok()?;
            let value = decode_varint(&mut rest).ok()?;
            let field = match wire {
                WireType::Varint => self.0.hash_one((tag, value)),
                WireType::LengthDelimited => {
                    let (value, after) = rest.split_at_checked(usize::try_from(value).ok()?)?;
                    rest = after;
                    match nested {
                        Some(nested) if nested == tag => {
                            self.0.hash_one((tag, self.fields(value, None)?))
                        }
                        _ => self.0.hash_one((tag, value)),
                    }
                }
                _ => return None,
            };
            sum = sum.wrapping_add(field);
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::images::Record;
    use crate::proto::images::Image;
    use crate::proto::types::Descriptor;

    /// A field of its own: a number, and what stands in it.
    fn field(tag: u8, value: &[u8]) -> Vec<u8> {
        [&[tag << 3 | 2, u8::try_from(value.len()).unwrap()], value].concat()
    }

    fn entry(key: &str, value: &str) -> Vec<u8> {
        [field(1, key.as_bytes()), field(2, value.as_bytes())].concat()
    }

    fn sum(key: &SumKey, messages: &[Vec<u8>]) -> u64 {
        let messages = messages.iter().cloned().map(Bytes::from);
        let call = Call::new("images.List", "");
        Listing::<Record>::new(call, messages.collect()).sum(key)
    }

    #[test]
    fn the_order_of_messages_and_of_entries_makes_no_difference() {
        let key = SumKey::default();
        let name = field(1, b"a:1");
        let labels = [field(2, &entry("x", "1")), field(2, &entry("y", "2"))];
        let notes = [field(5, &entry("x", "1")), field(5, &entry("y", "2"))];
        let other = field(1, b"b:1");
        let target = field(3, &[&notes[0][..], &notes[1]].concat());
        let turned = field(3, &[&notes[1][..], &notes[0]].concat());
        let [x, y] = labels;
        let one = [name.clone(), x.clone(), y.clone(), target].concat();
        let same = [name, y, x, turned].concat();
        assert_ne!(one, same);
        assert_eq!(sum(&key, &[one, other.clone()]), sum(&key, &[other, same]));
    }

    #[test]
    fn any_other_difference_makes_one() {
        let image = |change: fn(&mut Image)| {
            let mut image = Image {
                name: "a:1".to_owned(),
                labels: [("x", "1"), ("y", "2")]
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .into(),
                target: Some(Descriptor {
                    media_type: "m".to_owned(),
                    digest: "sha256:1".to_owned(),
                    size: 7,
                    ..Descriptor::default()
                }),
                ..Image::default()
            };
            change(&mut image);
            image.encode_to_vec()
        };
        let key = SumKey::default();
        let lists = [
            vec![],
            vec![vec![]],
            vec![image(|_| {})],
            vec![image(|_| {}), image(|_| {})],
            vec![image(|it| it.name = "a:2".to_owned())],
            vec![image(|it| {
                it.labels.remove("y");
            })],
            vec![image(|it| {
                it.labels.insert("y".to_owned(), "1".to_owned());
                it.labels.insert("x".to_owned(), "2".to_owned());
            })],
            vec![image(|it| it.target = None)],
            vec![image(|it| {
                it.target.get_or_insert_default().size = 8;
            })],
            vec![image(|it| {
                it.target.get_or_insert_default().digest = "sha256:2".to_owned();
            })],
            vec![b"no message".to_vec()],
            vec![b"no messages".to_vec()],
        ];
        let mut sums: Vec<u64> = lists.iter().map(|list| sum(&key, list)).collect();
        assert_eq!(sums[2], sum(&key, &[image(|_| {})]));
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), lists.len());
    }
}
