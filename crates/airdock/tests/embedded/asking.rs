//! What a running agent answers, and what scripts can rely on.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use airdock_testkit::fixture::{Bundle, Image};
use airdock_testkit::process::{Ended, Running, Signal};
use airdock_testkit::{Need, Outcome, Suite};
use serde_json::Value;

use crate::support::{AIRDOCK, DEADLINE, airdock, digest_of, small, text, watch};

const X: &str = "docker.io/library/x:1";

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .test("wait_returns_when_a_copied_bundle_is_imported", &[], waits)
        .test("wait_tells_refused_from_late_from_absent", &[], endings)
        .test("without_an_agent_questions_say_so", &[], no_agent)
        .test("wait_with_a_timeout_waits_for_the_agent_too", &[], late)
        .test("wait_tells_what_keeps_it", &[], kept)
        .test(
            "wait_for_all_does_not_vouch_for_what_is_not_looked_at",
            &[],
            unlooked,
        )
        .test("status_lists_store_sources_and_bundles", &[], status)
        .test("status_says_that_earlier_images_stay", &[], earlier)
        .test("images_lists_names_with_their_bundles", &[], images)
        .test("why_explains_what_is_here", &[], why_present)
        .test("why_explains_what_is_not", &[], why_absent)
        .test(
            "the_socket_is_closed_to_others_and_goes_with_the_agent",
            &[],
            socket,
        )
        .test("a_group_is_let_in_by_its_name", &[Need::Root], group)
        .test("events_are_a_line_each", &[], events)
        .test(
            "metrics_and_health_are_served_on_loopback_alone",
            &[],
            metrics,
        )
        .test(
            "a_name_that_is_not_utf_8_is_told_and_not_looked_at",
            &[],
            not_utf_8,
        )
        .test("a_socket_that_is_served_is_not_taken_over", &[], taken)
}

fn started(dir: &Path) -> std::io::Result<Running> {
    fs::create_dir_all(dir.join("bundles"))?;
    let mut agent = watch(dir, &[]);
    agent.wait_for_line(&["the store answers"], DEADLINE)?;
    Ok(agent)
}

fn socket_of(dir: &Path) -> std::path::PathBuf {
    dir.join("state/airdock.sock")
}

fn ask(dir: &Path, args: &[&str]) -> Ended {
    let socket = socket_of(dir);
    airdock(&[args, &["--socket", text(&socket)]].concat())
}

fn ask_json(dir: &Path, args: &[&str]) -> Value {
    let ended = ask(dir, &[args, &["--output", "json"]].concat());
    let document = serde_json::from_str(&ended.stdout);
    document.unwrap_or_else(|e| panic!("{e}: {} {}", ended.stdout, ended.stderr))
}

fn put(dir: &Path, file: &str, bundle: &Bundle) -> std::io::Result<()> {
    let beside = dir.join(format!("beside-{file}"));
    bundle.oci().write_tar(&beside)?;
    fs::rename(beside, dir.join("bundles").join(file))
}

fn waits(dir: &Path) -> Outcome {
    let _agent = started(dir)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    let path = dir.join("bundles/x.tar");
    for what in [
        vec![text(&path)],
        vec!["x.tar"],
        vec!["--image", "x:1"],
        vec!["--all"],
    ] {
        let ended = ask(dir, &[&["wait"], &what[..]].concat());
        assert_eq!(
            (ended.code, ended.stdout.trim()),
            (0, "imported"),
            "{what:?}"
        );
    }
    // The content that is on disk now: not what was imported before.
    put(dir, "x.tar", &small("x:1", "two"))?;
    assert_eq!(ask(dir, &["wait", "x.tar"]).code, 0);
    assert_eq!(
        crate::support::names_in(&dir.join("store"))[X],
        digest_of("two")
    );
    Ok(())
}

