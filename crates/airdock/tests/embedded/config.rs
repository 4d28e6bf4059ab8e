//! Settings: where they come from, what they do, and that they can be changed while the agent
//! runs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use airdock_testkit::fixture::{Bundle, Image};
use airdock_testkit::process::{Running, Signal};
use airdock_testkit::{Outcome, Suite, wait};

use crate::support::{AIRDOCK, DEADLINE, airdock, digest_of, names_in, small, store_of, text};

const X: &str = "docker.io/library/x:1";
const Y: &str = "docker.io/library/y:1";

pub(crate) fn tests(suite: Suite) -> Suite {
    let suite = files(suite);
    let suite = reloads(suite);
    let suite = sources(suite);
    permissions(suite)
}

fn files(suite: Suite) -> Suite {
    suite
        .test(
            "a_flag_wins_over_the_environment_and_that_over_the_file",
            &[],
            precedence,
        )
        .test("the_settings_are_shown_as_a_file", &[], shown)
        .test("a_file_is_checked_before_it_is_used", &[], checked)
        .test("a_file_that_was_named_must_exist", &[], named)
        .test("the_example_is_printed", &[], example)
        .test("a_misspelt_key_is_told_in_the_log", &[], misspelt)
}

fn reloads(suite: Suite) -> Suite {
    suite
        .test("a_good_file_is_taken_over_on_a_signal", &[], good_reload)
        .test("a_bad_file_keeps_the_old_settings", &[], bad_reload)
        .test("what_needs_a_restart_is_told", &[], needs_restart)
}

fn sources(suite: Suite) -> Suite {
    suite
        .test(
            "bundles_of_the_most_important_source_come_first",
            &[],
            priority,
        )
        .test("a_recursive_source_is_looked_into", &[], recursive)
        .test("a_source_is_not_looked_into_unasked", &[], flat)
        .test(
            "names_that_are_not_allowed_are_left_out_until_they_are",
            &[],
            left_out,
        )
}

fn permissions(suite: Suite) -> Suite {
    suite
        .test("a_directory_that_others_may_write_is_not_used", &[], open)
        .test(
            "a_bundle_that_others_may_write_is_refused",
            &[],
            open_bundle,
        )
        .test(
            "a_bundle_is_looked_at_again_when_permissions_no_longer_matter",
            &[],
            overridden,
        )
}

/// A source that is called `name` in the test's folder, and more that is said of it.
fn source(dir: &Path, name: &str, more: &str) -> String {
    format!("[[source]]\npath = {:?}\n{more}\n", dir.join(name))
}

/// Writes the file: the test's store and state, and what the test says.
fn write(dir: &Path, says: &str) -> std::io::Result<()> {
    let (store, state) = (store_of(dir), dir.join("state"));
    let common = format!("store = {store:?}\nstate_dir = {state:?}\n");
    fs::write(dir.join("airdock.toml"), common + says)
}

fn start(dir: &Path, more: &[&str]) -> Running {
    let config = dir.join("airdock.toml");
    let args = [&["watch", "--config", text(&config)], more].concat();
    Running::start(AIRDOCK, &args).expect("airdock starts")
}

/// An agent with this file that has looked at its directories.
fn started(dir: &Path, says: &str) -> std::io::Result<Running> {
    write(dir, says)?;
    let mut agent = start(dir, &[]);
    agent.wait_for_line(&["the store answers"], DEADLINE)?;
    Ok(agent)
}

fn reload(dir: &Path, agent: &mut Running, says: &str) -> std::io::Result<()> {
    write(dir, says)?;
    agent.signal(Signal::HUP)?;
    agent.wait_for_line(&["new settings hold"], DEADLINE)?;
    Ok(())
}

fn put(dir: &Path, place: &str, name: &str, seed: &str) -> std::io::Result<()> {
    let beside = dir.join(format!("beside-{seed}"));
    small(name, seed).oci().write_tar(&beside)?;
    fs::rename(beside, dir.join(place))
}

