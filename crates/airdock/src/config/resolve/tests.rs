use super::*;
use crate::config::{Layer, OnConflict, OnRemove, SourceTable};

fn written(text: &str) -> Written {
    Written::parse(Path::new("/etc/a.toml"), text).unwrap()
}

fn typed(layer: Layer, given: &[(&str, Given)]) -> Typed {
    let given = given.iter().cloned();
    Typed {
        layer,
        given: given.map(|(key, given)| (key.to_owned(), given)).collect(),
        ..Typed::default()
    }
}

fn directories(names: &[&str]) -> Typed {
    Typed {
        directories: names.iter().map(PathBuf::from).collect(),
        ..Typed::default()
    }
}

fn watched(settings: &Settings) -> Vec<&str> {
    let sources = settings.watch.sources.iter();
    sources.map(|s| s.directory.to_str().unwrap()).collect()
}

fn error(typed: &Typed, text: &str) -> String {
    resolve(typed, &written(text)).unwrap_err().to_string()
}

#[test]
fn what_is_typed_wins_over_the_file_and_the_file_over_the_default() {
    let flag = Given::Flag("--reserve".to_owned());
    let variable = Given::Variable("AIRDOCK_NAMESPACE".to_owned());
    let typed = typed(
        Layer {
            reserve: Some(3),
            namespace: Some("typed".to_owned()),
            ..Layer::default()
        },
        &[("reserve", flag), ("namespace", variable)],
    );
    let file = written("\nreserve = 1\nnamespace = \"file\"\nconcurrency = 4");
    let settings = resolve(&typed, &file).unwrap();
    assert_eq!(settings.watch.reserve, 3 * MIB);
    assert_eq!(settings.namespace, "typed");
    assert_eq!(settings.watch.concurrency, 4);
    assert_eq!(settings.watch.resync, RESYNC);
    let origin = |key: &str| settings.origins[key].to_string();
    assert_eq!(origin("reserve"), "--reserve");
    assert_eq!(origin("namespace"), "AIRDOCK_NAMESPACE");
    assert_eq!(origin("concurrency"), "/etc/a.toml:4");
    assert_eq!(origin("resync"), "default");
}

#[test]
fn what_is_typed_of_sources_holds_for_all_of_them() {
    let source = SourceTable {
        on_conflict: Some(OnConflict::Keep),
        ..SourceTable::default()
    };
    let typed = typed(
        Layer {
            source: vec![source],
            ..Layer::default()
        },
        &[],
    );
    let file =
        written("[[source]]\npath = \"/a\"\non_remove = \"keep\"\n[[source]]\npath = \"/b\"");
    let settings = resolve(&typed, &file).unwrap();
    let policies: Vec<_> = settings.watch.sources.iter().map(|s| s.policy).collect();
    assert!(policies.iter().all(|p| p.on_conflict == OnConflict::Keep));
    assert_eq!(policies[0].on_remove, OnRemove::Keep);
    assert_eq!(policies[1].on_remove, OnRemove::Unpin);
    assert_eq!(
        settings.origins["source.0.on_remove"].to_string(),
        "/etc/a.toml:3"
    );
}

#[test]
fn directories_that_are_typed_take_the_place_of_those_in_the_file() {
    let file = written("[[source]]\npath = \"/a\"\n[[source]]\npath = \"/b\"\npriority = 7");
    assert_eq!(
        watched(&resolve(&Typed::default(), &file).unwrap()),
        ["/a", "/b"]
    );
    let settings = resolve(&directories(&["/c", "/b", "/c"]), &file).unwrap();
    assert_eq!(watched(&settings), ["/c", "/b"]);
    let priorities: Vec<i32> = settings.watch.sources.iter().map(|s| s.priority).collect();
    assert_eq!(
        priorities,
        [0, 7],
        "what the file says of a directory still holds"
    );
    assert_eq!(
        settings.origins["source.1.priority"].to_string(),
        "/etc/a.toml:5"
    );
}

#[test]
fn a_distribution_that_is_typed_wins_over_the_store_in_the_file() {
    let file = written("store = \"containerd:/x\"\ndistro = \"k3s\"");
    let socket = |settings: Settings| match settings.endpoint().unwrap() {
        crate::config::Endpoint::Containerd { socket, .. } => socket,
        crate::config::Endpoint::Layout(_) => unreachable!(),
    };
    let typed = typed(
        Layer {
            distro: Some(Distro::K0s),
            ..Layer::default()
        },
        &[],
    );
    assert_eq!(
        socket(resolve(&Typed::default(), &file).unwrap()),
        Path::new("/x")
    );
    let settings = resolve(&typed, &file).unwrap();
    assert_eq!(watched(&settings), ["/var/lib/k0s/images"]);
    assert_eq!(socket(settings), Distro::K0s.socket());
}

#[test]
fn the_socket_stands_beside_the_state_unless_that_is_where_it_is_by_default() {
    let socket = |text: &str| resolve(&Typed::default(), &written(text)).unwrap().socket;
    assert_eq!(socket("").path, Path::new(DEFAULT_SOCKET));
    assert!(!socket("").asked_for);
    assert_eq!(
        socket("state_dir = \"/s\"").path,
        Path::new("/s/airdock.sock")
    );
    let said = socket("state_dir = \"/s\"\nsocket = \"/t/x.sock\"");
    assert_eq!(
        (said.path.to_str(), said.asked_for),
        (Some("/t/x.sock"), true)
    );
}

#[test]
fn sources_that_overlap_are_refused() {
    let cases = [
        ("/a", "", "/a", false),
        ("/a", "", "/a/b", true),
        ("/a", "recursive = true", "/ab", true),
        ("/a", "recursive = true", "/a/b", false),
        ("/a", "recursive = true", "/a", false),
    ];
    for (first, more, second, apart) in cases {
        let text = format!("[[source]]\npath = {first:?}\n{more}\n[[source]]\npath = {second:?}");
        let resolved = resolve(&Typed::default(), &written(&text));
        assert_eq!(resolved.is_ok(), apart, "{text}: {resolved:?}");
    }
    let text = "[[source]]\npath = \"/a\"\n[[source]]\npath = \"/a\"";
    let error = error(&Typed::default(), text);
    assert_eq!(error, "/etc/a.toml:4: source.path: /a is watched already");
}

#[test]
fn what_cannot_be_meant_is_refused_by_whoever_said_it() {
    let cases = [
        (
            "concurrency = 0",
            "/etc/a.toml:1: concurrency: 0 is not in 1 to 16",
        ),
        (
            "state_dir = \"x\"",
            "/etc/a.toml:1: state_dir: x is not an absolute path",
        ),
        (
            "[[source]]\npriority = 1",
            "/etc/a.toml:1: source.path: it is missing",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error(&Typed::default(), text), expected);
    }
    let flag = Given::Flag("--concurrency".to_owned());
    let layer = Layer {
        concurrency: Some(99),
        ..Layer::default()
    };
    let error = error(&typed(layer, &[("concurrency", flag)]), "");
    assert_eq!(error, "--concurrency: 99 is not in 1 to 16");
}

#[test]
fn what_cannot_be_changed_while_running_is_named() {
    let settings = |text: &str| resolve(&Typed::default(), &written(text)).unwrap();
    let (old, new) = (
        settings("reserve = 1"),
        settings("namespace = \"x\"\nreserve = 2\n[log]\nlevel = \"debug\""),
    );
    assert_eq!(old.fixed(&new), ["namespace", "log.level"]);
    assert_eq!(old.fixed(&old), [""; 0]);
}