fn endings(dir: &Path) -> Outcome {
    let _agent = started(dir)?;
    fs::write(dir.join("bundles/page.tar"), "<!DOCTYPE html><html></html>")?;
    let mut slow = File::create(dir.join("bundles/slow.tar"))?;
    slow.write_all(b"x")?;
    let partial = Bundle::new()
        .with(&["good:1"], Image::small("good"))
        .with(&["Bad:1"], Image::small("bad"));
    put(dir, "partial.tar", &partial)?;
    for (args, code, word) in [
        (&["page.tar"][..], 7, "refused: "),
        (&["slow.tar", "--timeout", "0.5"], 13, "settling"),
        (&["partial.tar"], 3, "imported: "),
        (&["nothing.tar"], 15, "absent: "),
        (&["--all", "--timeout", "0.5"], 13, "settling"),
    ] {
        let ended = ask(dir, &[&["wait"], args].concat());
        assert_eq!(
            ended.code, code,
            "{args:?}: {}{}",
            ended.stdout, ended.stderr
        );
        assert!(ended.stdout.starts_with(word), "{args:?}: {}", ended.stdout);
    }
    drop(slow);
    assert_eq!(ask(dir, &["wait", "slow.tar"]).code, 6, "cut short");
    let ended = ask(dir, &["wait", "--image", "nowhere:1"]);
    assert_eq!(ended.code, 15, "{}", ended.stdout);
    Ok(())
}

