//! Building an index, within its limits.

use super::{Index, Record, Span, What};
use crate::archive::{ArchiveError, EntryId};
use crate::limits;
use crate::tar::{Entry, Kind};

/// Documents that decide what a bundle is. They may stand in it once.
const CONTROL_FILES: [&str; 3] = ["index.json", "oci-layout", "manifest.json"];

/// An index while it is built.
#[derive(Debug, Default)]
pub(in crate::archive) struct Builder {
    text: String,
    records: Vec<Record>,
    /// Entries seen, also those that leave no record.
    entries: usize,
    control_seen: [bool; CONTROL_FILES.len()],
}

impl Builder {
    /// Takes the next entry of an archive. Returns its id if it is a file that counts.
    pub(in crate::archive) fn add(
        &mut self,
        entry: &Entry,
    ) -> Result<Option<EntryId>, ArchiveError> {
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
    pub(in crate::archive) fn count(&mut self) -> Result<(), ArchiveError> {
        self.entries += 1;
        if self.entries > limits::ENTRIES {
            Err(ArchiveError::TooManyEntries)
        } else {
            Ok(())
        }
    }

    pub(in crate::archive) fn add_file(
        &mut self,
        name: &str,
        offset: u64,
        size: u64,
    ) -> Result<EntryId, ArchiveError> {
        self.push(name, What::File { offset, size })
    }

    pub(in crate::archive) fn add_link(
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
    pub(in crate::archive) fn add_other(
        &mut self,
        name: &str,
        what: &'static str,
    ) -> Result<(), ArchiveError> {
        self.push(name, What::Other(what)).map(|_| ())
    }

    pub(in crate::archive) fn finish(self) -> Index {
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
                let entry = entry.to_owned();
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

/// macOS writes a file's attributes as a second one, `._NAME`, beside it.
pub(in crate::archive) fn is_ignored(name: &str) -> bool {
    name.rsplit('/')
        .next()
        .is_some_and(|base| base.starts_with("._"))
}
