//! The program under test as a process: run to its end, or watched while it runs.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, kill_process};

pub use rustix::process::Signal;

use crate::wait;

/// What a program that has ended left behind.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Exit code, or 128 and the number of the signal, as a shell gives it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A path as an argument.
///
/// # Panics
/// When it isn't UTF-8, as those that tests make are.
#[expect(clippy::expect_used, reason = "tests make their paths themselves")]
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path of these tests is UTF-8")
}

/// Runs a program to its end, which must come within [`wait::DEADLINE`].
pub fn run(program: impl AsRef<Path>, args: &[impl AsRef<OsStr>]) -> io::Result<Ended> {
    Running::start(program, args)?.end(wait::DEADLINE)
}

/// A running program; killed when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Text,
    stderr: Text,
    readers: Vec<JoinHandle<()>>,
    seen: usize,
}

impl Running {
    /// Starts a program with its output collected and nothing on its standard input.
    pub fn start(program: impl AsRef<Path>, args: &[impl AsRef<OsStr>]) -> io::Result<Self> {
        let mut command = Command::new(program.as_ref());
        command.args(args).stdin(Stdio::null());
        Self::spawn(&mut command)
    }

    /// The same for a prepared command (environment, folder, standard input).
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let named =
            |source: io::Error| io::Error::new(source.kind(), format!("{program}: {source}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(named)?;
        let (stdout, stderr) = (Text::default(), Text::default());
        let mut readers = Vec::new();
        readers.extend(child.stdout.take().map(|from| stdout.collect(from)));
        readers.extend(child.stderr.take().map(|from| stderr.collect(from)));
        Ok(Self {
            child,
            stdout,
            stderr,
            readers,
            seen: 0,
        })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.lines().join("")
    }

    /// What it wrote to standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.lines().join("")
    }

    /// The next line of standard error that holds all of `words`; later calls look behind it.
    pub fn wait_for_line(&mut self, words: &[&str], deadline: Duration) -> io::Result<String> {
        let text = self.stderr.clone();
        let mut seen = self.seen;
        let found = wait::until(&format!("a line with {words:?}"), deadline, || {
            let lines = text.lines();
            let at = lines
                .iter()
                .skip(seen)
                .position(|line| line.ends_with('\n') && words.iter().all(|w| line.contains(w)))?;
            seen += at + 1;
            lines.into_iter().nth(seen - 1)
        });
        self.seen = seen;
        found.map_err(|late| io::Error::new(late.kind(), format!("{late}\n{}", self.stderr())))
    }

    /// Sends a signal to this process alone.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::NotFound)?;
        Ok(kill_process(pid, signal)?)
    }

    /// Waits for its end.
    pub fn wait(&mut self, deadline: Duration) -> io::Result<ExitStatus> {
        let child = &mut self.child;
        wait::until("the program's end", deadline, || {
            child.try_wait().transpose()
        })?
    }

    /// Waits for its end, and for all that it wrote.
    pub fn end(&mut self, deadline: Duration) -> io::Result<Ended> {
        let status = self.wait(deadline)?;
        self.finish();
        Ok(Ended {
            code: code(status),
            stdout: self.stdout(),
            stderr: self.stderr(),
        })
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// SIGKILL, and the status it leaves.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// Reads what is left in its pipes after it has ended.
    fn finish(&mut self) {
        for reader in self.readers.drain(..) {
            // A reader that panicked has nothing more to give.
            let _ = reader.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = self.kill();
    }
}

/// Exit code as a shell gives it.
fn code(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Lines that a thread collects from a pipe.
#[derive(Clone, Debug, Default)]
struct Text(Arc<Mutex<Vec<String>>>);

impl Text {
    fn collect(&self, from: impl Read + Send + 'static) -> JoinHandle<()> {
        let text = self.clone();
        thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut line = Vec::new();
            while from.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                text.push(String::from_utf8_lossy(&line).into_owned());
                line.clear();
            }
        })
    }

    fn push(&self, line: String) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_leaves_its_code_and_its_text() {
        let ended = run("/bin/sh", &["-c", "echo out; echo err >&2; exit 3"]).unwrap();
        assert_eq!(
            (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
            (3, "out\n", "err\n")
        );
    }

    #[test]
    fn a_line_is_found_once() {
        let mut sh = Running::start("/bin/sh", &["-c", "echo a b 1 >&2; echo a b 2 >&2"]).unwrap();
        for want in ["a b 1\n", "a b 2\n"] {
            let line = sh.wait_for_line(&["a", "b"], wait::DEADLINE).unwrap();
            assert_eq!(line, want);
        }
        assert!(sh.wait_for_line(&["a"], Duration::ZERO).is_err());
    }

    #[test]
    fn a_signal_ends_it() {
        let mut sh = Running::start("/bin/sh", &["-c", "read forever; sleep 1000"]).unwrap();
        sh.signal(Signal::KILL).unwrap();
        let status = sh.wait(wait::DEADLINE).unwrap();
        assert_eq!(code(status), 137);
    }
}
