//! Reading ahead of a decoder: the copy out of the page cache, or the wait for the disk, goes on
//! beside the decoding.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use crate::limits;

/// Reads what another thread has read before. An error is given where it happened, and from then
/// on.
#[derive(Debug)]
pub(crate) struct Ahead {
    pieces: Receiver<io::Result<Piece>>,
    /// Buffers that are read.
    back: Sender<Box<[u8]>>,
    current: Piece,
    taken: usize,
    failed: Option<io::ErrorKind>,
}

/// A buffer with bytes at its start.
#[derive(Debug, Default)]
struct Piece {
    buffer: Box<[u8]>,
    len: usize,
}

impl Ahead {
    /// Starts to read. `None` where there can be no thread.
    pub(crate) fn of<R: Read + Send + 'static>(reader: R) -> Option<Self> {
        let (sender, pieces) = sync_channel(limits::PIECES_READ_AHEAD);
        let (back, free) = channel();
        let thread = thread::Builder::new().name("read-ahead".to_owned());
        // It ends when nobody takes what it reads.
        drop(
            thread
                .spawn(move || read_all(reader, &sender, &free))
                .ok()?,
        );
        Some(Self {
            pieces,
            back,
            current: Piece::default(),
            taken: 0,
            failed: None,
        })
    }

    /// The next piece; an empty one at the end.
    fn advance(&mut self) -> io::Result<()> {
        let next = match self.pieces.recv() {
            Ok(Ok(piece)) => piece,
            Ok(Err(error)) => {
                self.failed = Some(error.kind());
                return Err(error);
            }
            Err(_) => Piece::default(),
        };
        let read = std::mem::replace(&mut self.current, next);
        self.taken = 0;
        // Nobody reads any more when the end was found.
        drop(self.back.send(read.buffer));
        Ok(())
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(kind) = self.failed {
            return Err(kind.into());
        }
        if self.taken == self.current.len {
            self.advance()?;
        }
        let there = self.current.buffer.get(self.taken..self.current.len);
        let count = there.unwrap_or_default().read(buffer)?;
        self.taken += count;
        Ok(count)
    }
}

/// Reads to the end, or until nobody takes it.
fn read_all<R: Read>(
    mut reader: R,
    pieces: &SyncSender<io::Result<Piece>>,
    free: &Receiver<Box<[u8]>>,
) {
    loop {
        let used = free.try_recv().ok().filter(|buffer| !buffer.is_empty());
        let mut buffer = used.unwrap_or_else(|| vec![0; limits::INPUT_BUFFER].into_boxed_slice());
        let piece = match reader.read(&mut buffer) {
            Ok(0) => return,
            Ok(len) => Ok(Piece { buffer, len }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = piece.is_err();
        if pieces.send(piece).is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, and fails at the end if it is to.
    struct Dripping {
        left: usize,
        fails: bool,
    }

    impl Read for Dripping {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.left == 0 && self.fails {
                return Err(io::ErrorKind::StaleNetworkFileHandle.into());
            }
            let count = self.left.min(buffer.len()).min(100_000);
            for (at, byte) in buffer.iter_mut().take(count).enumerate() {
                *byte = pattern(self.left - at);
            }
            self.left -= count;
            Ok(count)
        }
    }

    /// What stands so far from the end.
    fn pattern(left: usize) -> u8 {
        u8::try_from(left % 251).unwrap()
    }

    fn ahead(left: usize, fails: bool) -> Ahead {
        let reader = Dripping { left, fails };
        Ahead::of(reader).unwrap()
    }

    #[test]
    fn all_comes_in_order_and_the_end_stays_the_end() {
        let left = 1_234_567;
        let mut read = Vec::new();
        let mut reader = ahead(left, false);
        reader.read_to_end(&mut read).unwrap();
        let expected: Vec<u8> = (0..left).map(|at| pattern(left - at)).collect();
        assert!(read == expected);
        assert_eq!(reader.read(&mut [0; 8]).unwrap(), 0);
    }

    #[test]
    fn an_error_comes_behind_what_was_read_and_never_turns_into_an_end() {
        let mut read = Vec::new();
        let mut reader = ahead(300_000, true);
        let error = reader.read_to_end(&mut read).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StaleNetworkFileHandle);
        assert_eq!(read.len(), 300_000);
        assert!(reader.read(&mut [0; 8]).is_err());
    }

    #[test]
    fn who_stops_early_leaves_nobody_waiting() {
        let (told, gone) = channel();
        struct Told(Sender<()>);
        impl Read for Told {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                Ok(buffer.len())
            }
        }
        impl Drop for Told {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        let mut reader = Ahead::of(Told(told)).unwrap();
        assert_eq!(reader.read(&mut [0; 8]).unwrap(), 8);
        drop(reader);
        gone.recv().unwrap();
    }
}
