//! What the commands print for people and for programs, as it is: a change of it is seen in a
//! review.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use airdock_testkit::daemon::Options;
use airdock_testkit::fixture::{Bundle, Image, Layer};
use airdock_testkit::process::{Ended, run};
use airdock_testkit::proxy::{Fault, Proxy};
use airdock_testkit::{Daemon, Need, Outcome, Suite, Version, wait};

use crate::snapshot::{becomes, compare};
use crate::support::{
    AIRDOCK, DEADLINE, put, small, started, status, store_of, text, watch, watch_through,
};

pub(crate) fn tests(suite: Suite) -> Suite {
    let suite = suite
        .on_each_containerd("what_an_agent_tells_reads_well", &[], asking)
        .on_each_containerd("what_waits_for_the_store_reads_well", &[], cut_off)
        .on_each_containerd(
            "what_a_store_showed_before_it_went_reads_well",
            &[],
            cut_off_later,
        )
        .on_each_containerd("what_does_not_fit_reads_well", &[], no_space)
        .on_each_containerd("what_is_under_way_reads_well", &[], under_way)
        .on_each_containerd(
            "a_watched_status_is_drawn_anew_on_a_terminal",
            &[Need::Program("script")],
            watched,
        )
        .on_each_containerd("what_needs_no_agent_reads_well", &[], without_agent);
    Version::ALL.into_iter().fold(suite, |suite, version| {
        let options = Options::with_cri("example.com/airdock/pause:1");
        let name = "what_the_doctor_finds_reads_well";
        suite.on_containerd(version, options, name, &[], doctor)
    })
}

/// Runs the program, and compares all that it says.
#[track_caller]
fn shows(name: &str, dir: &Path, daemon: &Daemon, args: &[&str]) {
    let shown = said(&run(AIRDOCK, args).expect("airdock starts"));
    let socket = daemon.socket();
    let home = socket.parent().expect("a socket is in a folder");
    compare(name, &shown, &[(dir, "[DIR]"), (home, "[HOME]")]);
}

/// The same for what an agent says in the end.
#[track_caller]
fn comes_to_show(name: &str, dir: &Path, daemon: &Daemon, args: &[&str]) {
    let say = || said(&run(AIRDOCK, args).expect("airdock starts"));
    let socket = daemon.socket();
    let home = socket.parent().expect("a socket is in a folder");
    becomes(name, &[(dir, "[DIR]"), (home, "[HOME]")], say);
}

fn said(ended: &Ended) -> String {
    let Ended {
        code,
        stdout,
        stderr,
    } = ended;
    format!("{stdout}{stderr}exit status {code}\n")
}

/// Asks the agent for a table and for JSON.
#[track_caller]
fn asks(name: &str, dir: &Path, daemon: &Daemon, args: &[&str]) {
    let socket = dir.join("state/airdock.sock");
    let args = [args, &["--socket", text(&socket)]].concat();
    comes_to_show(name, dir, daemon, &args);
    let args = [&args[..], &["--output", "json"]].concat();
    comes_to_show(&format!("{name}.json"), dir, daemon, &args);
}

fn ask(dir: &Path, args: &[&str]) -> std::io::Result<Ended> {
    let socket = dir.join("state/airdock.sock");
    run(AIRDOCK, &[args, &["--socket", text(&socket)]].concat())
}

/// Puts a bundle and waits for its end: the next one comes later.
fn bring(dir: &Path, file: &str, bundle: &Bundle) -> Outcome {
    put(dir, file, bundle)?;
    ask(dir, &["wait", file])?;
    Ok(())
}

fn elsewhere() -> Bundle {
    Bundle::new().with(
        &["elsewhere:1"],
        Image::small("there").platform("linux/s390x"),
    )
}

/// A bundle with one good image, and one that lacks its layer.
fn half() -> (Bundle, String) {
    let bad = Image::small("bad");
    let layer = bad.layers()[0].blob().path();
    let bundle = Bundle::new().with(&["good:1"], Image::small("good"));
    (bundle.with(&["bad:1"], bad), layer)
}

