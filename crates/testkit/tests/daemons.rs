//! The daemons that other tests rely on: they answer, they come back, they leave nothing.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use airdock_testkit::daemon::Options;
use airdock_testkit::fixture::{Bundle, Image};
use airdock_testkit::{Daemon, Outcome, Suite, Version};

fn main() -> ExitCode {
    let suite = Suite::new()
        .on_each_containerd("imports_a_fixture", &[], imports_a_fixture)
        .on_each_containerd("imports_it_as_docker_archive", &[], imports_docker_archive)
        .on_each_containerd("keeps_its_images_when_killed", &[], keeps_its_images)
        .on_each_containerd("leaves_nothing_behind", &[], leaves_nothing_behind);
    let with_cri = Version::ALL.into_iter().fold(suite, |suite, version| {
        let options = Options::with_cri("example.com/pause:1");
        suite.on_containerd(version, options, "serves_cri", &[], serves_cri)
    });
    with_cri.run()
}

const NAME: &str = "example.com/airdock/t:1";

fn import(daemon: &Daemon, dir: &Path) -> std::io::Result<Image> {
    let image = Image::small("t");
    let path = dir.join("t.tar");
    Bundle::new()
        .with(&[NAME], image.clone())
        .oci()
        .write_tar(&path)?;
    daemon.ctr_text(&["images", "import", &path.to_string_lossy()])?;
    Ok(image)
}

fn imports_a_fixture(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let image = import(daemon, dir)?;
    let listed = daemon.ctr_text(&["images", "ls"])?;
    assert!(listed.contains(NAME), "{listed}");
    let content = daemon.ctr_text(&["content", "ls", "-q"])?;
    for blob in image.blobs() {
        assert!(content.contains(blob.digest()), "{content}");
    }
    Ok(())
}

fn imports_docker_archive(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let path = dir.join("t.tar");
    let bundle = Bundle::new().with(&[NAME], Image::small("t"));
    bundle.docker().write_tar(&path)?;
    daemon.ctr_text(&["images", "import", &path.to_string_lossy()])?;
    let check = daemon.ctr_text(&["images", "check"])?;
    let complete = |line: &str| line.contains(NAME) && line.contains("complete");
    assert!(check.lines().any(complete), "{check}");
    Ok(())
}

fn keeps_its_images(daemon: &mut Daemon, dir: &Path) -> Outcome {
    import(daemon, dir)?;
    daemon.kill()?;
    daemon.restart()?;
    assert!(daemon.ctr_text(&["images", "ls", "-q"])?.contains(NAME));
    Ok(())
}

fn leaves_nothing_behind(daemon: &mut Daemon, _dir: &Path) -> Outcome {
    let mut other = Daemon::start(daemon.version())?;
    let home = other.home().to_owned();
    other.restart()?;
    drop(other);
    assert!(!home.exists());
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    assert!(!mounts.contains(&*home.to_string_lossy()));
    assert!(daemon.ctr_text(&["version"])?.contains("Server"));
    Ok(())
}

fn serves_cri(daemon: &mut Daemon, _dir: &Path) -> Outcome {
    let plugins = daemon.ctr_text(&["plugins", "ls"])?;
    let mut cri = plugins.lines().filter(|line| line.contains("cri"));
    assert!(
        cri.clone().next().is_some() && cri.all(|line| line.contains("ok")),
        "{plugins}"
    );
    Ok(())
}
