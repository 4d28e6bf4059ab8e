//! A namespace with images of others in it, a proxy before it, and a bundle to bring.

use std::fs;
use std::path::{Path, PathBuf};

use airdock_testkit::fixture::{Bundle, Image, Layer, Target, sha256};
use airdock_testkit::process::{Running, Signal};
use airdock_testkit::proxy::{Call, Proxy};
use airdock_testkit::suite::Outcome;
use airdock_testkit::{Daemon, wait};

use super::case::Case;
use crate::support::{AIRDOCK, DEADLINE, Records, listed_records, text};
use crate::whole::every_name_is_whole;

type Result<T> = std::result::Result<T, libtest_mimic::Failed>;

const X: &str = "docker.io/library/x:1";
const Y: &str = "docker.io/library/y:1";
/// Others made these names; `x:1` too, and it is to be replaced.
const FOREIGN: [&str; 2] = ["docker.io/library/foreign:1", "docker.io/library/old:1"];
const FOREIGN_LEASE: &str = "foreign-lease";

/// Who makes the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Agent,
    Load,
}

/// What one case needs; no other case sees any of it.
pub(super) struct Room<'a> {
    daemon: &'a Daemon,
    namespace: String,
    dir: PathBuf,
    proxy: Proxy,
    new: [(&'static str, Image); 2],
    foreign: Records,
}

impl<'a> Room<'a> {
    pub(super) fn new(daemon: &'a Daemon, dir: &Path, number: u64) -> Result<Self> {
        let dir = dir.join(number.to_string());
        fs::create_dir_all(dir.join("bundles"))?;
        let base = Layer::noise(number * 10, 50_000);
        let on_base = |seed: u64, len| {
            let own = Layer::noise(number * 10 + seed, len);
            Image::new().layer(base.clone()).layer(own)
        };
        let mut room = Self {
            daemon,
            namespace: format!("room-{number}"),
            proxy: Proxy::before(&daemon.socket())?,
            new: [(X, on_base(1, 2_500_000)), (Y, on_base(2, 1000))],
            foreign: Records::new(),
            dir,
        };
        room.furnish(on_base(3, 1000), on_base(4, 1000))?;
        Ok(room)
    }

    fn furnish(&mut self, foreign: Image, old: Image) -> Result<()> {
        let bundle = Bundle::new()
            .with(&[FOREIGN[0]], foreign)
            .with(&[FOREIGN[1], X], old);
        let path = self.dir.join("foreign.tar");
        bundle.oci().write_tar(&path)?;
        self.ctr(&["images", "import", "--no-unpack", text(&path)])?;
        for lease in [FOREIGN_LEASE, &self.stale_lease()] {
            self.ctr(&["leases", "create", "--id", lease])?;
        }
        self.foreign = self.records()?;
        self.foreign.remove(X);
        let with =
            |bundle: Bundle, (name, image): &(&str, Image)| bundle.with(&[*name], image.clone());
        let bundle = self.new.iter().fold(Bundle::new(), with);
        bundle.oci().write_tar(&self.bundle())?;
        Ok(())
    }

    /// The calls that the program makes when nothing fails.
    pub(super) fn calls(&self, program: Program) -> Result<Vec<Call>> {
        let mut running = self.start(program)?;
        self.completed(program, &mut running)?;
        let calls = self.proxy.calls();
        self.ended(program, running)?;
        Ok(calls)
    }

    /// Runs the program with this fault, and again where that is what its user would do.
    pub(super) fn suffer(&self, program: Program, case: &Case) -> Outcome {
        self.proxy.spoil(case.fault());
        let mut running = self.start(program)?;
        wait::until("the fault", DEADLINE, || {
            let struck = self.proxy.pending() == 0;
            (struck || is_complete(&mut running)).then_some(())
        })?;
        self.names_are_whole()?;
        self.proxy.heal();
        self.completed(program, &mut running)?;
        self.ended(program, running)
    }

    fn start(&self, program: Program) -> Result<Running> {
        let (bundle, bundles) = (self.bundle(), self.dir.join("bundles"));
        let state = self.state();
        let mut args = match program {
            Program::Agent => vec!["watch", text(&bundles), "--state-dir", text(&state)],
            Program::Load => vec!["load", text(&bundle)],
        };
        let store = format!("containerd:{}", self.proxy.socket().display());
        args.extend(["--store", &store, "--namespace", &self.namespace]);
        Ok(Running::start(AIRDOCK, &args)?)
    }

    /// Waits until the program has done its work.
    fn completed(&self, program: Program, running: &mut Running) -> Outcome {
        match program {
            Program::Agent => {
                let mut said = 0;
                wait::until("the end of the import", DEADLINE, || {
                    // Nothing changes that isn't logged.
                    let says = running.stderr().len();
                    if std::mem::replace(&mut said, says) != says
                        && let Err(broken) = self.names_are_whole()
                    {
                        return Some(Err(broken));
                    }
                    is_complete(running).then_some(Ok(()))
                })??;
            }
            Program::Load => {
                let first = running.wait(DEADLINE)?.code();
                check(
                    matches!(first, Some(0 | 9)),
                    &format!("load ended with {first:?}: {}", running.stderr()),
                )?;
                self.names_are_whole()?;
                let mut again = self.start(program)?;
                let second = again.wait(DEADLINE)?.code();
                let told = format!("the second load: {second:?}: {}", again.stderr());
                check(second == Some(0), &told)?;
            }
        }
        Ok(())
    }

    /// Waits until all is as it should be; the agent, which would go on, is ended then.
    fn ended(&self, program: Program, mut running: Running) -> Outcome {
        let mut last = String::new();
        let tidy = wait::until("order", DEADLINE, || match self.is_in_order(program) {
            Ok(()) => Some(()),
            Err(failed) => {
                last = failed.message().unwrap_or_default().to_owned();
                None
            }
        });
        if tidy.is_err() {
            return Err(format!("{last}\n{}", running.stderr()).into());
        }
        if program == Program::Agent {
            running.signal(Signal::TERM)?;
            let status = running.wait(DEADLINE)?;
            check(status.success(), &running.stderr())?;
        }
        Ok(())
    }

    fn is_in_order(&self, program: Program) -> Outcome {
        let mut records = self.records()?;
        for (name, image) in &self.new {
            let digest = Target::from(image.clone()).digest();
            let there = records
                .get(*name)
                .is_some_and(|(target, _)| *target == digest);
            check(there, &format!("{name} is not {digest}: {records:?}"))?;
        }
        every_name_is_whole(self.daemon, &records)?;
        records.retain(|name, _| FOREIGN.contains(&name.as_str()));
        check(records == self.foreign, "foreign records changed")?;
        let mut leases = self.ctr(&["leases", "ls", "-q"])?;
        if program == Program::Load {
            leases = leases.replace(&self.stale_lease(), "");
        }
        check(leases.trim() == FOREIGN_LEASE, &format!("leases: {leases}"))?;
        let ingests = self.ctr(&["content", "active"])?;
        check(ingests.lines().count() == 1, &ingests)
    }

    /// What an agent with this state left that died.
    fn stale_lease(&self) -> String {
        let state = sha256(text(&self.state()).as_bytes());
        format!("airdock-agent-{}-stale", &state["sha256:".len()..][..12])
    }

    fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    fn bundle(&self) -> PathBuf {
        self.dir.join("bundles/new.tar")
    }

    fn ctr(&self, args: &[&str]) -> Result<String> {
        Ok(self.daemon.ctr_text_in(&self.namespace, args)?)
    }

    fn names_are_whole(&self) -> Outcome {
        every_name_is_whole(self.daemon, &self.records()?)
    }

    fn records(&self) -> Result<Records> {
        Ok(listed_records(&self.ctr(&["images", "ls"])?))
    }
}

/// Whether the agent says that it is done, or `load` has ended.
fn is_complete(running: &mut Running) -> bool {
    let done = ["msg=\"bundle loaded\"", "the store has all"];
    let said = running.stderr();
    done.iter().any(|words| said.contains(words)) || running.has_ended()
}

fn check(is_so: bool, otherwise: &str) -> Outcome {
    if is_so {
        return Ok(());
    }
    Err(otherwise.into())
}
