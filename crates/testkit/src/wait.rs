//! Waiting on a condition, with a deadline instead of a guess.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine with two cores, short enough for a person who waits.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Pause between two looks: far below what a test notices, far above a busy loop.
const PAUSE: Duration = Duration::from_millis(10);

/// Asks `look` until it answers; an error that names `what` after `deadline`.
pub fn until<T>(
    what: &str,
    deadline: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> io::Result<T> {
    let end = Instant::now() + deadline;
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if Instant::now() >= end {
            return Err(late(what, deadline));
        }
        thread::sleep(PAUSE);
    }
}

fn late(what: &str, deadline: Duration) -> io::Error {
    let message = format!("{what}: not within {} s", deadline.as_secs_f32());
    io::Error::new(io::ErrorKind::TimedOut, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_the_wait() {
        let mut left = 3;
        let found = until("three looks", DEADLINE, || {
            left -= 1;
            (left == 0).then_some("here")
        });
        assert_eq!(found.unwrap(), "here");
    }

    #[test]
    fn a_late_answer_is_an_error_that_names_the_subject() {
        let error = until("the moon", Duration::ZERO, || None::<()>).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().starts_with("the moon"));
    }
}
