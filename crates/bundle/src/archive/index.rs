//! Names and places of entries, kept compactly: 100,000 of them take a few megabytes.

use super::{ArchiveError, EntryId};
use crate::limits;
use crate::tar::{Entry, Kind};

/// Documents that decide what a bundle is. They may stand in it once.
const CONTROL_FILES: [&str; 3] = ["index.json", "oci-layout", "manifest.json"];

/// Every entry by its name. Of several with one name the last counts, as when extracting.
#[derive(Debug)]
pub(super) struct Index {
    /// All names and link targets, end to end.
    text: String,
    /// In the order of the bundle.
    records: Vec<Record>,
    /// Positions in `records`, sorted by name, each name once.
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

/// A piece of `Index::text`.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    len: u32,
}

/// An index while it is built.
#[derive(Debug, Default)]
pub(super) struct Builder {
    text: String,
    records: Vec<Record>,
    /// Entries seen, also those that leave no record.
    entries: usize,
    control_seen: [bool; CONTROL_FILES.len()],
}

impl Builder {
    /// Takes the next entry of an archive. Returns its id if it is a file that counts.
    pub(super) fn add(&mut self, entry: &Entry) -> Result<Option<EntryId>, ArchiveError> {
        self.count()?;
        if is_ignored(&entry.name) {
            return Ok(None);
        }
        match &entry.kind {
            Kind::Directory => Ok(None),
            Kind::File => self
                .add_file(&entry.name, entry.offset, entry.size)
                .map(Some),
            Kind::Symlink { target } => self.add_link(&entry.name, target, true).map(|()| None),
            Kind::HardLink { target } => self.add_link(&entry.name, target, false).map(|()| None),
        }
    }

    /// Counts an entry, of whatever kind.
    pub(super) fn count(&mut self) -> Result<(), ArchiveError> {
        self.entries += 1;
        if self.entries > limits::ENTRIES {
            Err(ArchiveError::TooManyEntries)
        } else {
            Ok(())
        }
    }

    pub(super) fn add_file(
        &mut self,
        name: &str,
        offset: u64,
        size: u64,
    ) -> Result<EntryId, ArchiveError> {
        self.push(name, What::File { offset, size })
    }

    pub(super) fn add_link(
        &mut self,
        name: &str,
        target: &str,
        is_symbolic: bool,
    ) -> Result<(), ArchiveError> {
        let target = self.store(target)?;
        self.push(
            name,
            What::Link {
                target,
                is_symbolic,
            },
        )
        .map(|_| ())
    }

    /// Takes something that is neither a file nor a link, such as a FIFO.
    pub(super) fn add_other(&mut self, name: &str, what: &'static str) -> Result<(), ArchiveError> {
        self.push(name, What::Other(what)).map(|_| ())
    }

    pub(super) fn finish(self) -> Index {
        let Self {
            mut text,
            mut records,
            ..
        } = self;
        text.shrink_to_fit();
        records.shrink_to_fit();
        let mut index = Index {
            text,
            records,
            by_name: Vec::new(),
        };
        index.by_name = index.sorted();
        index
    }

    fn push(&mut self, name: &str, what: What) -> Result<EntryId, ArchiveError> {
        self.see_control_file(name)?;
        let id = u32::try_from(self.records.len()).map_err(|_| ArchiveError::TooManyEntries)?;
        let name = self.store(name)?;
        self.records.push(Record { name, what });
        Ok(EntryId(id))
    }

    fn see_control_file(&mut self, name: &str) -> Result<(), ArchiveError> {
        for (entry, seen) in CONTROL_FILES.into_iter().zip(&mut self.control_seen) {
            if entry == name && std::mem::replace(seen, true) {
                return Err(ArchiveError::Repeated { entry });
            }
        }
        Ok(())
    }

    fn store(&mut self, text: &str) -> Result<Span, ArchiveError> {
        if self.text.len() + text.len() > limits::ENTRY_NAMES {
            return Err(ArchiveError::NamesTooLong);
        }
        let span = |len| u32::try_from(len).map_err(|_| ArchiveError::NamesTooLong);
        let span = Span {
            start: span(self.text.len())?,
            len: span(text.len())?,
        };
        self.text.push_str(text);
        Ok(span)
    }
}

impl Index {
    /// The file that `name` stands for, links followed.
    pub(super) fn find(&self, name: &str) -> Result<Option<EntryId>, ArchiveError> {
        let Some(mut name) = resolve("", name) else {
            return Ok(None);
        };
        let mut link = None;
        for _ in 0..=limits::LINK_HOPS {
            match self.step(&name) {
                Step::File(entry) => return Ok(Some(entry)),
                Step::Other(what) => {
                    return Err(ArchiveError::NotRegular { entry: name, what });
                }
                Step::Missing => return dangling(link, name),
                Step::Link {
                    target: None,
                    written,
                } => return dangling(Some(name), written),
                Step::Link {
                    target: Some(target),
                    ..
                } => {
                    link = Some(std::mem::replace(&mut name, target));
                }
            }
        }
        Err(ArchiveError::Loop { link: name })
    }

    /// All files' names, sorted.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name
            .iter()
            .filter_map(|position| self.record(*position))
            .filter(|record| matches!(record.what, What::File { .. }))
            .map(|record| self.text(record.name))
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

    /// What stands at exactly `name`, or else the link that a directory of its path is.
    fn step(&self, name: &str) -> Step {
        match self
            .lookup(name)
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
            )) => self.follow(name, target, is_symbolic, ""),
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
            )) = self.lookup(directory)
            {
                return self.follow(directory, *target, true, rest);
            }
        }
        Step::Missing
    }

    fn follow(&self, link: &str, target: Span, is_symbolic: bool, rest: &str) -> Step {
        let written = self.text(target);
        let base = match link.rsplit_once('/') {
            Some((directory, _)) if is_symbolic => directory,
            _ => "",
        };
        let target = resolve(base, written).map(|target| format!("{target}{rest}"));
        Step::Link {
            target,
            written: written.to_owned(),
        }
    }

    fn lookup(&self, name: &str) -> Option<(u32, &Record)> {
        let found = self
            .by_name
            .binary_search_by(|position| self.name_at(*position).cmp(name));
        let position = *self.by_name.get(found.ok()?)?;
        Some((position, self.record(position)?))
    }

    /// Positions by name. Of records with one name, the last.
    fn sorted(&self) -> Vec<u32> {
        let mut positions: Vec<u32> = (0..).take(self.records.len()).collect();
        positions.sort_unstable_by_key(|position| (self.name_at(*position), *position));
        // `dedup_by` keeps the first of equals, so that the last has to come first.
        positions.reverse();
        positions.dedup_by(|a, b| self.name_at(*a) == self.name_at(*b));
        positions.reverse();
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
    /// The name to go on with; `None` if the link, as `written`, leaves the bundle.
    Link {
        target: Option<String>,
        written: String,
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

/// macOS writes a file's attributes as a second one, `._NAME`, beside it.
fn is_ignored(name: &str) -> bool {
    name.rsplit('/')
        .next()
        .is_some_and(|base| base.starts_with("._"))
}