/// A directory with a bundle of each kind, all at rest but `slow.tar`, which is being written.
fn of_each_kind(daemon: &Daemon, dir: &Path) -> Result<File, Box<dyn std::error::Error>> {
    let bundles = dir.join("bundles");
    let server = Bundle::new()
        .with(&["team/server:1.2.3", "x:1"], Image::small("one"))
        .with(&["secret:1"], Image::small("two"));
    let taken = dir.join("taken.tar");
    small("docker.io/library/taken:1", "foreign")
        .oci()
        .write_tar(&taken)?;
    daemon.ctr_text(&["images", "import", "--no-unpack", text(&taken)])?;
    let bring = |file: &str, bundle: &Bundle| {
        bring(dir, file, bundle).map_err(|failed| failed.message().unwrap_or("").to_owned())
    };
    bring("server.tar", &server)?;
    bring("later.tar", &small("x:1", "later"))?;
    bring("taken.tar", &small("taken:1", "ours"))?;
    bring("elsewhere.tar", &elsewhere())?;
    bring(
        "unnamed.tar",
        &Bundle::new().with(&[], Image::small("nameless")),
    )?;
    bring("gone.tar", &small("gone:1", "gone"))?;
    let (half, layer) = half();
    half.oci()
        .without(&layer)
        .write_tar(&dir.join("half.tar"))?;
    fs::rename(dir.join("half.tar"), bundles.join("half.tar"))?;
    let cut = small("cut:1", "cut").oci().tar_without_end();
    fs::write(dir.join("cut.tar"), cut)?;
    fs::rename(dir.join("cut.tar"), bundles.join("cut.tar"))?;
    fs::write(bundles.join("page.tar"), "<!DOCTYPE html><html></html>")?;
    fs::write(
        bundles.join(std::ffi::OsStr::from_bytes(b"caf\xe9.tar")),
        "x",
    )?;
    ask(dir, &["wait", "--all"])?;
    fs::remove_file(bundles.join("gone.tar"))?;
    let mut slow = File::create(bundles.join("slow.tar"))?;
    slow.write_all(b"x")?;
    Ok(slow)
}

const WITH_RULES: [&str; 6] = [
    "--deny",
    "*/secret:*",
    "--on-conflict",
    "keep",
    "--release-grace",
    "3600",
];

fn asking(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let _agent = started(daemon, dir, &WITH_RULES)?;
    let slow = of_each_kind(daemon, dir).map_err(|error| error.to_string())?;
    for (name, args) in [
        ("status", &["status"][..]),
        ("status-imported", &["status", "server.tar"]),
        ("status-partial", &["status", "half.tar"]),
        ("status-unknown", &["status", "nothing.tar"]),
        ("images", &["images"]),
        ("wait-imported", &["wait", "server.tar"]),
        ("wait-image", &["wait", "--image", "x:1"]),
        ("wait-refused", &["wait", "page.tar"]),
        ("wait-incomplete", &["wait", "cut.tar"]),
        ("wait-partial", &["wait", "half.tar"]),
        ("wait-absent", &["wait", "nothing.tar"]),
        ("wait-timeout", &["wait", "--all", "--timeout", "0"]),
        (
            "wait-another",
            &["wait", "--image", "taken:1", "--timeout", "0"],
        ),
        ("why-here", &["why", "team/server:1.2.3"]),
        ("why-two-bundles", &["why", "x:1"]),
        ("why-refused", &["why", "bad:1"]),
        ("why-other-platform", &["why", "elsewhere:1"]),
        ("why-left-out", &["why", "secret:1"]),
        ("why-another", &["why", "taken:1"]),
        ("why-unknown", &["why", "team/server:1.2.4"]),
        ("why-no-name", &["why", "Team/Server"]),
    ] {
        asks(name, dir, daemon, args);
    }
    drop(slow);
    Ok(())
}

fn cut_off(daemon: &mut Daemon, dir: &Path) -> Outcome {
    daemon.stop()?;
    let mut agent = watch(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["the store does not answer"], DEADLINE)?;
    asks("status-cut-off", dir, daemon, &["status"]);
    asks(
        "wait-cut-off",
        dir,
        daemon,
        &["wait", "--all", "--timeout", "0"],
    );
    asks("why-cut-off", dir, daemon, &["why", "x:1"]);
    Ok(())
}

fn cut_off_later(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &[])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    daemon.stop()?;
    agent.wait_for_line(&["the store does not answer"], DEADLINE)?;
    asks("why-cut-off-later", dir, daemon, &["why", "x:1"]);
    asks(
        "wait-cut-off-later",
        dir,
        daemon,
        &["wait", "x.tar", "--timeout", "0"],
    );
    Ok(())
}

/// MiB that no disk has.
const ALL_SPACE: &str = "1000000000";

fn no_space(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let mut agent = started(daemon, dir, &["--reserve", ALL_SPACE])?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    agent.wait_for_line(&["failed; will be tried again"], DEADLINE)?;
    asks("status-no-space", dir, daemon, &["status"]);
    asks(
        "wait-no-space",
        dir,
        daemon,
        &["wait", "x.tar", "--timeout", "0"],
    );
    Ok(())
}

