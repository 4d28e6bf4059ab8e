//! Names and places of entries, kept compactly: 100,000 of them take a few megabytes.

mod builder;

pub(super) use self::builder::{Builder, is_ignored};
use super::{ArchiveError, EntryId};
use crate::limits;

/// Every entry by its name. Of several with one name the last counts, as when extracting; to a
/// hard link, the last before it.
#[derive(Debug)]
pub(super) struct Index {
    /// All names and link targets, end to end.
    text: String,
    /// In the order of the bundle.
    records: Vec<Record>,
    /// Positions in `records`, sorted by name, then by themselves.
    by_name: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Record {
    name: Span,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    File {
        offset: u64,
        size: u64,
    },
    /// A link. A symbolic one's target is relative to the directory it stands in.
    Link {
        target: Span,
        is_symbolic: bool,
    },
    /// What is no file, and only counts if it is asked for.
    Other(&'static str),
}

/// An entry, as it can be added to an index again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recorded<'a> {
    File { offset: u64, size: u64 },
    Link { target: &'a str, is_symbolic: bool },
    Other,
}

/// A position behind every record.
const END: u32 = u32::MAX;

/// A piece of `Index::text`.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    len: u32,
}

impl Index {
    /// The file that `name` stands for, links followed.
    pub(super) fn find(&self, name: &str) -> Result<Option<EntryId>, ArchiveError> {
        self.walk(name, &mut |_| ())
    }

    /// Files that a tool may take for `name` that goes by another of several with one name, on the
    /// way through links as well.
    pub(super) fn rivals(&self, name: &str) -> Result<Vec<EntryId>, ArchiveError> {
        let (mut rivals, mut repeated) = (Vec::new(), None);
        let found = self.walk(name, &mut |passed| {
            let same = self.all(passed);
            let is_sound = same.len() <= limits::RIVALS && same.iter().all(|it| self.is_file(*it));
            match same {
                [_] => {}
                same if is_sound => rivals.extend(same.iter().copied().map(EntryId)),
                _ => repeated = Some(passed.to_owned()),
            }
        })?;
        rivals.retain(|rival| Some(*rival) != found);
        match repeated {
            Some(entry) => Err(ArchiveError::Repeated { entry }),
            None => Ok(rivals),
        }
    }

    /// Goes from `name` through links to a file, and tells each name that it passes.
    fn walk(
        &self,
        name: &str,
        pass: &mut dyn FnMut(&str),
    ) -> Result<Option<EntryId>, ArchiveError> {
        let Some(mut name) = resolve("", name) else {
            return Ok(None);
        };
        let (mut link, mut before) = (None, END);
        for _ in 0..=limits::LINK_HOPS {
            pass(&name);
            match self.step(&name, before) {
                Step::File(entry) => return Ok(Some(entry)),
                Step::Other(what) => {
                    return Err(ArchiveError::NotRegular { entry: name, what });
                }
                Step::Missing => return dangling(link, name),
                Step::Link {
                    target: None,
                    written,
                    ..
                } => return dangling(Some(name), written),
                Step::Link {
                    target: Some(target),
                    before: bound,
                    ..
                } => {
                    before = bound;
                    link = Some(std::mem::replace(&mut name, target));
                }
            }
        }
        Err(ArchiveError::Loop { link: name })
    }

    /// All files' names, sorted.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let same = |a: &u32, b: &u32| self.name_at(*a) == self.name_at(*b);
        let last_of_each = self.by_name.chunk_by(same).filter_map(<[u32]>::last);
        last_of_each
            .filter_map(|position| self.record(*position))
            .filter(|record| matches!(record.what, What::File { .. }))
            .map(|record| self.text(record.name))
    }

    /// All entries, in the order of the bundle.
    pub(super) fn entries(&self) -> impl Iterator<Item = (EntryId, &str, Recorded<'_>)> {
        (0..).zip(&self.records).map(|(position, record)| {
            let recorded = match record.what {
                What::File { offset, size } => Recorded::File { offset, size },
                What::Link {
                    target,
                    is_symbolic,
                } => Recorded::Link {
                    target: self.text(target),
                    is_symbolic,
                },
                What::Other(_) => Recorded::Other,
            };
            (EntryId(position), self.text(record.name), recorded)
        })
    }

    pub(super) fn name(&self, entry: EntryId) -> &str {
        self.record(entry.0)
            .map_or("", |record| self.text(record.name))
    }

    pub(super) fn size(&self, entry: EntryId) -> u64 {
        self.place(entry).1
    }