fn chmod(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn names_become(dir: &Path, expected: &[(&str, &str)]) -> std::io::Result<()> {
    let pairs = expected.iter();
    let expected: BTreeMap<String, String> = pairs
        .map(|(name, seed)| ((*name).to_owned(), digest_of(seed)))
        .collect();
    let store = dir.join("store");
    wait::until(&format!("{expected:?} in the store"), DEADLINE, || {
        (names_in(&store) == expected).then_some(())
    })
}

/// The effective settings: key to value and origin.
fn settings(
    variables: &[(&str, &str)],
    args: &[&str],
) -> std::io::Result<BTreeMap<String, (String, String)>> {
    let args = [&["config", "show", "--output", "json"], args].concat();
    let mut command = Command::new(AIRDOCK);
    command.args(args).envs(variables.iter().copied());
    let output = command.output()?;
    let lines: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout)?;
    let text = |value: &serde_json::Value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    let entry = |line: &serde_json::Value| {
        let said = (text(&line["value"]), text(&line["origin"]));
        (text(&line["key"]), said)
    };
    Ok(lines.iter().map(entry).collect())
}

fn precedence(dir: &Path) -> Outcome {
    let file = dir.join("a.toml");
    fs::write(
        &file,
        "reserve = 1\nresync = 1\ndebounce = 1\nnamespace = \"file\"",
    )?;
    let variables = [
        ("AIRDOCK_CONFIG", text(&file)),
        ("AIRDOCK_RESERVE", "2"),
        ("AIRDOCK_RESYNC", "2"),
        ("AIRDOCK_INSECURE_PERMISSIONS", "true"),
    ];
    let settings = settings(&variables, &["--reserve", "3"])?;
    let said = |key: &str| {
        let (value, origin) = &settings[key];
        (value.as_str(), origin.as_str())
    };
    assert_eq!(said("reserve"), ("3", "--reserve"));
    assert_eq!(said("resync"), ("2", "AIRDOCK_RESYNC"));
    let line = format!("{}:3", text(&file));
    assert_eq!(said("debounce"), ("1", line.as_str()));
    assert_eq!(said("concurrency"), ("2", "default"));
    assert_eq!(
        said("source.0.insecure_permissions"),
        ("true", "AIRDOCK_INSECURE_PERMISSIONS")
    );
    assert_eq!(said("source.0.path").0, "/var/lib/airdock/bundles");
    Ok(())
}

fn shown(dir: &Path) -> Outcome {
    let file = dir.join("a.toml");
    fs::write(&file, source(dir, "a", "deny = [\"*\"]"))?;
    let shown = airdock(&["config", "show", "--config", text(&file)]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("a.toml:3"), "{}", shown.stdout);
    // What is shown can be used as a file, and says the same.
    let again = dir.join("b.toml");
    fs::write(&again, &shown.stdout)?;
    let value = |(key, (value, _)): (String, (String, String))| (key, value);
    let of = |file: &Path| settings(&[], &["--config", text(file)]);
    let first: BTreeMap<_, _> = of(&file)?.into_iter().map(value).collect();
    let second: BTreeMap<_, _> = of(&again)?.into_iter().map(value).collect();
    assert_eq!(first, second);
    Ok(())
}

fn checked(dir: &Path) -> Outcome {
    let file = dir.join("a.toml");
    let check = |says: &str| -> std::io::Result<(i32, String)> {
        fs::write(&file, says)?;
        let ended = airdock(&["config", "check", text(&file)]);
        Ok((ended.code, ended.stdout + &ended.stderr))
    };
    let (code, said) = check("resink = 3\nreserve = 1")?;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("a.toml:1: unknown key \"resink\"; is \"resync\" meant?"));
    let (code, said) = check("\nreserve = \"much\"")?;
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("a.toml:2: reserve: "), "{said}");
    let used = airdock(&["images", "--config", text(&file)]);
    assert_eq!(used.code, 2, "{}", used.stderr);
    Ok(())
}

