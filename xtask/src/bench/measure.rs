//! A program's run with its costs: time, bytes read, peak memory.

use std::fs;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// What no run takes, 20 GB on a slow disk among them.
const LIMIT: Duration = Duration::from_secs(420);

/// What a run cost.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// From its start to its end.
    pub elapsed: Duration,
    /// What it has read and written, files and sockets.
    pub io: Io,
    /// The most memory that it had at once, in bytes.
    pub peak: u64,
    /// Processor time, that of what feeds it among it.
    pub processor: Duration,
    /// Its standard output.
    pub stdout: String,
}

/// Bytes that a process has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Io {
    /// By `read(2)` and its kin, from cache or disk.
    pub read: u64,
    /// By `write(2)` and its kin.
    pub written: u64,
}

impl Io {
    /// Of a process that lives, or has ended and not been waited for.
    pub(super) fn of(pid: u32) -> anyhow::Result<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/io"))?;
        Ok(Self {
            read: field(&text, "rchar")?,
            written: field(&text, "wchar")?,
        })
    }
}

/// `name: 123 kB` gives 123.
pub(super) fn field(text: &str, name: &str) -> anyhow::Result<u64> {
    let values = text.lines().filter_map(|line| line.strip_prefix(name));
    let mut values = values.filter_map(|rest| rest.strip_prefix(':'));
    let value = values.next().with_context(|| format!("no {name}"))?;
    let number = value.split_whitespace().next().unwrap_or_default();
    Ok(number.parse()?)
}

/// Runs a program to its end; its failure is an error with what it said.
pub(super) fn run(command: &mut Command) -> anyhow::Result<Measured> {
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    forget_own_peak()?;
    let started = Instant::now();
    let child = command
        .spawn()
        .with_context(|| format!("{:?}", command.get_program()))?;
    let pid = pid(&child)?;
    let watchdog = Watchdog::over(pid);
    waitid(
        WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    )?;
    let elapsed = started.elapsed();
    drop(watchdog);
    let io = Io::of(child.id())?;
    let (status, usage) = reap(pid)?;
    if !status.success() {
        bail!("{command:?}: {status}: {}", text(&mut stderr)?);
    }
    Ok(Measured {
        elapsed,
        io,
        // Linux gives it in KiB (getrusage(2)).
        peak: u64::try_from(usage.ru_maxrss)? << 10,
        processor: processor(&usage)?,
        stdout: text(&mut stdout)?,
    })
}

/// Ends a program that takes too long: one that hangs shall not keep the other cases waiting.
struct Watchdog {
    /// Dropped when the program has ended, and still has its number.
    _ended: mpsc::Sender<()>,
}

impl Watchdog {
    fn over(pid: Pid) -> Self {
        let (ended, told) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            if told.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        Self { _ended: ended }
    }
}

/// Runs a program with the output of another as its input; both must end well.
pub(super) fn run_piped(feeder: &mut Command, command: &mut Command) -> anyhow::Result<Measured> {
    let mut feeder = feeder.stdout(Stdio::piped()).spawn()?;
    let pipe = feeder.stdout.take().context("no standard output")?;
    let measured = run(command.stdin(pipe));
    let (fed, usage) = reap(pid(&feeder)?)?;
    if !fed.success() {
        bail!("what feeds {command:?}: {fed}");
    }
    let mut measured = measured?;
    measured.processor += processor(&usage)?;
    Ok(measured)
}

/// What a process that lives has used so far, threads that have ended among it.
pub(super) fn processor_time(pid: u32) -> anyhow::Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name stands in parentheses, and may hold any character (proc_pid_stat(5)).
    let (_, behind) = text.rsplit_once(')').context("no name")?;
    let user_and_system = behind.split_whitespace().skip(11).take(2);
    let mut ticks = 0;
    for time in user_and_system {
        ticks += time.parse::<u64>()?;
    }
    let a_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_millis(ticks * 1000 / a_second))
}

