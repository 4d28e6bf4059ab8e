//! Headers that say something about the entry behind them.

use super::{PaxFault, TarError, pax};

/// A header that is about the next entry, or about all that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Pax,
    GlobalPax,
    LongName,
    LongLink,
}

impl Special {
    pub(super) fn of(typeflag: u8) -> Option<Self> {
        match typeflag {
            b'x' => Some(Self::Pax),
            b'g' => Some(Self::GlobalPax),
            b'L' => Some(Self::LongName),
            b'K' => Some(Self::LongLink),
            _ => None,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pax => "PAX header",
            Self::GlobalPax => "global PAX header",
            Self::LongName => "GNU long name",
            Self::LongLink => "GNU long link target",
        }
    }
}

/// The content of the special headers before an entry, and where the last of them stands.
#[derive(Debug, Default)]
pub(super) struct Extensions {
    pax: Option<Vec<u8>>,
    long_name: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
    offset: u64,
}

/// What the special headers say about their entry.
pub(super) struct Own<'a> {
    pub(super) name: Option<&'a [u8]>,
    pub(super) link: Option<&'a [u8]>,
    pub(super) size: Option<u64>,
}

impl Extensions {
    pub(super) fn add(
        &mut self,
        special: Special,
        content: Vec<u8>,
        offset: u64,
    ) -> Result<(), TarError> {
        let place = match special {
            Special::Pax => &mut self.pax,
            Special::LongName => &mut self.long_name,
            Special::LongLink => &mut self.long_link,
            Special::GlobalPax => return about_nothing(&content, offset),
        };
        if place.replace(content).is_some() {
            return Err(TarError::Pax {
                offset,
                fault: PaxFault::Repeated,
            });
        }
        self.offset = offset;
        Ok(())
    }

    pub(super) fn resolve(&self) -> Result<Own<'_>, TarError> {
        let offset = self.offset;
        let pax = pax::parse(self.pax.as_deref().unwrap_or_default())
            .map_err(|fault| TarError::Pax { offset, fault })?;
        let long_name = self.long_name.as_deref().map(terminated);
        let long_link = self.long_link.as_deref().map(terminated);
        if pax
            .path
            .and(long_name)
            .or(pax.linkpath.and(long_link))
            .is_some()
        {
            return Err(TarError::NamedTwice { offset });
        }
        Ok(Own {
            name: pax.path.or(long_name),
            link: pax.linkpath.or(long_link),
            size: pax.size,
        })
    }

    pub(super) fn must_be_empty(&self) -> Result<(), TarError> {
        match (&self.pax, &self.long_name, &self.long_link) {
            (None, None, None) => Ok(()),
            _ => Err(TarError::NoEntryFollows {
                offset: self.offset,
            }),
        }
    }
}

/// A global header may carry comments and times. Readers disagree whether names and sizes in it
/// are about the entries that follow.
fn about_nothing(content: &[u8], offset: u64) -> Result<(), TarError> {
    match pax::parse(content) {
        Ok(overrides) if overrides == pax::Overrides::default() => Ok(()),
        Ok(_) => Err(TarError::Pax {
            offset,
            fault: PaxFault::Global,
        }),
        Err(fault) => Err(TarError::Pax { offset, fault }),
    }
}

/// A GNU long name without the NULs at its end.
fn terminated(content: &[u8]) -> &[u8] {
    let end = content
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    content.get(..end).unwrap_or_default()
}