fn under_way(daemon: &mut Daemon, dir: &Path) -> Outcome {
    const LAYER: usize = 40_000_000;
    const PASSES: u64 = 34 * 1024 * 1024;
    const TOLD: u64 = 32 * 1024 * 1024;
    let proxy = Proxy::before(&daemon.socket())?;
    let _agent = watch_through(&proxy, dir, &[])?;
    proxy.spoil(Fault::stop("Content/Write").after(PASSES));
    let image = Image::new().layer(Layer::noise(1, LAYER));
    put(dir, "x.tar", &Bundle::new().with(&["x:1"], image))?;
    wait::until("the middle of the layer", DEADLINE, || {
        let status = status(dir)?;
        let done = status["bundles"][0]["bytes_done"].as_u64()?;
        (done >= TOLD).then_some(())
    })?;
    let socket = dir.join("state/airdock.sock");
    let args = ["status", "--socket", text(&socket)];
    let shown = said(&run(AIRDOCK, &args)?);
    let proxied = proxy.socket();
    let home = proxied.parent().expect("a socket is in a folder");
    compare(
        "status-importing",
        &shown,
        &[(dir, "[DIR]"), (home, "[HOME]")],
    );
    proxy.heal();
    assert_eq!(ask(dir, &["wait", "--all"])?.code, 0);
    Ok(())
}

fn watched(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let _agent = started(daemon, dir, &[])?;
    bring(dir, "x.tar", &small("x:1", "one"))?;
    let socket = dir.join("state/airdock.sock");
    let command = format!("{AIRDOCK} status --watch --socket {}", text(&socket));
    let args = ["-qec", &command, "/dev/null"];
    let terminal = airdock_testkit::process::Running::start("script", &args)?;
    let frames = wait::until("two frames", DEADLINE, || {
        let shown = terminal.stdout().replace("\r\n", "\n");
        (shown.matches("\u{1b}[2J").count() > 2).then_some(shown)
    })?;
    let frame = frames
        .split("\u{1b}[H\u{1b}[2J\n")
        .nth(1)
        .unwrap_or_default();
    let colourless = frame
        .replace("\u{1b}[38;5;10m", "[GREEN]")
        .replace("\u{1b}[39m", "[/]");
    let home = daemon.socket();
    let home = home.parent().expect("a socket is in a folder");
    compare(
        "status-watched",
        &colourless,
        &[(dir, "[DIR]"), (home, "[HOME]")],
    );
    Ok(())
}

fn without_agent(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let bundles = dir.join("bundles");
    fs::create_dir(&bundles)?;
    let both = |name: &str, args: &[&str]| {
        shows(name, dir, daemon, args);
        let json = [args, &["--output", "json"]].concat();
        shows(&format!("{name}.json"), dir, daemon, &json);
    };
    let (half, layer) = half();
    let half_tar = bundles.join("half.tar");
    half.oci().without(&layer).write_tar(&half_tar)?;
    let whole = bundles.join("whole.tar");
    small("x:1", "one").oci().write_tar(&whole)?;
    fs::write(bundles.join("page.tar"), "<!DOCTYPE html><html></html>")?;
    let store = store_of(daemon);
    let amd64 = ["--store", &store, "--platform", "linux/amd64"];
    let with = |args: &[&'static str], path: &Path| -> Vec<String> {
        let args = args.iter().map(|arg| (*arg).to_owned());
        args.chain([text(path).to_owned()]).collect()
    };
    for (name, command, path) in [
        ("plan", &["plan"][..], &bundles),
        ("inspect", &["inspect"], &half_tar),
        ("inspect-quick", &["inspect", "--quick"], &whole),
        ("verify", &["verify"], &half_tar),
        ("load", &["load"], &whole),
        ("load-again", &["load"], &whole),
        ("plan-again", &["plan"], &whole),
    ] {
        let args = with(command, path);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        both(name, &[&args[..], &amd64].concat());
    }
    let config = dir.join("airdock.toml");
    fs::write(&config, CONFIG.replace("DIR", text(dir)))?;
    both(
        "config-show",
        &[
            "config",
            "show",
            "--reserve",
            "7",
            "--config",
            text(&config),
        ],
    );
    Ok(())
}

const CONFIG: &str = r#"distro = "k3s"
reserve = 512

[log]
level = "debug"

[[source]]
path = "DIR/bundles"
priority = 1
deny = ["*/secret:*"]
"#;

fn doctor(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let series = daemon.version().as_str().replace('.', "_");
    let (store, bundles) = (store_of(daemon), dir.join("bundles"));
    let socket = dir.join("state/airdock.sock");
    let args = [
        "doctor",
        text(&bundles),
        "--store",
        &store,
        "--socket",
        text(&socket),
    ];
    shows(&format!("doctor-{series}"), dir, daemon, &args);
    let _agent = started(daemon, dir, &[])?;
    let json = [&args[..], &["--output", "json"]].concat();
    comes_to_show(&format!("doctor-{series}.json"), dir, daemon, &json);
    Ok(())
}