/// The same to the nanosecond, without the threads that have ended.
pub(super) fn time_of_threads(pid: u32) -> anyhow::Result<Duration> {
    let mut nanoseconds = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        let first = text.split_whitespace().next().unwrap_or_default();
        nanoseconds += first.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

fn processor(usage: &libc::rusage) -> anyhow::Result<Duration> {
    let time = |value: libc::timeval| -> anyhow::Result<Duration> {
        let microseconds = u64::try_from(value.tv_usec)?;
        let seconds = Duration::from_secs(u64::try_from(value.tv_sec)?);
        Ok(seconds + Duration::from_micros(microseconds))
    };
    Ok(time(usage.ru_utime)? + time(usage.ru_stime)?)
}

/// Writes what is dirty, so that no run pays for the one before.
pub(super) fn settle(folder: &Path) -> anyhow::Result<()> {
    Ok(rustix::fs::syncfs(fs::File::open(folder)?)?)
}

/// A child starts with the most memory that its parent ever had as its own (`execve(2)` keeps the
/// figure): ours is set to what we have now, by the way of `proc_pid_clear_refs(5)`, and that is
/// no more than we need.
#[expect(unsafe_code, reason = "malloc_trim is in none of the safe wrappers")]
fn forget_own_peak() -> std::io::Result<()> {
    // SAFETY: gives back what is free, and touches nothing that is in use.
    unsafe { libc::malloc_trim(0) };
    fs::write("/proc/self/clear_refs", "5")
}

fn pid(child: &Child) -> anyhow::Result<Pid> {
    let raw = i32::try_from(child.id())?;
    Pid::from_raw(raw).context("no process")
}

fn text(file: &mut fs::File) -> anyhow::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// The end of a child that has ended, or ends, and what it has used.
#[expect(unsafe_code, reason = "wait4 is in none of the safe wrappers")]
fn reap(pid: Pid) -> anyhow::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: all bits zero is a value of this struct of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values of the types that wait4(2) writes.
    let reaped = unsafe { libc::wait4(pid.as_raw_pid(), &raw mut status, 0, &raw mut usage) };
    if reaped != pid.as_raw_pid() {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok((ExitStatus::from_raw(status), usage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_tells_what_it_read_and_said() {
        let measured = run(Command::new("sh").args(["-c", "head -c 5000000 /dev/zero | wc -c"]));
        let measured = measured.unwrap();
        assert_eq!(measured.stdout, "5000000\n");
        assert!(measured.io.read >= 10_000_000, "{:?}", measured.io);
        assert!(measured.peak > 100 << 10);
    }

    #[test]
    fn processor_time_is_that_of_both_ends_of_a_pipe() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut feeder = Command::new("sh");
        let fed = run_piped(feeder.args(["-c", busy]), &mut Command::new("cat")).unwrap();
        let fed_by_nothing = run_piped(&mut Command::new("true"), &mut Command::new("cat"));
        assert!(fed.processor > fed_by_nothing.unwrap().processor * 5);
    }

    #[test]
    fn a_living_process_is_asked_for_its_processor_time() {
        let own = std::process::id();
        let before = processor_time(own).unwrap();
        let busy =
            |so_far: u64| (0..1_000_000).fold(so_far, |sum, n| std::hint::black_box(sum ^ n));
        let mut sum = 0;
        while processor_time(own).unwrap() <= before {
            sum = busy(sum);
        }
        assert!(processor_time(own).unwrap() < Duration::from_secs(3600));
    }

    #[test]
    fn a_failure_is_an_error_with_what_was_said() {
        let failed = run(Command::new("sh").args(["-c", "echo why >&2; exit 3"]));
        let failed = failed.unwrap_err().to_string();
        assert!(failed.contains("why"), "{failed}");
    }

    #[test]
    fn a_pipe_feeds_the_other() {
        let mut feeder = Command::new("echo");
        let measured = run_piped(feeder.arg("hello"), Command::new("cat").arg("-"));
        assert_eq!(measured.unwrap().stdout, "hello\n");
    }
}
