//! A pod runs from images that `ctr` imported: what the end-to-end test builds on.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use airdock_testkit::daemon::Options;
use airdock_testkit::pods::Kubelet;
use airdock_testkit::{Daemon, Outcome, Suite, Version, examples};

fn main() -> ExitCode {
    let suite = Suite::new();
    let suite = with_cri(suite, "a_pod_prints_its_line", prints_its_line);
    let suite = with_cri(suite, "nothing_is_pulled", nothing_is_pulled);
    let suite = with_cri(
        suite,
        "a_running_pod_goes_with_its_daemon",
        goes_with_its_daemon,
    );
    suite.run()
}

fn with_cri(suite: Suite, name: &str, run: fn(&mut Daemon, &Path) -> Outcome) -> Suite {
    Version::ALL.into_iter().fold(suite, |suite, version| {
        let options = Options::with_cri(examples::PAUSE);
        suite.on_containerd(version, options, name, &[], run)
    })
}

fn import(daemon: &Daemon) -> std::io::Result<Kubelet> {
    let bundle = examples::folder().join("pod.tar");
    daemon.ctr_text(&["images", "import", &bundle.to_string_lossy()])?;
    let kubelet = Kubelet::connect(daemon)?;
    for name in [examples::HELLO, examples::PAUSE] {
        kubelet.wait_for_image(name)?;
    }
    Ok(kubelet)
}

fn prints_its_line(daemon: &mut Daemon, _dir: &Path) -> Outcome {
    let ran = import(daemon)?.run("hello", examples::HELLO)?;
    assert_eq!(ran.code, 0);
    assert!(ran.log.contains("hello from an image"), "{}", ran.log);
    Ok(())
}

fn nothing_is_pulled(daemon: &mut Daemon, _dir: &Path) -> Outcome {
    let kubelet = Kubelet::connect(daemon)?;
    assert_eq!(kubelet.image(examples::HELLO)?, None);
    let error = kubelet.run("hello", examples::HELLO).err();
    let message = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(message.contains("isn't present"), "{message}");
    Ok(())
}

fn goes_with_its_daemon(daemon: &mut Daemon, _dir: &Path) -> Outcome {
    let options = Options::with_cri(examples::PAUSE);
    let other = Daemon::start_with(daemon.version(), options)?;
    import(&other)?.start("held", examples::PAUSE)?;
    let (home, tag) = (other.home().to_owned(), other.tag());
    assert!(
        mentioned(&tag)?,
        "the pod has no mount: nothing is shown by its absence"
    );
    drop(other);
    assert!(!home.exists());
    assert!(!mentioned(&tag)?);
    for group in ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"] {
        assert!(!Path::new(group).join(&tag).exists(), "{group} has {tag}");
    }
    Ok(())
}

/// Whether a mount, the arguments of a process, or a note of the network holds this text.
fn mentioned(text: &str) -> std::io::Result<bool> {
    let processes = fs::read_dir("/proc")?.filter_map(Result::ok);
    let arguments = processes.map(|process| process.path().join("cmdline"));
    let notes = fs::read_dir("/var/lib/cni/results")?.filter_map(Result::ok);
    let files = arguments.chain(notes.map(|note| note.path()));
    let mut files = files.chain(["/proc/self/mountinfo".into()]);
    Ok(files.any(|file| {
        let content = fs::read(file).unwrap_or_default();
        String::from_utf8_lossy(&content).contains(text)
    }))
}
