//! Calls that break on their way, and what they leave.

use airdock_containerd::{Client, Error, Written};
use airdock_testkit::daemon::NAMESPACE;
use airdock_testkit::proxy::{Fault, Proxy};
use airdock_testkit::{Daemon, Outcome, Suite};

use crate::blob::{Blob, ingests};
use crate::with_client;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd(
            "a_write_that_broke_succeeds_again",
            &[],
            with_client(broken),
        )
        .on_each_containerd("a_full_disk_leaves_no_ingest", &[], with_client(full))
        .on_each_containerd("only_absent_bytes_cross", &[], with_client(absent_bytes))
}

/// A client that goes through a proxy.
fn behind(daemon: &Daemon) -> Result<(Client, Proxy), Box<dyn std::error::Error>> {
    let proxy = Proxy::before(&daemon.socket())?;
    Ok((Client::connect(&proxy.socket(), NAMESPACE)?, proxy))
}

/// Writes as its caller would: the first attempt may still meet the broken connection.
async fn again(client: &Client, blob: &Blob) -> Result<Written, Error> {
    match blob.write(client, blob.chunks()).await {
        Err(Error::Disconnected { .. }) => blob.write(client, blob.chunks()).await,
        written => written,
    }
}

async fn broken(_: Client, daemon: &mut Daemon) -> Outcome {
    let (client, proxy) = behind(daemon)?;
    for (seed, bytes) in [(40, 1), (41, 3_000_000), (42, 9_000_000)] {
        let blob = Blob::large(seed);
        proxy.spoil(Fault::cut("Content/Write").after(bytes));
        let error = blob.write(&client, blob.chunks()).await.unwrap_err();
        assert!(matches!(error, Error::Disconnected { .. }), "{error}");
        assert!(error.is_retryable());
        assert_eq!(again(&client, &blob).await?, Written::Committed);
        assert!(blob.is_in(daemon));
    }
    assert!(ingests(daemon)?.is_empty());
    Ok(())
}

async fn full(_: Client, daemon: &mut Daemon) -> Outcome {
    let (client, proxy) = behind(daemon)?;
    let blob = Blob::large(43);
    let full = Fault::status("Content/Write", 2, "write: no space left on device");
    proxy.spoil(full.after(3_000_000));
    let error = blob.write(&client, blob.chunks()).await.unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    assert!(ingests(daemon)?.is_empty());
    Ok(())
}

async fn absent_bytes(_: Client, daemon: &mut Daemon) -> Outcome {
    const OVERHEAD: u64 = 1000;
    let (client, proxy) = behind(daemon)?;
    let blob = Blob::large(44);
    blob.write(&client, blob.chunks()).await?;
    let before = proxy.sent("Content/Write");
    let size = blob.data.len() as u64;
    assert!((size..size + OVERHEAD * 10).contains(&before), "{before}");
    for body in [blob.chunks(), blob.whole()] {
        assert_eq!(blob.write(&client, body).await?, Written::AlreadyExists);
    }
    let again = proxy.sent("Content/Write") - before;
    assert!(again < OVERHEAD, "{again}");
    Ok(())
}
