//! Entries of a compressed bundle, handed on as they go by.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::{Outcomes, Share, Work, buffer, joined};
use crate::archive::{ArchiveError, EntryId};
use crate::limits;

/// An entry, and where its content will come from.
type Handed = (EntryId, Pipe);

pub(super) fn read(work: &Work<'_>) -> Result<Outcomes, ArchiveError> {
    // An entry is handed over when there is somebody to take it.
    let (hand, take) = sync_channel(0);
    let take = Mutex::new(take);
    thread::scope(|scope| {
        let threads = 0..work.threads();
        let threads = threads.map(|_| scope.spawn(|| share(work, &take)));
        let threads = threads.collect();
        let passed = pass(work, hand);
        let outcomes = joined(threads);
        passed.and(outcomes)
    })
}

/// Takes entries until the pass is over.
fn share(work: &Work<'_>, take: &Mutex<Receiver<Handed>>) -> Share {
    let mut buffer = buffer();
    let mut done = Vec::new();
    loop {
        let taken = take.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((entry, pipe)) = taken else {
            return Ok(done);
        };
        // An entry that stops half way stops with the pass, whose error is the one to tell.
        if let Ok(examined) = work.examine(entry, pipe, &mut buffer) {
            done.push((entry, Ok(examined)));
        }
    }
}

/// Goes over the bundle, and hands each entry's content to one of the threads.
fn pass(work: &Work<'_>, hand: SyncSender<Handed>) -> Result<(), ArchiveError> {
    let entries: Vec<EntryId> = work.jobs.keys().copied().collect();
    let mut feed = Feed {
        work,
        hand,
        open: None,
    };
    work.archive
        .visit(&entries, &mut |entry, piece| feed.give(entry, piece))
}

struct Feed<'a> {
    work: &'a Work<'a>,
    hand: SyncSender<Handed>,
    open: Option<(EntryId, SyncSender<Vec<u8>>)>,
}

impl Feed<'_> {
    /// Breaks when nobody listens, which only a panic can bring about.
    fn give(&mut self, entry: EntryId, piece: &[u8]) -> ControlFlow<()> {
        let pieces = match &self.open {
            Some((open, pieces)) if *open == entry => pieces,
            _ => match self.begin(entry) {
                Some(pieces) => pieces,
                None => return ControlFlow::Break(()),
            },
        };
        if piece.is_empty() || pieces.send(piece.to_vec()).is_ok() {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(())
    }

    fn begin(&mut self, entry: EntryId) -> Option<&SyncSender<Vec<u8>>> {
        // What the last one has not read yet stays in its pipe; closing it is no end of content.
        self.open = None;
        let (give, take) = sync_channel(limits::PIECES_AHEAD);
        let left = self.work.archive.size(entry);
        self.hand.send((entry, Pipe::new(take, left))).ok()?;
        let (_, pieces) = self.open.insert((entry, give));
        Some(pieces)
    }
}

/// An entry's content as it arrives.
struct Pipe {
    pieces: Receiver<Vec<u8>>,
    piece: io::Cursor<Vec<u8>>,
    /// Bytes still to come after `piece`.
    left: u64,
}

impl Pipe {
    fn new(pieces: Receiver<Vec<u8>>, left: u64) -> Self {
        Self {
            pieces,
            piece: io::Cursor::default(),
            left,
        }
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.piece.read(buffer)?;
            if count > 0 || self.left == 0 || buffer.is_empty() {
                return Ok(count);
            }
            let piece = self.pieces.recv();
            let piece = piece.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            let count = u64::try_from(piece.len()).unwrap_or(u64::MAX);
            self.left = self.left.saturating_sub(count);
            self.piece = io::Cursor::new(piece);
        }
    }
}
