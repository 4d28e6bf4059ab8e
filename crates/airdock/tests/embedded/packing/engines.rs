//! What podman and Docker load of a bundle, and under which digests.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use airdock_testkit::containerd::Installed;
use airdock_testkit::fixture::{Bundle, Image, Target};
use airdock_testkit::needs::program;
use airdock_testkit::process::{Running, Signal};
use airdock_testkit::wait::DEADLINE;
use airdock_testkit::{Need, Outcome, Suite, Version, unpacked};

use super::readers::{image, source};
use super::{packed, write};
use crate::support::text;

const PODMAN: &[Need] = &[Need::Root, Need::Program("podman")];

const DOCKER: &[Need] = &[
    Need::Root,
    Need::Program("docker"),
    Need::Program("dockerd"),
    Need::Program("unshare"),
    Need::Containerd(CONTAINERD),
];

/// The containerd that Debian's Docker starts for itself.
const CONTAINERD: Version = Version::V1_6;

const ONE: &str = "example.com/x:one";
const TWO: &str = "example.com/y:two";

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("podman_loads_it_with_its_digest", PODMAN, podman)
        .test("podman_loads_an_index_with_its_digest", PODMAN, indexed)
        .test("podman_loads_all_that_docker_would", PODMAN, podman_all)
        .test("docker_loads_all_images_with_their_ids", DOCKER, docker)
}

/// Two images that share nothing, listed for Docker as well.
fn pair(dir: &Path) -> io::Result<PathBuf> {
    let bundle = Bundle::new()
        .with(&[ONE], image())
        .with(&[TWO], Image::small("y"));
    let (from, out) = (write(dir, "in.tar", &bundle.oci())?, dir.join("out.tar"));
    packed(&out, &from, &["--docker"]);
    Ok(out)
}

/// Names, and the digest of each one's config, which is its id for Docker and podman.
fn ids() -> [(&'static str, String); 2] {
    let id = |image: Image| image.config().digest().to_owned();
    [(ONE, id(image())), (TWO, id(Image::small("y")))]
}

/// Runs a program that must succeed; what it prints.
fn done(name: &str, args: &[&str]) -> String {
    let mut command = unpacked::command(name, &[]).expect("it is there");
    let output = command.args(args).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs podman with everything that it keeps below `dir`.
fn run_podman(dir: &Path, args: &[&str]) -> String {
    let [root, run, notes] = ["root", "run", "notes"].map(|it| dir.join("podman").join(it));
    let own = ["--root", text(&root), "--runroot", text(&run)];
    let more = ["--tmpdir", text(&notes), "--storage-driver", "vfs"];
    done("podman", &[&own[..], &more, args].concat())
}

/// What podman says of a name: the digest of what was loaded, and the image's id.
fn seen_by_podman(dir: &Path, name: &str) -> (String, String) {
    let format = "{{.Digest}} sha256:{{.Id}}";
    let said = run_podman(dir, &["image", "inspect", "--format", format, name]);
    let (digest, id) = said.trim().split_once(' ').expect("two words");
    (digest.to_owned(), id.to_owned())
}

fn podman(dir: &Path) -> Outcome {
    let out = dir.join("out.tar");
    packed(&out, &source(dir)?, &[]);
    run_podman(dir, &["load", "--input", text(&out)]);
    let (digest, id) = (Target::from(image()).digest(), ids()[0].1.clone());
    assert_eq!(seen_by_podman(dir, ONE), (digest, id));
    Ok(())
}

fn indexed(dir: &Path) -> Outcome {
    // Podman takes the image of the machine that it runs on, and so do we.
    let arch = match std::env::consts::ARCH {
        "x86_64" => "linux/amd64",
        "aarch64" => "linux/arm64",
        other => return Err(format!("no name for {other}").into()),
    };
    let [ours, foreign] = [arch, "linux/s390x"].map(|it| Image::small(it).platform(it));
    let id = ours.config().digest().to_owned();
    let index = Target::index([ours, foreign]);
    let digest = index.digest();
    let source = write(dir, "in.tar", &Bundle::new().with(&[ONE], index).oci())?;
    let out = dir.join("out.tar");
    packed(&out, &source, &["--platform", arch]);
    run_podman(dir, &["load", "--input", text(&out)]);
    assert_eq!(seen_by_podman(dir, ONE), (digest, id));
    Ok(())
}

/// Docker's list has no manifests: podman writes new ones, for the same configs.
fn podman_all(dir: &Path) -> Outcome {
    run_podman(dir, &["load", "--input", text(&pair(dir)?)]);
    for (name, id) in ids() {
        assert_eq!(seen_by_podman(dir, name).1, id, "{name}");
    }
    Ok(())
}

fn docker(dir: &Path) -> Outcome {
    let out = pair(dir)?;
    let docker = Docker::start(dir)?;
    docker.run(&["load", "--input", text(&out)]);
    for (name, id) in ids() {
        let said = docker.run(&["image", "inspect", "--format", "{{.Id}}", name]);
        assert_eq!(said.trim(), id, "{name}");
    }
    Ok(())
}

/// A Docker daemon without a network, whose mounts nobody else sees; ended when dropped.
struct Docker {
    home: PathBuf,
    host: String,
    running: Running,
}

impl Docker {
    fn start(dir: &Path) -> io::Result<Self> {
        let home = dir.join("docker");
        fs::create_dir_all(&home)?;
        let host = format!("unix://{}", text(&home.join("socket")));
        let mut running = Running::spawn(&mut command(&home, &host)?)?;
        running.wait_for_line(&["API listen on"], DEADLINE)?;
        Ok(Self {
            home,
            host,
            running,
        })
    }

    fn run(&self, args: &[&str]) -> String {
        let own = ["--config", text(&self.home), "--host", &self.host];
        done("docker", &[&own[..], args].concat())
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        // It ends its own containerd; if it doesn't, it is killed, and that one with it.
        let _ = self.running.signal(Signal::TERM);
        let _ = self.running.wait(DEADLINE);
    }
}

/// Settings and keys have fixed places, which are hidden from it.
fn command(home: &Path, host: &str) -> io::Result<Command> {
    let [root, run, pid, settings] = ["root", "run", "pid", "settings"].map(|name| home.join(name));
    fs::write(&settings, "{}")?;
    let script = "if [ -d /etc/docker ]; then mount -t tmpfs none /etc/docker || exit; fi; \
        mount -t tmpfs none /run && exec \"$@\"";
    let dockerd = program("dockerd").ok_or(io::ErrorKind::NotFound)?;
    let containerd = Installed::find(CONTAINERD).ok_or(io::ErrorKind::NotFound)?;
    let mut command = unpacked::command("unshare", &[containerd.bin])?;
    command.args(["--mount", "sh", "-c", script, "sh", text(&dockerd)]);
    command.args(["--config-file", text(&settings), "--host", host]);
    command.args(["--data-root", text(&root), "--exec-root", text(&run)]);
    command.args(["--pidfile", text(&pid), "--storage-driver", "vfs"]);
    command.args(["--bridge", "none", "--iptables=false", "--ip6tables=false"]);
    Ok(command)
}