fn no_agent(dir: &Path) -> Outcome {
    for args in [
        &["status"][..],
        &["images"],
        &["wait", "--all"],
        &["why", "x:1"],
    ] {
        let ended = ask(dir, args);
        assert_eq!(ended.code, 14, "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("airdock watch"), "{}", ended.stderr);
    }
    Ok(())
}

/// Who says how long to wait may ask before the agent is there.
fn late(dir: &Path) -> Outcome {
    let ended = ask(dir, &["wait", "--all", "--timeout", "0.3"]);
    assert_eq!(ended.code, 14, "{}", ended.stderr);
    let socket = socket_of(dir);
    let args = ["wait", "--image", "x:1", "--timeout", "60"];
    let args = [&args[..], &["--socket", text(&socket)]].concat();
    let mut waiting = Running::start(AIRDOCK, &args)?;
    waiting.wait_for_line(&["no agent answers", "; waiting for it"], DEADLINE)?;
    fs::create_dir_all(dir.join("bundles"))?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    let _agent = started(dir)?;
    let ended = waiting.end(DEADLINE)?;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(ended.stdout, "imported\n");
    Ok(())
}

/// Who waits without an end hears why it takes so long.
fn kept(dir: &Path) -> Outcome {
    fs::create_dir_all(dir.join("bundles"))?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    let _agent = watch(dir, &["--reserve", "1000000000"]);
    let socket = socket_of(dir);
    let args = [
        "wait",
        "x.tar",
        "--timeout",
        "60",
        "--socket",
        text(&socket),
    ];
    let mut waiting = Running::start(AIRDOCK, &args)?;
    waiting.wait_for_line(&["failing: ", "free"], DEADLINE)?;
    assert!(!waiting.has_ended());
    Ok(())
}

fn unlooked(dir: &Path) -> Outcome {
    fs::create_dir_all(dir.join("bundles"))?;
    let disk = dir.join("disk");
    let mut agent = watch(dir, &[text(&disk)]);
    agent.wait_for_line(&["the store answers"], DEADLINE)?;
    let waits = |timeout, code, words: &str| {
        let ended = ask(dir, &["wait", "--all", "--timeout", timeout]);
        assert_eq!(ended.code, code, "{words}: {}", ended.stdout);
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    };
    waits("0", 16, "disk: ");
    fs::create_dir(&disk)?;
    waits("60", 0, "imported");
    fs::set_permissions(&disk, fs::Permissions::from_mode(0o777))?;
    waits("60", 7, "can be written by everybody");
    fs::set_permissions(&disk, fs::Permissions::from_mode(0o755))?;
    waits("60", 0, "imported");
    fs::write(disk.join(std::ffi::OsStr::from_bytes(b"caf\xe9.tar")), "x")?;
    waits("60", 8, "is not looked at");
    Ok(())
}

fn status(dir: &Path) -> Outcome {
    let agent = started(dir)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    assert_eq!(ask(dir, &["wait", "--all"]).code, 0);
    let shown = ask(dir, &["status"]).stdout;
    for part in [
        &agent.pid().to_string(),
        "reachable",
        "watched, 1 bundle",
        "x.tar",
        "imported",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "no colour where nobody looks");
    let document = ask_json(dir, &["status"]);
    assert_eq!(document["version"], 1);
    assert_eq!(document["agent"]["ready"], true);
    assert_eq!(document["store"]["state"], "reachable");
    let bundle = &document["bundles"][0];
    assert_eq!(bundle["state"], "imported");
    assert_eq!(bundle["verdict"], "ok");
    assert_eq!(ask_json(dir, &["status", "x.tar"]), *bundle);
    assert_eq!(ask(dir, &["status", "y.tar"]).code, 15);
    Ok(())
}

fn earlier(dir: &Path) -> Outcome {
    let _agent = started(dir)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    assert_eq!(ask(dir, &["wait", "x.tar"]).code, 0);
    let beside = dir.join("beside");
    fs::write(&beside, "<html></html>")?;
    fs::rename(beside, dir.join("bundles/x.tar"))?;
    assert_eq!(ask(dir, &["wait", "x.tar"]).code, 7);
    let shown = ask(dir, &["status", "x.tar"]).stdout;
    assert!(
        shown.contains("refused") && shown.contains("HTML"),
        "{shown}"
    );
    assert!(
        shown.contains("images of its last good version stay"),
        "{shown}"
    );
    assert!(shown.contains(X), "{shown}");
    Ok(())
}

fn images(dir: &Path) -> Outcome {
    let _agent = started(dir)?;
    put(dir, "a.tar", &small("x:1", "one"))?;
    assert_eq!(ask(dir, &["wait", "a.tar"]).code, 0);
    put(dir, "b.tar", &small("x:1", "one"))?;
    assert_eq!(ask(dir, &["wait", "b.tar"]).code, 0);
    let images = ask_json(dir, &["images"]);
    assert_eq!(images[0]["name"], X);
    assert_eq!(images[0]["digest"], digest_of("one"));
    let bundles = images[0]["bundles"].as_array().expect("bundles");
    assert_eq!(bundles.len(), 2, "{images}");
    assert!(ask(dir, &["images"]).stdout.contains(X));
    Ok(())
}

fn why_present(dir: &Path) -> Outcome {
    let _agent = started(dir)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    assert_eq!(ask(dir, &["wait", "--all"]).code, 0);
    let ended = ask(dir, &["why", "x:1"]);
    assert_eq!(ended.code, 0);
    for part in [X, "x.tar", &digest_of("one")] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    Ok(())
}

fn why_absent(dir: &Path) -> Outcome {
    let _agent = started(dir)?;
    let bundle = Bundle::new()
        .with(&["team/server:1.2.3"], Image::small("one"))
        .with(&["bad:1"], Image::small("bad"));
    let layer = Image::small("bad").layers()[0].blob().path();
    bundle
        .oci()
        .without(&layer)
        .write_tar(&dir.join("beside"))?;
    fs::rename(dir.join("beside"), dir.join("bundles/x.tar"))?;
    assert_eq!(ask(dir, &["wait", "--all"]).code, 3);
    let near = ask(dir, &["why", "team/server:1.2.4"]);
    assert_eq!(near.code, 15);
    assert!(
        near.stdout
            .contains("perhaps docker.io/team/server:1.2.3 is meant"),
        "{}",
        near.stdout
    );
    let refused = ask(dir, &["why", "bad:1"]);
    assert_eq!(refused.code, 7, "{}", refused.stdout);
    assert!(refused.stdout.contains("is refused"), "{}", refused.stdout);
    let spelt = ask(dir, &["why", "Team/Server"]);
    assert!(spelt.stdout.contains("is not a name"), "{}", spelt.stdout);
    Ok(())
}

fn socket(dir: &Path) -> Outcome {
    let mut agent = started(dir)?;
    let socket = socket_of(dir);
    let mode = fs::metadata(&socket)?.permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let state: Vec<_> = fs::read_dir(dir.join("state"))?
        .filter_map(Result::ok)
        .collect();
    assert!(
        state
            .iter()
            .all(|e| !e.file_name().to_string_lossy().contains("airdock.1"))
    );
    agent.signal(Signal::TERM)?;
    agent.wait(DEADLINE)?;
    assert!(!socket.exists());
    Ok(())
}

fn group(dir: &Path) -> Outcome {
    let groups = fs::read_to_string("/etc/group")?;
    let fields = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        Some((name, fields.nth(1)?.parse::<u32>().ok()?))
    };
    let (name, id) = groups
        .lines()
        .filter_map(fields)
        .find(|(_, id)| *id > 0)
        .ok_or("no group")?;
    fs::create_dir_all(dir.join("bundles"))?;
    let mut agent = watch(dir, &["--socket-group", &name]);
    agent.wait_for_line(&["the store answers"], DEADLINE)?;
    let socket = fs::metadata(socket_of(dir))?;
    assert_eq!((socket.gid(), socket.mode() & 0o777), (id, 0o660), "{name}");
    drop(agent);
    let mut unknown = watch(dir, &["--socket-group", "no-such-group"]);
    assert_eq!(unknown.wait(DEADLINE)?.code(), Some(1));
    Ok(())
}

