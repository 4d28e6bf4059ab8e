//! Says when names appear, for comparison: `named SOCKET NAMESPACE`, with a line `NAME SINCE` on
//! standard input for each. A line on standard output says that the name is there and was made
//! after SINCE, in nanoseconds since 1970.

use std::error::Error;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use airdock_containerd::Client;

/// How often the daemon is asked: far below what is measured, without keeping it busy.
const PAUSE: Duration = Duration::from_millis(2);

/// From a question to its answer, at most.
const DEADLINE: Duration = Duration::from_secs(120);

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the output of a developer's program")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket, namespace] = arguments.as_slice() else {
        return Err("usage: named SOCKET NAMESPACE".into());
    };
    let client = Client::connect(Path::new(socket), namespace)?;
    for line in io::stdin().lines() {
        let line = line?;
        let (name, since) = line.split_once(' ').ok_or("a line lacks a word")?;
        let since = SystemTime::UNIX_EPOCH + Duration::from_nanos(since.parse()?);
        tokio::time::timeout(DEADLINE, appears(&client, name, since)).await??;
        println!("{line}");
    }
    Ok(())
}

async fn appears(client: &Client, name: &str, since: SystemTime) -> Result<(), Failure> {
    loop {
        let created = client.image(name).await?.and_then(|record| record.created);
        if created > Some(since) {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}
