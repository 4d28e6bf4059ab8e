use super::*;

fn parse(text: &str) -> Result<Written, ConfigError> {
    Written::parse(Path::new("/etc/a.toml"), text)
}

#[test]
fn a_wrong_value_names_file_line_and_key() {
    let cases = [
        ("\ndebounce = \"x\"", ":2: debounce: invalid type"),
        ("debounce = -1", ":1: debounce: below zero"),
        ("reserve = -1", ":1: reserve: "),
        (
            "log = 3",
            ":1: log: invalid type: integer `3`, expected a table",
        ),
        (
            "[log]\nlevel = \"loud\"",
            ":2: log.level: unknown variant `loud`",
        ),
        ("store = \"docker\"", ":1: store: unknown store \"docker\""),
        ("platform = \"x\"", ":1: platform: \"x\" is no platform"),
        ("metrics = \"here\"", ":1: metrics: "),
        (
            "[[source]]\npath = \"/a\"\n[[source]]\npath = \"/b\"\non_remove = \"x\"",
            ":5: source.on_remove: unknown variant `x`, expected one of `unpin`, `delete`, `keep`",
        ),
        ("a = 1\na = 2", ":2: duplicate key"),
        ("\n\na = ", ":3: "),
    ];
    for (text, expected) in cases {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with("/etc/a.toml:"), "{text}: {error}");
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn an_unknown_key_is_told_with_the_nearest_known() {
    let cases = [
        (
            "namespase = 1",
            r#":1: unknown key "namespase"; is "namespace" meant?"#,
        ),
        ("\nqqq = 1", r#":2: unknown key "qqq""#),
        (
            "on_remove = \"keep\"",
            r#":1: unknown key "on_remove"; it belongs into [[source]]"#,
        ),
        (
            "[log]\nstate_dir = \"/x\"",
            r#":2: unknown key "state_dir" in [log]; it belongs into the top of the file"#,
        ),
        (
            "[[source]]\n[[source]]\npath = \"/a\"\nrecursiv = true",
            r#":4: unknown key "recursiv" in [[source]]; is "recursive" meant?"#,
        ),
        (
            "[sourc]\nx = 1",
            r#":1: unknown key "sourc"; is "source" meant?"#,
        ),
        ("\"a\\u001b[31m\" = 1", r#":1: unknown key "a\\u{1b}[31m""#),
    ];
    for (text, expected) in cases {
        let written = parse(text).unwrap();
        let warnings = written.warnings();
        assert_eq!(warnings, [format!("/etc/a.toml{expected}")], "{text}");
    }
}

#[test]
fn no_file_says_nothing_unless_it_was_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("none.toml");
    assert_eq!(
        Written::read_default(&path).unwrap().layer,
        Layer::default()
    );
    let error = Written::read(&path).unwrap_err().to_string();
    assert!(error.contains("none.toml"), "{error}");
}

#[test]
fn what_is_there_and_cannot_be_read_is_an_error_at_the_default_path_too() {
    let directory = tempfile::tempdir().unwrap();
    assert!(Written::read_default(directory.path()).is_err());
}

#[test]
fn seconds_may_have_a_fraction() {
    let written = parse("debounce = 2.5\nresync = 30").unwrap();
    let time = |seconds: Option<Seconds>| seconds.unwrap().0.as_millis();
    assert_eq!(time(written.layer.debounce), 2500);
    assert_eq!(time(written.layer.resync), 30_000);
}
