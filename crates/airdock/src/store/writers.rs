//! The connections that blobs go over.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

use airdock_containerd::Client;

/// One HTTP/2 connection doesn't fill the daemon, more than a few only queue before its metadata.
const CONNECTIONS: usize = 3;

/// Some connections, and how many writes each carries.
#[derive(Debug)]
pub(super) struct Writers(Vec<Writer>);

#[derive(Debug)]
struct Writer {
    client: Client,
    writes: AtomicUsize,
}

/// A connection for one write.
#[derive(Debug)]
pub(super) struct Lent<'a> {
    client: &'a Client,
    writes: Option<&'a AtomicUsize>,
}

impl Writers {
    /// Prepares connections to the daemon that `client` speaks to.
    pub(super) fn beside(client: &Client) -> Self {
        let clients = client.connections(CONNECTIONS).into_iter();
        let writers = clients.map(|client| Writer {
            client,
            writes: AtomicUsize::new(0),
        });
        Self(writers.collect())
    }

    /// The connection with the least to do; `otherwise` where there is none.
    pub(super) fn lend<'a>(&'a self, otherwise: &'a Client) -> Lent<'a> {
        let writes = |writer: &&Writer| writer.writes.load(Ordering::Relaxed);
        let Some(writer) = self.0.iter().min_by_key(writes) else {
            return Lent {
                client: otherwise,
                writes: None,
            };
        };
        writer.writes.fetch_add(1, Ordering::Relaxed);
        Lent {
            client: &writer.client,
            writes: Some(&writer.writes),
        }
    }
}

impl Deref for Lent<'_> {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.client
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(writes) = self.writes {
            writes.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn the_connection_with_the_least_to_do_is_lent() {
        let client = Client::connect(Path::new("/nowhere"), "test").unwrap();
        let writers = Writers::beside(&client);
        let mut lent: Vec<_> = (0..CONNECTIONS).map(|_| writers.lend(&client)).collect();
        let loads = || writers.0.iter().map(|w| w.writes.load(Ordering::Relaxed));
        assert!(loads().all(|writes| writes == 1));
        drop(lent.remove(1));
        let _again = writers.lend(&client);
        assert!(loads().all(|writes| writes == 1));
    }
}
