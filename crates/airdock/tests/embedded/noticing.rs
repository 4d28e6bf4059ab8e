//! What the agent notices, and when: lost events, directories that come and go, mounts, links,
//! copying tools.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use airdock_testkit::fixture::{Bundle, Image, Layer, gzip};
use airdock_testkit::mount::Mount;
use airdock_testkit::process::{Running, Signal};
use airdock_testkit::{Need, Outcome, Suite, wait};

use crate::support::{AIRDOCK, DEADLINE, digest_of, names_in, small, store_of, text, watch};

const X: &str = "docker.io/library/x:1";
const Y: &str = "docker.io/library/y:1";

/// So long that no test waits for it: what is noticed is noticed by hints.
const BY_HINTS: [&str; 2] = ["--resync", "600"];

pub(crate) fn tests(suite: Suite) -> Suite {
    let suite = suite
        .test(
            "a_thousand_files_at_once_are_all_imported_though_events_are_lost",
            &[Need::Root],
            thousand,
        )
        .test(
            "what_is_mounted_over_the_directory_is_imported",
            &[Need::Root],
            mounted,
        )
        .test(
            "a_volume_that_kubernetes_switches_is_noticed",
            &[],
            switched,
        )
        .test(
            "a_layout_directory_that_is_copied_file_by_file_is_noticed",
            &[],
            copied_layout,
        )
        .test(
            "without_an_inotify_instance_directories_are_polled",
            &[Need::Root, Need::Program("unshare")],
            |dir| polled(dir, "max_inotify_instances"),
        )
        .test(
            "without_an_inotify_watch_directories_are_polled",
            &[Need::Root, Need::Program("unshare")],
            |dir| polled(dir, "max_inotify_watches"),
        )
        .test(
            "a_constant_writer_does_not_starve_others",
            &[],
            constant_writer,
        );
    writers(suite)
}

fn writers(suite: Suite) -> Suite {
    suite
        .test(
            "rsync_leads_to_one_import",
            &[Need::Program("rsync")],
            |dir| rsync(dir, &[]),
        )
        .test(
            "rsync_in_place_leads_to_one_import",
            &[Need::Program("rsync")],
            |dir| rsync(dir, &["--inplace"]),
        )
        .test(
            "a_copy_that_breaks_off_and_goes_on_leads_to_one_import",
            &[],
            broken_off,
        )
        .test(
            "a_file_that_is_still_zeros_in_part_is_not_imported_as_if_whole",
            &[],
            zeros,
        )
}

fn started(dir: &Path, more: &[&str]) -> io::Result<Running> {
    fs::create_dir_all(dir.join("bundles"))?;
    let mut agent = watch(dir, &[&BY_HINTS[..], more].concat());
    agent.wait_for_line(&["started to watch", "how=events"], DEADLINE)?;
    Ok(agent)
}

fn names_become(dir: &Path, expected: &[(&str, &str)]) -> io::Result<()> {
    let store = dir.join("store");
    let expected: Vec<(String, String)> = expected
        .iter()
        .map(|(name, seed)| ((*name).to_owned(), digest_of(seed)))
        .collect();
    wait::until(&format!("{expected:?} in the store"), DEADLINE, || {
        let names: Vec<_> = names_in(&store).into_iter().collect();
        (names == expected).then_some(())
    })
}

fn put(directory: &Path, file: &str, bundle: &Bundle) -> io::Result<()> {
    let beside = directory.with_extension(file);
    bundle.oci().write_tar(&beside)?;
    fs::rename(beside, directory.join(file))
}

fn imports(agent: &Running) -> usize {
    agent.stderr().matches("msg=\"bundle loaded\"").count()
}

/// The length of a queue is read when it is made, and is the machine's: it is set for a moment
/// only, alone.
struct ShortQueue {
    before: String,
    _alone: File,
}

impl ShortQueue {
    const PATH: &str = "/proc/sys/fs/inotify/max_queued_events";

    fn of(events: u32) -> io::Result<Self> {
        let alone = File::create(std::env::temp_dir().join("airdock-test-inotify.lock"))?;
        alone.lock()?;
        let before = fs::read_to_string(Self::PATH)?;
        fs::write(Self::PATH, events.to_string())?;
        Ok(Self {
            before,
            _alone: alone,
        })
    }
}

impl Drop for ShortQueue {
    fn drop(&mut self) {
        // What can't be restored was never changed.
        let _ = fs::write(Self::PATH, &self.before);
    }
}