fn named(dir: &Path) -> Outcome {
    let none = dir.join("none.toml");
    for args in [
        &["config", "check", text(&none)][..],
        &["config", "show", "--config", text(&none)],
        &["watch", "--config", text(&none)],
    ] {
        let ended = airdock(args);
        assert_eq!(ended.code, 2, "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("none.toml"), "{}", ended.stderr);
    }
    Ok(())
}

fn example(_: &Path) -> Outcome {
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/airdock.toml");
    let printed = airdock(&["config", "example"]).stdout;
    assert_eq!(printed, fs::read_to_string(committed)?);
    Ok(())
}

fn misspelt(dir: &Path) -> Outcome {
    let agent = started(dir, &source(dir, "a", "recursiv = true"))?;
    let log = agent.stderr();
    assert!(log.contains("unknown key"), "{log}");
    assert!(log.contains("airdock.toml:5"), "{log}");
    Ok(())
}

fn good_reload(dir: &Path) -> Outcome {
    for name in ["a", "b"] {
        fs::create_dir(dir.join(name))?;
    }
    let grace = "release_grace = 0";
    let mut agent = started(dir, &source(dir, "a", grace))?;
    put(dir, "a/x.tar", "x:1", "one")?;
    names_become(dir, &[(X, "one")])?;

    reload(dir, &mut agent, &source(dir, "b", grace))?;
    fs::remove_file(dir.join("a/x.tar"))?;
    put(dir, "b/y.tar", "y:1", "two")?;
    names_become(dir, &[(X, "one"), (Y, "two")])?;
    let log = agent.stderr();
    assert!(log.contains("no longer watched"), "{log}");
    assert!(!log.contains("released"), "{log}");

    // When it is watched again, what went meanwhile is released, and what stayed isn't read.
    let both = source(dir, "a", grace) + &source(dir, "b", grace);
    reload(dir, &mut agent, &both)?;
    agent.wait_for_line(&["released image", X], DEADLINE)?;
    names_become(dir, &[(Y, "two")])?;
    let reads = agent.stderr().matches("msg=importing").count();
    assert_eq!(reads, 2, "{}", agent.stderr());
    Ok(())
}

fn bad_reload(dir: &Path) -> Outcome {
    fs::create_dir(dir.join("a"))?;
    let mut agent = started(dir, &source(dir, "a", ""))?;
    write(dir, &source(dir, "a", "on_remove = \"remove\""))?;
    agent.signal(Signal::HUP)?;
    let told = agent.wait_for_line(&["the old ones still hold"], DEADLINE)?;
    for part in ["airdock.toml:5", "source.on_remove", "remove"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    put(dir, "a/x.tar", "x:1", "one")?;
    names_become(dir, &[(X, "one")])?;
    reload(dir, &mut agent, &source(dir, "a", "on_remove = \"keep\""))?;
    Ok(())
}

fn needs_restart(dir: &Path) -> Outcome {
    fs::create_dir(dir.join("a"))?;
    let mut agent = started(dir, &source(dir, "a", ""))?;
    let says = "namespace = \"other\"\n".to_owned() + &source(dir, "a", "");
    write(dir, &says)?;
    agent.signal(Signal::HUP)?;
    agent.wait_for_line(&["after a restart only", "keys=namespace"], DEADLINE)?;
    agent.wait_for_line(&["new settings hold"], DEADLINE)?;
    Ok(())
}

fn priority(dir: &Path) -> Outcome {
    for name in ["low", "high"] {
        fs::create_dir(dir.join(name))?;
    }
    put(dir, "low/small.tar", "x:1", "one")?;
    let large = Bundle::new()
        .with(&["y:1"], Image::small("two"))
        .with(&["z:1"], Image::small("three"));
    large.oci().write_tar(&dir.join("high/large.tar"))?;
    let said = "concurrency = 1\n".to_owned()
        + &source(dir, "low", "priority = -1")
        + &source(dir, "high", "");
    write(dir, &said)?;
    let mut agent = start(dir, &["--once"]);
    assert!(agent.wait(DEADLINE)?.success(), "{}", agent.stderr());
    agent.wait_for_line(&["msg=importing", "large.tar"], DEADLINE)?;
    agent.wait_for_line(&["msg=importing", "small.tar"], DEADLINE)?;
    Ok(())
}

fn recursive(dir: &Path) -> Outcome {
    fs::create_dir(dir.join("a"))?;
    let says = source(dir, "a", "recursive = true\nrelease_grace = 0");
    let mut agent = started(dir, &says)?;
    // Made at once, so that the agent can't have watched the inner one before the bundle came.
    fs::create_dir_all(dir.join("a/vendor/images"))?;
    put(dir, "a/vendor/images/x.tar", "x:1", "one")?;
    names_become(dir, &[(X, "one")])?;
    put(dir, "a/vendor/y.tar", "y:1", "two")?;
    names_become(dir, &[(X, "one"), (Y, "two")])?;
    fs::remove_dir_all(dir.join("a/vendor/images"))?;
    agent.wait_for_line(&["released image", X], DEADLINE)?;
    names_become(dir, &[(Y, "two")])?;
    Ok(())
}

fn flat(dir: &Path) -> Outcome {
    fs::create_dir_all(dir.join("a/below"))?;
    put(dir, "a/below/x.tar", "x:1", "one")?;
    put(dir, "a/y.tar", "y:1", "two")?;
    write(dir, &source(dir, "a", ""))?;
    let mut agent = start(dir, &["--once"]);
    assert!(agent.wait(DEADLINE)?.success(), "{}", agent.stderr());
    names_become(dir, &[(Y, "two")])?;
    Ok(())
}

fn left_out(dir: &Path) -> Outcome {
    fs::create_dir(dir.join("a"))?;
    let both = Bundle::new()
        .with(&["x:1"], Image::small("one"))
        .with(&["y:1"], Image::small("two"));
    both.oci().write_tar(&dir.join("a/both.tar"))?;
    let deny = "release_grace = 0\ndeny = [\"*/y:*\"]";
    let mut agent = started(dir, &source(dir, "a", deny))?;
    agent.wait_for_line(&["left out", Y], DEADLINE)?;
    agent.wait_for_line(&["bundle loaded"], DEADLINE)?;
    names_become(dir, &[(X, "one")])?;
    let layer = Image::small("two").layers()[0].blob().path();
    assert!(!dir.join("store").join(layer).exists(), "it isn't sent");
    let socket = dir.join("state/airdock.sock");
    let listed = airdock(&["images", "--socket", text(&socket)]);
    assert!(listed.stdout.contains("left out"), "{}", listed.stdout);

    reload(dir, &mut agent, &source(dir, "a", "release_grace = 0"))?;
    names_become(dir, &[(X, "one"), (Y, "two")])?;
    let allow = "release_grace = 0\nallow = [\"docker.io/library/y:?\"]";
    reload(dir, &mut agent, &source(dir, "a", allow))?;
    agent.wait_for_line(&["released image", X], DEADLINE)?;
    names_become(dir, &[(Y, "two")])?;
    assert!(!agent.stderr().contains("refused"), "{}", agent.stderr());
    Ok(())
}

fn open(dir: &Path) -> Outcome {
    let bundles = dir.join("a");
    fs::create_dir(&bundles)?;
    put(dir, "a/x.tar", "x:1", "one")?;
    chmod(&bundles, 0o777)?;
    write(dir, &source(dir, "a", ""))?;
    let ended = airdock(&[
        "watch",
        "--once",
        "--config",
        text(&dir.join("airdock.toml")),
    ]);
    assert_eq!(ended.code, 7, "{}", ended.stderr);
    for part in ["is not safe", "can be written by everybody", "0777"] {
        assert!(ended.stderr.contains(part), "{part} in {}", ended.stderr);
    }
    assert!(names_in(&dir.join("store")).is_empty());

    // It is mended while the agent runs, and what it gave stays when it becomes unsafe again.
    let mut agent = start(dir, &["--release-grace", "0"]);
    agent.wait_for_line(&["is not safe"], DEADLINE)?;
    chmod(&bundles, 0o755)?;
    names_become(dir, &[(X, "one")])?;
    chmod(&bundles, 0o775)?;
    agent.wait_for_line(&["is not safe", "its group"], DEADLINE)?;
    names_become(dir, &[(X, "one")])?;
    Ok(())
}

fn open_bundle(dir: &Path) -> Outcome {
    fs::create_dir(dir.join("a"))?;
    let mut agent = started(dir, &source(dir, "a", ""))?;
    put(dir, ".x.tar", "x:1", "one")?;
    chmod(&dir.join(".x.tar"), 0o666)?;
    fs::rename(dir.join(".x.tar"), dir.join("a/x.tar"))?;
    agent.wait_for_line(&["refused bundle", "x.tar", "everybody"], DEADLINE)?;
    chmod(&dir.join("a/x.tar"), 0o644)?;
    names_become(dir, &[(X, "one")])?;
    Ok(())
}

fn overridden(dir: &Path) -> Outcome {
    fs::create_dir(dir.join("a"))?;
    put(dir, "a/x.tar", "x:1", "one")?;
    chmod(&dir.join("a/x.tar"), 0o664)?;
    let mut agent = started(dir, &source(dir, "a", ""))?;
    agent.wait_for_line(&["refused bundle", "its group"], DEADLINE)?;
    agent.signal(Signal::TERM)?;
    agent.wait(DEADLINE)?;

    // Nothing about the file has changed, but what holds for it.
    let mut agent = start(dir, &["--insecure-permissions"]);
    agent.wait_for_line(&["imported image", X], DEADLINE)?;
    Ok(())
}
