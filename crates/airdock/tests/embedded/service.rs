//! The agent under a service manager: what it tells, and what it gives up.

use std::fs;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use airdock_testkit::process::{Running, Signal};
use airdock_testkit::{Outcome, Suite, wait};

use crate::support::{AIRDOCK, DEADLINE, names_in, small, store_of, text, watch};

/// Long enough for the agent's start on a busy machine, short enough to wait for twice.
const WATCHDOG: Duration = Duration::from_millis(300);

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test(
            "a_service_manager_hears_of_the_start_the_work_and_the_end",
            &[],
            told,
        )
        .test(
            "the_agent_is_ready_while_the_store_is_unreachable",
            &[],
            ready_without_store,
        )
        .test("signs_of_life_come_while_it_works", &[], alive)
        .test(
            "a_link_out_of_the_directory_is_closed_unless_landlock_is_off",
            &[],
            link_out,
        )
        .test(
            "a_state_directory_that_cannot_be_made_is_named",
            &[],
            no_state,
        )
}

/// A service manager that hears one agent.
struct Manager {
    socket: UnixDatagram,
    agent: Running,
}

impl Manager {
    fn start(dir: &Path, store: &str, environment: &[(&str, &str)]) -> io::Result<Self> {
        let at = dir.join("notify");
        let socket = UnixDatagram::bind(&at)?;
        socket.set_read_timeout(Some(DEADLINE))?;
        fs::create_dir_all(dir.join("bundles"))?;
        let (state, bundles) = (dir.join("state"), dir.join("bundles"));
        let mut command = Command::new(AIRDOCK);
        command
            .args(["watch", text(&bundles), "--store", store])
            .args(["--state-dir", text(&state)])
            .env("NOTIFY_SOCKET", &at)
            .envs(environment.iter().copied());
        let agent = Running::spawn(&mut command)?;
        Ok(Self { socket, agent })
    }

    /// The next message.
    fn hear(&self) -> io::Result<String> {
        let mut bytes = [0; 4096];
        let len = self.socket.recv(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes[..len]).trim().to_owned())
    }

    /// The first message that starts with `start`; those before it don't matter.
    fn hear_of(&self, start: &str) -> io::Result<String> {
        loop {
            let heard = self.hear()?;
            if heard.starts_with(start) {
                return Ok(heard);
            }
        }
    }
}

fn told(dir: &Path) -> Outcome {
    let manager = Manager::start(dir, &store_of(dir), &[])?;
    assert_eq!(manager.hear()?, "READY=1");
    assert_eq!(manager.hear()?, "STATUS=bundles: 0 imported");
    let beside = dir.join("x.tar");
    small("x:1", "one").oci().write_tar(&beside)?;
    fs::rename(beside, dir.join("bundles/x.tar"))?;
    manager.hear_of("STATUS=bundles: 1 imported")?;
    manager.agent.signal(Signal::TERM)?;
    manager.hear_of("STOPPING=1")?;
    Ok(())
}

fn ready_without_store(dir: &Path) -> Outcome {
    let nowhere = format!("containerd:{}", text(&dir.join("no.sock")));
    let manager = Manager::start(dir, &nowhere, &[])?;
    assert_eq!(manager.hear()?, "READY=1");
    manager.hear_of("STATUS=the store does not answer")?;
    Ok(())
}

fn alive(dir: &Path) -> Outcome {
    let microseconds = WATCHDOG.as_micros().to_string();
    let manager = Manager::start(dir, &store_of(dir), &[("WATCHDOG_USEC", &microseconds)])?;
    for _ in 0..4 {
        manager.hear_of("WATCHDOG=1")?;
    }
    Ok(())
}

fn link_out(dir: &Path) -> Outcome {
    let (bundles, outside) = (dir.join("within/bundles"), dir.join("outside"));
    fs::create_dir_all(&bundles)?;
    fs::create_dir(&outside)?;
    small("x:1", "one")
        .oci()
        .write_tar(&outside.join("x.tar"))?;
    std::os::unix::fs::symlink(outside.join("x.tar"), bundles.join("x.tar"))?;
    let start = |landlock: &str| {
        let (store, state) = (store_of(dir), dir.join("state"));
        let args = ["watch", text(&bundles), "--store", &store];
        let more = ["--state-dir", text(&state), "--landlock", landlock];
        Running::start(AIRDOCK, &[&args[..], &more].concat())
    };
    let mut confined = start("auto")?;
    let first = confined.wait_for_line(&["component=agent"], DEADLINE)?;
    if first.contains("no Landlock") {
        return Ok(());
    }
    confined.wait_for_line(&["x.tar", "Permission denied", "--landlock off"], DEADLINE)?;
    assert!(names_in(&dir.join("store")).is_empty());
    drop(confined);
    let _open = start("off")?;
    wait::until("the image", DEADLINE, || {
        (names_in(&dir.join("store")).len() == 1).then_some(())
    })?;
    Ok(())
}

fn no_state(dir: &Path) -> Outcome {
    fs::write(dir.join("state"), "a file")?;
    let mut agent = watch(dir, &[]);
    assert_eq!(agent.wait(DEADLINE)?.code(), Some(1));
    wait::until("the reason", DEADLINE, || {
        let said = agent.stderr();
        (said.contains("state directory") && said.contains("--state-dir")).then_some(())
    })?;
    Ok(())
}