fn thousand(dir: &Path) -> Outcome {
    const FILES: usize = 1000;
    /// Many are copies: what is asked is whether each is seen.
    const BUNDLES: usize = 50;
    let queue = ShortQueue::of(16)?;
    let mut agent = started(dir, &[])?;
    drop(queue);
    // While it can't read them, there are more events than the queue holds.
    agent.signal(Signal::STOP)?;
    for n in 0..FILES {
        let n_of = n % BUNDLES;
        let bundle = small(&format!("n{n_of}:1"), &n_of.to_string());
        put(&dir.join("bundles"), &format!("{n}.tar"), &bundle)?;
    }
    agent.signal(Signal::CONT)?;
    agent.wait_for_line(&["the kernel dropped events"], DEADLINE)?;
    let known = || fs::read_dir(dir.join("state/ledger")).map_or(0, Iterator::count);
    // A busy machine takes minutes for as many; one that gets nowhere is told of all the same.
    let all = wait::until("a thousand files", DEADLINE * 20, || {
        (known() == FILES).then_some(())
    });
    all.map_err(|late| format!("{late}: {}", known()))?;
    assert_eq!(names_in(&dir.join("store")).len(), BUNDLES);
    Ok(())
}

fn mounted(dir: &Path) -> Outcome {
    let _agent = started(dir, &["--release-grace", "0"])?;
    put(&dir.join("bundles"), "x.tar", &small("x:1", "one"))?;
    names_become(dir, &[(X, "one")])?;
    let disk = dir.join("disk");
    fs::create_dir(&disk)?;
    put(&disk, "y.tar", &small("y:1", "two"))?;
    let mount = Mount::bind(&disk, &dir.join("bundles"))?;
    names_become(dir, &[(Y, "two")])?;
    // What comes onto the mounted disk is told as well.
    put(&disk, "x.tar", &small("x:1", "three"))?;
    names_become(dir, &[(X, "three"), (Y, "two")])?;
    drop(mount);
    names_become(dir, &[(X, "one")])?;
    put(&dir.join("bundles"), "y.tar", &small("y:1", "four"))?;
    names_become(dir, &[(X, "one"), (Y, "four")])?;
    Ok(())
}

/// As kubelet writes a volume: all files are links through `..data`, which is replaced.
fn switched(dir: &Path) -> Outcome {
    let volume = dir.join("bundles");
    fs::create_dir(&volume)?;
    let version = |name: &str, seed: &str| -> io::Result<()> {
        fs::create_dir(volume.join(name))?;
        small("x:1", seed)
            .oci()
            .write_tar(&volume.join(name).join("x.tar"))?;
        symlink(name, volume.join("..data_tmp"))?;
        fs::rename(volume.join("..data_tmp"), volume.join("..data"))
    };
    version("..2026_01", "one")?;
    symlink("..data/x.tar", volume.join("x.tar"))?;
    let _agent = started(dir, &[])?;
    names_become(dir, &[(X, "one")])?;
    version("..2026_02", "two")?;
    names_become(dir, &[(X, "two")])?;
    Ok(())
}