fn events(dir: &Path) -> Outcome {
    let _agent = started(dir)?;
    let mut stream = UnixStream::connect(socket_of(dir))?;
    stream.set_read_timeout(Some(DEADLINE))?;
    stream.write_all(b"GET /v1/events HTTP/1.1\r\nHost: airdock\r\n\r\n")?;
    let mut heard = String::new();
    let mut buffer = [0; 4096];
    // The answer's head says that somebody listens: from here on nothing is missed.
    while !heard.contains("\r\n\r\n") {
        let read = stream.read(&mut buffer)?;
        heard.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    put(dir, "x.tar", &small("x:1", "one"))?;
    while !heard.contains(r#""event":"loaded""#) {
        let read = stream.read(&mut buffer)?;
        heard.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    assert!(heard.contains(r#""event":"image_imported""#), "{heard}");
    assert!(heard.contains(&digest_of("one")), "{heard}");
    Ok(())
}

fn metrics(dir: &Path) -> Outcome {
    fs::create_dir_all(dir.join("bundles"))?;
    let mut open = watch(dir, &["--metrics", "0.0.0.0:1"]);
    assert_eq!(open.wait(DEADLINE)?.code(), Some(1));
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let address = format!("127.0.0.1:{port}");
    let mut agent = watch(dir, &["--metrics", &address]);
    agent.wait_for_line(&["the store answers"], DEADLINE)?;
    put(dir, "x.tar", &small("x:1", "one"))?;
    fs::write(dir.join("bundles/page.tar"), "<html></html>")?;
    ask(dir, &["wait", "--all"]);
    let get = |path: &str| -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&address)?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: airdock\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    assert!(get("/healthz")?.starts_with("HTTP/1.1 200"));
    assert!(get("/readyz")?.starts_with("HTTP/1.1 200"));
    let text = get("/metrics")?;
    for line in [
        "airdock_bundles{state=\"imported\"} 1",
        "airdock_bundles{state=\"refused\"} 1",
        "airdock_images{state=\"imported\"} 1",
        "airdock_store_reachable 1",
        "airdock_errors_total{kind=\"refused\"} 1",
        "airdock_import_seconds_count 1",
        "# EOF",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("airdock_bytes_sent_total 0"), "{text}");
    Ok(())
}

fn taken(dir: &Path) -> Outcome {
    let _agent = started(dir)?;
    let other = dir.join("other");
    fs::create_dir_all(other.join("bundles"))?;
    let socket = socket_of(dir);
    let mut second = watch(&other, &["--socket", text(&socket)]);
    assert_eq!(second.wait(DEADLINE)?.code(), Some(1));
    assert_eq!(ask(dir, &["status"]).code, 0, "the first still answers");
    Ok(())
}

fn not_utf_8(dir: &Path) -> Outcome {
    let mut agent = started(dir)?;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.tar");
    fs::write(dir.join("bundles").join(name), "x")?;
    agent.wait_for_line(&["not UTF-8", r"caf\xe9.tar"], DEADLINE)?;
    let source = &ask_json(dir, &["status"])["sources"][0];
    let path = format!(r"{}/caf\xe9.tar", text(&dir.join("bundles")));
    assert_eq!(source["not_utf8"], serde_json::json!([path]));
    drop(agent);
    let once = watch(dir, &["--once"]).wait(DEADLINE)?;
    assert_eq!(once.code(), Some(8), "it may hold images that a node needs");
    Ok(())
}
