//! The proxy passes everything through but what it was told to spoil.

use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::thread;

use airdock_testkit::daemon::Options;
use airdock_testkit::fixture::{Bundle, Image, Layer};
use airdock_testkit::proxy::{Call, Fault, Proxy};
use airdock_testkit::{Daemon, Need, Outcome, Suite, Version, wait};

const CTR: &[Need] = &[Need::Program("ctr")];

/// Bytes of the one layer: more than any window.
const SIZE: usize = 9_000_000;

fn main() -> ExitCode {
    let suite = Suite::new();
    let suite = add(suite, "an_import_passes_through", passes);
    let suite = add(suite, "one_call_gets_another_status", status);
    let suite = add(suite, "one_call_breaks_after_some_bytes", cut);
    let suite = add(suite, "one_call_hangs", hang);
    let suite = add(suite, "healing_cuts_what_hangs", healed_hang);
    let suite = add(suite, "a_stopped_call_goes_on_when_healed", stop);
    suite.run()
}

fn add(suite: Suite, name: &str, test: fn(&mut Daemon, &Path) -> Outcome) -> Suite {
    suite.on_containerd(Version::V1_6, Options::default(), name, CTR, test)
}

fn ctr(proxy: &Proxy, args: &[&str]) -> std::io::Result<Output> {
    let mut ctr = Command::new("ctr");
    ctr.arg("--address").arg(proxy.socket());
    ctr.args(["--namespace", "k8s.io"]).args(args).output()
}

fn import(proxy: &Proxy, dir: &Path) -> std::io::Result<Output> {
    let path = dir.join("t.tar");
    let image = Image::new().layer(Layer::noise(1, SIZE));
    Bundle::new()
        .with(&["example.com/airdock/t:1"], image)
        .oci()
        .write_tar(&path)?;
    ctr(
        proxy,
        &["images", "import", "--no-unpack", &path.to_string_lossy()],
    )
}

fn passes(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let proxy = Proxy::before(&daemon.socket())?;
    assert!(import(&proxy, dir)?.status.success());
    assert!(daemon.ctr_text(&["images", "ls"])?.contains("airdock/t:1"));
    let sent = proxy.sent("Content/Write");
    assert!(sent > SIZE as u64 && sent < SIZE as u64 * 2, "{sent}");
    let created = |call: &Call| call.path.ends_with("Images/Create");
    assert_eq!(proxy.calls().iter().filter(|call| created(call)).count(), 1);
    Ok(())
}

fn status(daemon: &mut Daemon, _dir: &Path) -> Outcome {
    let proxy = Proxy::before(&daemon.socket())?;
    let full = Fault::status("Images/List", 2, "no space left on device");
    proxy.spoil(full.nth(2));
    assert!(ctr(&proxy, &["images", "ls"])?.status.success());
    let out = ctr(&proxy, &["images", "ls"])?;
    assert!(String::from_utf8_lossy(&out.stderr).contains("no space left on device"));
    assert!(ctr(&proxy, &["images", "ls"])?.status.success());
    Ok(())
}

fn cut(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let proxy = Proxy::before(&daemon.socket())?;
    proxy.spoil(Fault::cut("Content/Write").after(1_000_000));
    assert!(!import(&proxy, dir)?.status.success());
    // `ctr` gives its lease back when it fails: what had arrived may be collected by now.
    let sent = proxy.sent("Content/Write");
    assert!(sent >= 1_000_000 && sent < SIZE as u64, "{sent}");
    assert!(!daemon.ctr_text(&["images", "ls"])?.contains("airdock/t:1"));
    assert!(import(&proxy, dir)?.status.success());
    Ok(())
}

fn hang(daemon: &mut Daemon, _dir: &Path) -> Outcome {
    let proxy = Proxy::before(&daemon.socket())?;
    proxy.spoil(Fault::hang("Images/List"));
    let out = ctr(&proxy, &["--timeout", "200ms", "images", "ls"])?;
    assert!(String::from_utf8_lossy(&out.stderr).contains("deadline"));
    proxy.spoil(Fault::hang("Images/List"));
    proxy.heal();
    assert!(ctr(&proxy, &["images", "ls"])?.status.success());
    Ok(())
}

/// Runs `ctr images import` while a fault holds it, which is healed as soon as it has struck.
fn import_held(proxy: &Proxy, dir: &Path) -> std::io::Result<Output> {
    thread::scope(|scope| {
        let import = scope.spawn(|| import(proxy, dir));
        wait::until("the fault", wait::DEADLINE, || {
            (proxy.pending() == 0).then_some(())
        })?;
        assert!(!import.is_finished());
        proxy.heal();
        let ended = import.join();
        ended.unwrap_or_else(|_| Err(std::io::Error::other("the import panicked")))
    })
}

fn healed_hang(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let proxy = Proxy::before(&daemon.socket())?;
    proxy.spoil(Fault::hang("Content/Write").after(1_000_000));
    assert!(!import_held(&proxy, dir)?.status.success());
    Ok(())
}

fn stop(daemon: &mut Daemon, dir: &Path) -> Outcome {
    let proxy = Proxy::before(&daemon.socket())?;
    for fault in [
        Fault::stop("Content/Write").after(1_000_000),
        Fault::stop("Images/Create"),
    ] {
        proxy.spoil(fault);
        assert!(import_held(&proxy, dir)?.status.success());
        daemon.ctr_text(&["images", "rm", "--sync", "example.com/airdock/t:1"])?;
    }
    Ok(())
}
