//! The store: is it there, does it do what we need, has it room.

use std::path::Path;

use airdock_bundle::name::Name;
use airdock_containerd::{Client, Error, Unreachable};

use super::Finding;
use crate::agent::space;
use crate::config::{DEFAULT_NAMESPACE, Settings};
use crate::output::human::Bytes;
use crate::store::{Role, Store};

/// Below this an import of any size fills the disk, and kubelet starts to evict.
const LITTLE_SPACE: u64 = 1024 * 1024 * 1024;

/// Older ones lack services that we call.
const OLDEST: (u32, u32) = (1, 6);

const CHOOSE: &str = "say which store is meant: --store containerd:SOCKET, or --distro";

/// The first releases in which kubelet's garbage collection honours pins.
const PINS: [(u32, u32, u32); 2] = [(1, 6, 22), (1, 7, 3)];

pub(super) async fn examine(settings: &Settings) -> Vec<Finding> {
    let endpoint = match settings.endpoint() {
        Ok(endpoint) => endpoint,
        Err(error) => return vec![Finding::error("store", error.to_string(), CHOOSE)],
    };
    let store = match Store::open(&endpoint, &Role::Load) {
        Ok(store) => store,
        Err(error) => return vec![Finding::error("store", error.to_string(), CHOOSE)],
    };
    let mut findings = match &store {
        Store::Layout(_) => vec![Finding::ok("store", store.describe())],
        Store::Containerd(containerd) => match daemon(containerd.client()).await {
            Ok(findings) => findings,
            Err(unreachable) => return vec![unreachable],
        },
    };
    findings.push(space(&store, settings.watch.reserve).await);
    findings
}

/// Everything about a daemon, or why there is none to be had.
async fn daemon(client: &Client) -> Result<Vec<Finding>, Finding> {
    let version = client
        .version()
        .await
        .map_err(|error| unreachable(&error))?;
    let (version, socket) = (&version.version, client.socket());
    let mut findings = vec![release(version, socket)];
    findings.push(pins(version));
    findings.push(namespace(client));
    findings.extend(cri(client).await);
    Ok(findings)
}

fn unreachable(error: &Error) -> Finding {
    let reason = match error {
        Error::Connect { reason, .. } => Some(reason),
        _ => None,
    };
    let mend = match reason {
        Some(Unreachable::Denied) => "ask as root",
        Some(Unreachable::NotASocket | Unreachable::NotContainerd(_)) => CHOOSE,
        _ => "start containerd, or say where it is: --store containerd:SOCKET, --distro",
    };
    Finding::error("store", error.to_string(), mend)
}

fn release(version: &str, socket: &Path) -> Finding {
    let found = format!("containerd {version} at {}", socket.display());
    let is_old = parse(version).is_some_and(|(major, minor, _)| (major, minor) < OLDEST);
    if is_old {
        return Finding::error("store", found, "upgrade to containerd 1.6 or later");
    }
    Finding::ok("store", found)
}

fn pins(version: &str) -> Finding {
    let honoured = parse(version).is_none_or(|(major, minor, patch)| {
        let first = PINS
            .into_iter()
            .find(|first| (first.0, first.1) == (major, minor));
        first.map_or((major, minor) >= (1, 6), |first| patch >= first.2)
    });
    if honoured {
        return Finding::ok(
            "pins",
            "kubelet's garbage collection leaves pinned images alone",
        );
    }
    let mend = "upgrade to 1.6.22, 1.7.3 or later; until then lost images are brought back";
    Finding::warning(
        "pins",
        format!("containerd {version} doesn't honour pins"),
        mend,
    )
}

/// The numbers of a version as Debian, distributions and containerd itself write it.
fn parse(version: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = version
        .trim_start_matches('v')
        .split(|c: char| !c.is_ascii_digit())
        .map(str::parse);
    let (major, minor, patch) = (numbers.next()?, numbers.next()?, numbers.next()?);
    Some((major.ok()?, minor.ok()?, patch.ok()?))
}

fn namespace(client: &Client) -> Finding {
    let namespace = client.namespace();
    if namespace == DEFAULT_NAMESPACE {
        return Finding::ok("namespace", namespace);
    }
    let found = format!("{namespace}: kubelet looks for images in {DEFAULT_NAMESPACE}");
    Finding::warning(
        "namespace",
        found,
        "leave --namespace away, unless this is meant",
    )
}

async fn cri(client: &Client) -> Vec<Finding> {
    let status = match client.cri_status().await {
        Ok(status) => status,
        Err(error) => {
            let mend = "enable containerd's CRI plugin, unless no kubelet uses this daemon";
            return vec![Finding::warning("cri", error.to_string(), mend)];
        }
    };
    let mut findings = vec![Finding::ok("cri", "answers")];
    match status.sandbox_image {
        Some(image) => findings.push(sandbox(client, &image).await),
        None => findings.push(Finding::ok(
            "sandbox image",
            "not told by this release; see `sandbox` in containerd's configuration",
        )),
    }
    findings.push(snapshotter(client).await);
    findings
}

async fn snapshotter(client: &Client) -> Finding {
    match client.cri_snapshotter().await {
        Ok(Some(snapshotter)) => Finding::ok("snapshotter", snapshotter),
        Ok(None) => Finding::ok("snapshotter", "not told by this release"),
        Err(error) => {
            let mend = "see `ctr plugins ls`: CRI unpacks images with a snapshotter";
            Finding::warning("snapshotter", error.to_string(), mend)
        }
    }
}

async fn sandbox(client: &Client, image: &str) -> Finding {
    let name = Name::parse(image).map_or_else(|_| image.to_owned(), |name| name.to_string());
    match client.image(&name).await {
        Ok(Some(_)) => Finding::ok("sandbox image", name),
        Ok(None) => Finding::error(
            "sandbox image",
            format!("{name} is missing: no pod can start"),
            "bring a bundle that has it, or set `sandbox_image` to one that is here",
        ),
        Err(error) => Finding::warning("sandbox image", error.to_string(), "try again"),
    }
}

async fn space(store: &Store, reserve: u64) -> Finding {
    let root = store.root().await;
    let Some((root, free)) = root.and_then(|root| Some((root.clone(), space::free(&root)?))) else {
        let mend =
            "mount the store's file system here; until then imports aren't refused for space";
        return Finding::warning(
            "space",
            "the store's file system can't be seen from here",
            mend,
        );
    };
    let found = format!("{} free in {}", Bytes(free), root.display());
    if free < LITTLE_SPACE.saturating_add(reserve) {
        let mend = "free some, move containerd's root, or lower `reserve`";
        return Finding::warning("space", found, mend);
    }
    Finding::ok("space", found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn pins_are_honoured_from_the_documented_releases_on() {
        for (version, level) in [
            ("1.6.20~ds1", Level::Warning),
            ("v1.6.22", Level::Ok),
            ("1.7.2-k3s1", Level::Warning),
            ("1.7.27", Level::Ok),
            ("2.1.4", Level::Ok),
            ("1.5.9", Level::Warning),
            ("unknown", Level::Ok),
        ] {
            assert_eq!(pins(version).level, level, "{version}");
        }
    }
}
