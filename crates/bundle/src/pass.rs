//! One pass over several entries, with a state of its own for each.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::archive::{Archive, ArchiveError, EntryId};

/// What is made of each entry while its content goes by.
pub(crate) struct Steps<Start, Feed, Finish> {
    pub(crate) start: Start,
    pub(crate) feed: Feed,
    pub(crate) finish: Finish,
}

/// Takes `steps` over the content of `entries`, in the order in which they stand in the archive.
/// Only one state is held at a time.
pub(crate) fn over<State, Done>(
    archive: &Archive,
    entries: &[EntryId],
    mut steps: Steps<
        impl FnMut(EntryId) -> State,
        impl FnMut(&mut State, &[u8]),
        impl FnMut(State) -> Done,
    >,
) -> Result<BTreeMap<EntryId, Done>, ArchiveError> {
    let mut done = BTreeMap::new();
    let mut current: Option<(EntryId, State)> = None;
    if entries.is_empty() {
        return Ok(done);
    }
    archive.visit(entries, &mut |entry, piece| {
        let mut state = match current.take() {
            Some((open, state)) if open == entry => state,
            before => {
                done.extend(before.map(|(entry, state)| (entry, (steps.finish)(state))));
                (steps.start)(entry)
            }
        };
        (steps.feed)(&mut state, piece);
        current = Some((entry, state));
        ControlFlow::Continue(())
    })?;
    done.extend(current.map(|(entry, state)| (entry, (steps.finish)(state))));
    Ok(done)
}
