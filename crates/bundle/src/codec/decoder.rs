//! Frames one after another, up to the end of the file.

use std::io::{self, BufRead as _, Read};

use lz4_flex::frame::FrameDecoder as Unlz4;

use super::engine::{Engine, Fault};
use super::input::Input;
use super::window::check_window;
use super::{Codec, DecodeError, skippable_frame};
use crate::limits;

/// Decodes a whole file: every frame or member, each trailer checked, and nothing but NUL padding
/// after the last.
#[derive(Debug)]
pub struct Decoder<R: Read> {
    codec: Codec,
    body: Body<R>,
    state: State,
    /// Bytes decoded so far.
    produced: u64,
}

/// What does the work. lz4's decoder reads for itself; plain bytes are passed on.
enum Body<R: Read> {
    Plain(R),
    Frames(Input<R>, Engine),
    Lz4(Box<Unlz4<Input<R>>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before any frame: an end of the file here is a cut.
    Start,
    /// Inside a frame.
    Inside,
    /// Behind a frame: an end of the file here is the end.
    Between,
    /// Behind the last frame, and everything after it was looked at.
    End,
}

/// What stands at a place where a frame could start.
enum Next {
    End,
    Padding,
    Skippable(u64),
    Frame,
}

impl<R: Read> Decoder<R> {
    /// Decodes `reader`, whose bytes start with a frame of `codec`.
    pub fn new(codec: Codec, reader: R) -> Result<Self, DecodeError> {
        let body = match Engine::new(codec) {
            Some(engine) => {
                let engine = engine.map_err(|fault| faulty(codec, 0, fault))?;
                Body::Frames(Input::new(reader), engine)
            }
            None if codec == Codec::Lz4 => Body::Lz4(Box::new(Unlz4::new(Input::new(reader)))),
            None => Body::Plain(reader),
        };
        Ok(Self {
            codec,
            body,
            state: State::Start,
            produced: 0,
        })
    }

    /// Decodes some bytes into `output`. Returns 0 only at the end of the file (or if `output` is
    /// empty), with everything checked.
    pub fn decode(&mut self, output: &mut [u8]) -> Result<usize, DecodeError> {
        if let Body::Plain(reader) = &mut self.body {
            return uninterrupted(reader, output).map_err(DecodeError::Io);
        }
        while self.state != State::End && !output.is_empty() {
            match self.state {
                State::Inside => match self.decode_frame(output)? {
                    0 => self.state = State::Between,
                    count => return self.count(count),
                },
                _ => self.advance()?,
            }
        }
        Ok(0)
    }

    fn input(&mut self) -> Option<&mut Input<R>> {
        match &mut self.body {
            Body::Plain(_) => None,
            Body::Frames(input, _) => Some(input),
            Body::Lz4(unlz4) => Some(unlz4.get_mut()),
        }
    }

    /// Goes from between two frames into the next, or to the end.
    fn advance(&mut self) -> Result<(), DecodeError> {
        let (codec, is_first) = (self.codec, self.state == State::Start);
        let Some(input) = self.input() else {
            return Ok(());
        };
        match next(codec, input)? {
            Next::End if is_first => {
                return Err(DecodeError::Cut {
                    codec,
                    offset: input.offset(),
                });
            }
            Next::End => self.state = State::End,
            Next::Padding => {
                pass_padding(codec, input)?;
                self.state = State::End;
            }
            Next::Skippable(len) => {
                if !input.skip(len)? {
                    return Err(DecodeError::Cut {
                        codec,
                        offset: input.offset(),
                    });
                }
            }
            Next::Frame => self.begin_frame()?,
        }
        Ok(())
    }

    fn begin_frame(&mut self) -> Result<(), DecodeError> {
        if let Body::Frames(input, engine) = &mut self.body {
            if self.codec == Codec::Zstd {
                check_window(input)?;
            }
            if self.state != State::Start
                && let Some(fresh) = Engine::new(self.codec)
            {
                *engine = fresh.map_err(|fault| faulty(self.codec, input.offset(), fault))?;
            }
        }
        self.state = State::Inside;
        Ok(())
    }

    /// Decodes some bytes of the current frame. Returns 0 at its end.
    fn decode_frame(&mut self, output: &mut [u8]) -> Result<usize, DecodeError> {
        match &mut self.body {
            Body::Plain(_) => Ok(0),
            Body::Frames(input, engine) => {
                let (written, ended) = decode_some(self.codec, input, engine, output)?;
                if ended {
                    self.state = State::Between;
                }
                Ok(written)
            }
            Body::Lz4(unlz4) => unlz4_some(unlz4, output),
        }
    }

