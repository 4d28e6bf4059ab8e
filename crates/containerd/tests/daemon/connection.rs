//! What stands behind a socket, and in which words that is said.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use airdock_containerd::{Client, Error, Unreachable};
use airdock_testkit::daemon::NAMESPACE;
use airdock_testkit::{Daemon, Outcome, Suite};

use crate::with_client;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("a_missing_socket_is_said_to_be_missing", &[], missing)
        .test("a_socket_without_a_listener_refuses", &[], refused)
        .test("a_file_is_no_socket", &[], plain_file)
        .test("a_namespace_must_fit_a_header", &[], namespace)
        .on_each_containerd("the_daemon_tells_its_release", &[], with_client(release))
        .on_each_containerd("a_restarted_daemon_is_found", &[], with_client(restart))
        .on_each_containerd("connections_are_independent", &[], with_client(independent))
}

/// Why nobody answers at `socket`.
fn reason(socket: &Path) -> Result<Unreachable, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let version = async { Client::connect(socket, NAMESPACE)?.version().await };
    match runtime.block_on(version) {
        Err(Error::Connect { reason, socket: at }) if at == socket => Ok(reason),
        other => Err(format!("{other:?}")),
    }
}

fn missing(dir: &Path) -> Outcome {
    assert_eq!(reason(&dir.join("s"))?, Unreachable::Missing);
    Ok(())
}

fn refused(dir: &Path) -> Outcome {
    let socket = dir.join("s");
    drop(UnixListener::bind(&socket)?);
    assert_eq!(reason(&socket)?, Unreachable::Refused);
    Ok(())
}

fn plain_file(dir: &Path) -> Outcome {
    let socket = dir.join("s");
    fs::write(&socket, "")?;
    assert_eq!(reason(&socket)?, Unreachable::NotASocket);
    Ok(())
}

fn namespace(dir: &Path) -> Outcome {
    let error = Client::connect(&dir.join("s"), "two\nlines").unwrap_err();
    assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    Ok(())
}

async fn release(client: Client, daemon: &mut Daemon) -> Outcome {
    let version = client.version().await?;
    let told = version.version.trim_start_matches('v');
    assert_eq!(told, daemon.release());
    Ok(())
}

async fn restart(client: Client, daemon: &mut Daemon) -> Outcome {
    client.version().await?;
    daemon.stop()?;
    let error = client.version().await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    daemon.restart()?;
    client.version().await?;
    Ok(())
}

async fn independent(client: Client, _daemon: &mut Daemon) -> Outcome {
    let clients = client.connections(3);
    assert_eq!(clients.len(), 3);
    for client in clients {
        client.version().await?;
    }
    Ok(())
}
