//! Every call that airdock makes fails once, in each of the ways in which a call can fail.
//!
//! Whatever happens, every name in the store is whole at any moment and nothing of others
//! changes. Afterwards the agent completes by itself, and `load` when it is called again; nothing
//! of ours is left behind.

mod case;
mod room;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use airdock_testkit::daemon::Options;
use airdock_testkit::{Daemon, Outcome, Suite, Version};

use case::Case;
use room::{Program, Room};

/// Cases at once. Most of the time a case waits for the agent to try again.
const AT_ONCE: usize = 8;

/// Room for what all cases leave; on a disk they would wait for it to flush most of the time.
const MEMORY: u64 = 2 << 30;

/// The release with which every case is tried; with the others every so many.
const ALL_CASES: Version = Version::V2_1;
const SAMPLE: usize = 9;

pub(crate) fn tests(suite: Suite) -> Suite {
    Version::ALL.into_iter().fold(suite, |suite, version| {
        let suite = add(suite, version, Program::Agent);
        add(suite, version, Program::Load)
    })
}

fn add(suite: Suite, version: Version, program: Program) -> Suite {
    let name = match program {
        Program::Agent => "the_agent_completes_whatever_call_fails",
        Program::Load => "a_second_load_completes_whatever_call_fails",
    };
    let run = move |daemon: &mut Daemon, dir: &Path| every_call(daemon, dir, program);
    let options = Options::in_memory(MEMORY);
    suite.on_containerd(version, options, name, &[], run)
}

fn every_call(daemon: &Daemon, dir: &Path, program: Program) -> Outcome {
    let clean = Room::new(daemon, dir, 0)?;
    let calls = clean.calls(program)?;
    let step = if daemon.version() == ALL_CASES {
        1
    } else {
        SAMPLE
    };
    let cases: Vec<Case> = Case::all(&calls).into_iter().step_by(step).collect();
    let numbered = Mutex::new(cases.iter().zip(1..));
    let failures = Mutex::new(String::new());
    let work = || {
        while let Some((case, number)) = next(&numbered) {
            let outcome =
                Room::new(daemon, dir, number).and_then(|room| room.suffer(program, case));
            if let Err(failed) = outcome {
                note(&failures, case, failed.message().unwrap_or_default());
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner()?;
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("of {} cases these failed:\n{failures}", cases.len()).into())
}

fn next<T>(queue: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    queue.lock().ok()?.next()
}

fn note(failures: &Mutex<String>, case: &Case, message: &str) {
    let mut failures = failures.lock().expect("nobody panics while noting");
    writeln!(failures, "{case}: {message}").expect("a string takes everything");
}