    /// Counts decoded bytes, and stops where no honest file decodes to as many.
    fn count(&mut self, count: usize) -> Result<usize, DecodeError> {
        self.produced += count as u64;
        let (codec, produced) = (self.codec, self.produced);
        if produced > limits::RATIO_FLOOR {
            let consumed = self.input().map_or(u64::MAX, |input| input.offset());
            if produced / limits::RATIO > consumed {
                return Err(DecodeError::Bomb {
                    codec,
                    produced,
                    consumed,
                });
            }
        }
        Ok(count)
    }
}

/// Decodes until something was written or the frame is over. Returns what was written, and
/// whether it is.
fn decode_some<R: Read>(
    codec: Codec,
    input: &mut Input<R>,
    engine: &mut Engine,
    output: &mut [u8],
) -> Result<(usize, bool), DecodeError> {
    loop {
        let bytes = input.fill_buf().map_err(DecodeError::Io)?;
        let is_end = bytes.is_empty();
        let step = engine.step(bytes, output);
        let step = step.map_err(|fault| faulty(codec, input.offset(), fault))?;
        input.consume(step.read);
        if step.written > 0 || step.ended {
            return Ok((step.written, step.ended));
        }
        if is_end {
            return Err(DecodeError::Cut {
                codec,
                offset: input.offset(),
            });
        }
    }
}

/// Decodes some bytes of an lz4 frame. The decoder takes an end of the file between two blocks for
/// the end of the frame; but only a frame that was cut makes it look for more than there is.
fn unlz4_some<R: Read>(
    unlz4: &mut Unlz4<Input<R>>,
    output: &mut [u8],
) -> Result<usize, DecodeError> {
    let codec = Codec::Lz4;
    let result = unlz4.read(output);
    let input = unlz4.get_ref();
    let offset = input.offset();
    match result {
        Ok(0) if input.found_end() => Err(DecodeError::Cut { codec, offset }),
        Ok(count) => Ok(count),
        Err(error) if input.has_failed() => Err(DecodeError::Io(error)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(DecodeError::Cut { codec, offset })
        }
        Err(error) => Err(DecodeError::Corrupt {
            codec,
            offset,
            detail: error.to_string(),
        }),
    }
}

/// What comes next, outside any frame.
fn next<R: Read>(codec: Codec, input: &mut Input<R>) -> Result<Next, DecodeError> {
    /// The longest magic number, and a skippable frame's header.
    const LONGEST: usize = 8;
    let offset = input.offset();
    let bytes = input.peek(LONGEST)?;
    let magic = codec.magic();
    if bytes.is_empty() {
        Ok(Next::End)
    } else if bytes.first() == Some(&0) {
        Ok(Next::Padding)
    } else if bytes.starts_with(magic) {
        Ok(Next::Frame)
    } else if magic.starts_with(bytes) {
        Err(DecodeError::Cut {
            codec,
            offset: offset + bytes.len() as u64,
        })
    } else if codec.has_skippable_frames() {
        skippable(codec, bytes, offset)
    } else {
        Err(DecodeError::Trailing { codec, offset })
    }
}

fn skippable(codec: Codec, bytes: &[u8], offset: u64) -> Result<Next, DecodeError> {
    match (skippable_frame(bytes), bytes) {
        (Some(len), _) => Ok(Next::Skippable(len)),
        (None, [0x50..=0x5f] | [0x50..=0x5f, 0x2a] | [0x50..=0x5f, 0x2a, 0x4d])
        | (None, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]) => Err(DecodeError::Cut {
            codec,
            offset: offset + bytes.len() as u64,
        }),
        _ => Err(DecodeError::Trailing { codec, offset }),
    }
}

/// Passes over NULs up to the end of the file. Tapes and block devices pad with them.
fn pass_padding<R: Read>(codec: Codec, input: &mut Input<R>) -> Result<(), DecodeError> {
    loop {
        let offset = input.offset();
        let bytes = input.fill_buf().map_err(DecodeError::Io)?;
        if let Some(position) = bytes.iter().position(|byte| *byte != 0) {
            return Err(DecodeError::Trailing {
                codec,
                offset: offset + position as u64,
            });
        }
        match bytes.len() {
            0 => return Ok(()),
            count => input.consume(count),
        }
    }
}

fn faulty(codec: Codec, offset: u64, fault: Fault) -> DecodeError {
    match fault {
        Fault::Corrupt(detail) => DecodeError::Corrupt {
            codec,
            offset,
            detail,
        },
        Fault::Memory => DecodeError::Memory,
    }
}

fn uninterrupted(reader: &mut impl Read, output: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(output) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl<R: Read> std::fmt::Debug for Body<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("Plain"),
            Self::Frames(input, engine) => {
                f.debug_tuple("Frames").field(input).field(engine).finish()
            }
            Self::Lz4(unlz4) => f.debug_tuple("Lz4").field(unlz4.get_ref()).finish(),
        }
    }
}
