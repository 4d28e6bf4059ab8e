//! Every call, against every containerd that is here; `ctr` says what really happened.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests state facts about values that they made themselves"
)]

mod blob;
mod connection;
mod content;
mod cri;
mod events;
mod faults;
mod images;
mod leases;
mod plugins;
mod unpack;
mod write;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use airdock_containerd::{Client, Labels};
use airdock_testkit::daemon::NAMESPACE;
use airdock_testkit::{Daemon, Outcome, Suite};

fn main() -> ExitCode {
    let suite = Suite::of(&[
        connection::tests,
        content::tests,
        write::tests,
        images::tests,
        leases::tests,
        events::tests,
        plugins::tests,
        cri::tests,
        unpack::tests,
        faults::tests,
    ]);
    suite.run()
}

/// What tests write under: a daemon collects garbage soon after its start, and after a hundred
/// changes.
const LEASE: &str = "test";

/// Gives an asynchronous test a client of its daemon.
fn with_client(
    test: impl AsyncFnOnce(Client, &mut Daemon) -> Outcome + Copy + Send + 'static,
) -> impl FnOnce(&mut Daemon, &Path) -> Outcome + Copy + Send + 'static {
    move |daemon, _| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let client = Client::connect(&daemon.socket(), NAMESPACE)?;
            client
                .lease_create(LEASE, in_an_hour(), Labels::new())
                .await?;
            test(client, daemon).await
        })
    }
}

fn in_an_hour() -> SystemTime {
    SystemTime::now() + Duration::from_secs(3600)
}