    /// Offset and size of a file's content.
    pub(super) fn place(&self, entry: EntryId) -> (u64, u64) {
        match self.record(entry.0) {
            Some(Record {
                what: What::File { offset, size },
                ..
            }) => (*offset, *size),
            _ => (0, 0),
        }
    }

    /// What stands at exactly `name`, if it can be `before` that position, or else the link that a
    /// directory of its path is.
    fn step(&self, name: &str, before: u32) -> Step {
        match self
            .lookup(name, before)
            .or_else(|| self.lookup(name, END))
            .map(|(position, record)| (position, record.what))
        {
            Some((position, What::File { .. })) => Step::File(EntryId(position)),
            Some((_, What::Other(what))) => Step::Other(what),
            Some((
                _,
                What::Link {
                    target,
                    is_symbolic,
                },
            )) if is_symbolic => self.follow(name, target, ""),
            Some((position, What::Link { target, .. })) => self.hard_link(target, position),
            None => self.step_directory(name),
        }
    }

    fn step_directory(&self, name: &str) -> Step {
        for (slash, _) in name.match_indices('/') {
            let (directory, rest) = name.split_at(slash);
            if let Some((
                _,
                Record {
                    what:
                        What::Link {
                            target,
                            is_symbolic: true,
                        },
                    ..
                },
            )) = self.lookup(directory, END)
            {
                return self.follow(directory, *target, rest);
            }
        }
        Step::Missing
    }

    /// A symbolic link means what stands at its target when all is there.
    fn follow(&self, link: &str, target: Span, rest: &str) -> Step {
        let written = self.text(target);
        let base = link.rsplit_once('/').map_or("", |(directory, _)| directory);
        Step::Link {
            target: resolve(base, written).map(|target| format!("{target}{rest}")),
            written: written.to_owned(),
            before: END,
        }
    }

    /// A hard link at `position` means what stood at its target by then.
    fn hard_link(&self, target: Span, position: u32) -> Step {
        let written = self.text(target);
        Step::Link {
            target: resolve("", written),
            written: written.to_owned(),
            before: position,
        }
    }

    /// The last record of this name before a position.
    fn lookup(&self, name: &str, before: u32) -> Option<(u32, &Record)> {
        let is_before = |position: &u32| (self.name_at(*position), *position) < (name, before);
        let end = self.by_name.partition_point(is_before);
        let position = *self.by_name.get(end.checked_sub(1)?)?;
        let record = self.record(position)?;
        (self.text(record.name) == name).then_some((position, record))
    }

    /// The positions of all records of this name.
    fn all(&self, name: &str) -> &[u32] {
        let start = self.by_name.partition_point(|it| self.name_at(*it) < name);
        let behind = self.by_name.get(start..).unwrap_or_default();
        let count = behind.partition_point(|it| self.name_at(*it) == name);
        behind.get(..count).unwrap_or_default()
    }

    fn is_file(&self, position: u32) -> bool {
        let record = self.record(position);
        record.is_some_and(|record| matches!(record.what, What::File { .. }))
    }

    fn sorted(&self) -> Vec<u32> {
        let mut positions: Vec<u32> = (0..).take(self.records.len()).collect();
        positions.sort_unstable_by_key(|position| (self.name_at(*position), *position));
        positions
    }

    fn name_at(&self, position: u32) -> &str {
        self.record(position)
            .map_or("", |record| self.text(record.name))
    }

    fn record(&self, position: u32) -> Option<&Record> {
        self.records.get(usize::try_from(position).ok()?)
    }

    fn text(&self, span: Span) -> &str {
        let start = usize::try_from(span.start).unwrap_or(usize::MAX);
        let len = usize::try_from(span.len).unwrap_or(usize::MAX);
        self.text
            .get(start..start.saturating_add(len))
            .unwrap_or_default()
    }
}

/// What one look into the index says about a name.
enum Step {
    File(EntryId),
    Other(&'static str),
    /// The name to go on with, and the position that it is to stand before; `None` if the link, as
    /// `written`, leaves the bundle.
    Link {
        target: Option<String>,
        written: String,
        before: u32,
    },
    Missing,
}

/// A name that no entry has: a dangling link if one led to it.
fn dangling(link: Option<String>, target: String) -> Result<Option<EntryId>, ArchiveError> {
    match link {
        Some(link) => Err(ArchiveError::Dangling { link, target }),
        None => Ok(None),
    }
}

/// `path`, as seen from the directory `base`, with `.` and `..` resolved; `None` if it is absolute
/// or leaves the bundle.
fn resolve(base: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut components: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for component in path.split('/') {
        match component {
            "" | "." => {}
            ".." => {
                components.pop()?;
            }
            component => components.push(component),
        }
    }
    Some(components.join("/"))
}