fn copied_layout(dir: &Path) -> Outcome {
    let mut agent = started(dir, &["--debounce", "0.2"])?;
    let whole = dir.join("whole");
    small("x:1", "one").oci().write_dir(&whole)?;
    let copy = dir.join("bundles/layout");
    fs::create_dir_all(copy.join("blobs/sha256"))?;
    // It is seen as a directory that is nothing yet.
    put(&dir.join("bundles"), "y.tar", &small("y:1", "two"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    for blob in fs::read_dir(whole.join("blobs/sha256"))? {
        let blob = blob?;
        fs::copy(
            blob.path(),
            copy.join("blobs/sha256").join(blob.file_name()),
        )?;
    }
    for document in ["index.json", "oci-layout"] {
        fs::copy(whole.join(document), copy.join(document))?;
    }
    names_become(dir, &[(X, "one"), (Y, "two")])?;
    Ok(())
}

/// In a user namespace of its own, where none is left: the same to the agent as a machine where
/// other programs have taken all.
fn polled(dir: &Path, limit: &str) -> Outcome {
    fs::create_dir(dir.join("bundles"))?;
    let script = format!("echo 0 > /proc/sys/user/{limit} && exec \"$0\" \"$@\"");
    let (bundles, store, state) = (dir.join("bundles"), store_of(dir), dir.join("state"));
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", &script, AIRDOCK]);
    command.args(["watch", text(&bundles), "--store", &store]);
    command.args(["--state-dir", text(&state)]).args(BY_HINTS);
    let mut agent = Running::spawn(&mut command)?;
    agent.wait_for_line(&["started to watch", "how=polling"], DEADLINE)?;
    put(&bundles, "x.tar", &small("x:1", "one"))?;
    names_become(dir, &[(X, "one")])?;
    put(&bundles, "x.tar", &small("x:1", "two"))?;
    names_become(dir, &[(X, "two")])?;
    Ok(())
}

fn constant_writer(dir: &Path) -> Outcome {
    let agent = started(dir, &[])?;
    let noisy = dir.join("bundles/noisy.tar");
    let tar = small("y:1", "two").oci().tar();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| -> Outcome {
        let writer = scope.spawn(|| write_again_and_again(&noisy, &tar, &stop));
        let waited = wait::until("the writer", DEADLINE, || noisy.exists().then_some(()))
            .and_then(|()| put(&dir.join("bundles"), "x.tar", &small("x:1", "one")))
            .and_then(|()| {
                wait::until("x", DEADLINE, || {
                    names_in(&dir.join("store")).contains_key(X).then_some(())
                })
            });
        stop.store(true, Ordering::Relaxed);
        writer.join().map_err(|_| "the writer panicked")??;
        Ok(waited?)
    })?;
    names_become(dir, &[(X, "one"), (Y, "two")])?;
    assert!(
        !agent.stderr().contains("refused bundle"),
        "{}",
        agent.stderr()
    );
    Ok(())
}

/// Opens, writes a little more, closes, and begins anew when it is whole; ends whole.
fn write_again_and_again(path: &Path, content: &[u8], stop: &AtomicBool) -> io::Result<()> {
    loop {
        File::create(path)?;
        for part in content.chunks(512) {
            File::options().append(true).open(path)?.write_all(part)?;
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
}

/// Megabytes, so that a copy of it takes a while.
fn large() -> Bundle {
    let image = Image::small("large").layer(Layer::noise(7, 6_000_000));
    Bundle::new().with(&["x:1"], image)
}

/// Another bundle that comes after it shows that all is done.
fn is_imported_once(dir: &Path, agent: &mut Running) -> Outcome {
    agent.wait_for_line(&["bundle loaded", "x.tar"], DEADLINE)?;
    put(&dir.join("bundles"), "y.tar", &small("y:1", "two"))?;
    agent.wait_for_line(&["bundle loaded", "y.tar"], DEADLINE)?;
    assert_eq!(imports(agent), 2, "{}", agent.stderr());
    for word in ["refused", "failed"] {
        assert!(!agent.stderr().contains(word), "{}", agent.stderr());
    }
    Ok(())
}

fn rsync(dir: &Path, more: &[&str]) -> Outcome {
    let mut agent = started(dir, &[])?;
    let from = dir.join("x.tar");
    large().oci().write_tar(&from)?;
    // Kibibytes a second: about a third of a second for all.
    let args = ["--times", "--bwlimit=20000", text(&from)];
    let to = format!("{}/", text(&dir.join("bundles")));
    let status = Command::new("rsync")
        .args(args)
        .args(more)
        .arg(to)
        .status()?;
    assert!(status.success());
    is_imported_once(dir, &mut agent)
}

fn broken_off(dir: &Path) -> Outcome {
    let mut agent = started(dir, &[])?;
    let path = dir.join("bundles/x.tar");
    let tar = large().oci().tar();
    let (part, rest) = tar.split_at(tar.len() / 2);
    fs::write(&path, part)?;
    agent.wait_for_line(&["incomplete", "x.tar"], DEADLINE)?;
    File::options().append(true).open(&path)?.write_all(rest)?;
    is_imported_once(dir, &mut agent)
}

/// As a copy that makes room first leaves it when it breaks off: at the end of a file, or of the
/// archive by the look of it.
fn zeros(dir: &Path) -> Outcome {
    let mut agent = started(dir, &[])?;
    let bundles = dir.join("bundles");
    let tree = large().oci();
    let manifest = Image::small("large").layer(Layer::noise(7, 6_000_000));
    let manifest = manifest.manifest().path();
    // The manifest comes last: without it the rest is a whole archive of too little.
    let tar = tree.last(&manifest).tar();
    let shorter = large().oci().without(&manifest).tar_without_end().len();
    let cases: [(&str, Vec<u8>, usize); 3] = [
        ("a.tar", tar.clone(), tar.len() / 2),
        ("b.tar", tar.clone(), shorter),
        ("c.tar.gz", gzip(&tar), tar.len() / 3),
    ];
    for (file, content, whole) in &cases {
        let path = bundles.join(file);
        let room = File::create(&path)?;
        room.set_len(content.len() as u64)?;
        room.write_all_at(&content[..*whole], 0)?;
        drop(room);
        agent.wait_for_line(&[file, "verdict="], DEADLINE)?;
        assert_eq!(names_in(&dir.join("store")).len(), 0, "{}", agent.stderr());
    }
    for (file, content, whole) in &cases {
        let path = bundles.join(file);
        File::options()
            .write(true)
            .open(&path)?
            .write_all_at(&content[*whole..], *whole as u64)?;
    }
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    wait::until("x", DEADLINE, || {
        names_in(&dir.join("store")).contains_key(X).then_some(())
    })?;
    Ok(())
}
