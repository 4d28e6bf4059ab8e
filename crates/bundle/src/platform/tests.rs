use super::*;

fn platform(text: &str) -> Platform {
    Platform::parse(text).unwrap()
}

#[test]
fn every_spelling_of_a_platform_is_the_same_one() {
    for (given, expected) in [
        ("linux/amd64", "linux/amd64"),
        ("Linux/x86_64", "linux/amd64"),
        ("linux/x86-64", "linux/amd64"),
        ("linux/amd64/v1", "linux/amd64"),
        ("linux/amd64/v3", "linux/amd64/v3"),
        ("linux/i386", "linux/386"),
        ("linux/aarch64", "linux/arm64"),
        ("linux/arm64/8", "linux/arm64"),
        ("linux/arm64/v8", "linux/arm64"),
        ("linux/arm64/v9", "linux/arm64/v9"),
        ("linux/arm", "linux/arm/v7"),
        ("linux/arm/7", "linux/arm/v7"),
        ("linux/arm/5", "linux/arm/v5"),
        ("linux/armhf", "linux/arm/v7"),
        ("linux/armel", "linux/arm/v6"),
        ("linux/arm/v6", "linux/arm/v6"),
        ("macos/arm64", "darwin/arm64"),
        ("linux/s390x", "linux/s390x"),
    ] {
        assert_eq!(platform(given).to_string(), expected, "{given}");
    }
}

#[test]
fn what_is_no_platform_is_refused() {
    for given in [
        "",
        "linux",
        "linux/",
        "/amd64",
        "linux/arm/v7/x",
        "linux/a b",
        "*/amd64",
    ] {
        let error = Platform::parse(given).expect_err(given);
        assert!(error.to_string().contains("is no platform"));
    }
}

#[test]
fn a_node_runs_what_the_runtime_runs_best_first() {
    for (node, accepted) in [
        ("linux/amd64", &["linux/amd64", "linux/386"][..]),
        (
            "linux/amd64/v3",
            &[
                "linux/amd64/v3",
                "linux/amd64/v2",
                "linux/amd64",
                "linux/386",
            ],
        ),
        (
            "linux/arm64",
            &[
                "linux/arm64",
                "linux/arm/v8",
                "linux/arm/v7",
                "linux/arm/v6",
                "linux/arm/v5",
            ],
        ),
        (
            "linux/arm64/v8.2",
            &[
                "linux/arm64/v8.2",
                "linux/arm64/v8.1",
                "linux/arm64",
                "linux/arm/v8",
            ],
        ),
        (
            "linux/arm64/v9",
            &[
                "linux/arm64/v9",
                "linux/arm64/v8.5",
                "linux/arm64/v8.4",
                "linux/arm64/v8.3",
            ],
        ),
        (
            "linux/arm64/v9.1",
            &[
                "linux/arm64/v9.1",
                "linux/arm64/v9",
                "linux/arm64/v8.6",
                "linux/arm64/v8.5",
            ],
        ),
        (
            "linux/arm/v7",
            &["linux/arm", "linux/arm/v6", "linux/arm/v5"],
        ),
        ("linux/arm/v6", &["linux/arm/v6", "linux/arm/v5"]),
        ("linux/386", &["linux/386"]),
        ("linux/s390x", &["linux/s390x"]),
    ] {
        let matcher = Matcher::only(platform(node));
        let ranks = accepted.iter().map(|text| matcher.rank(&platform(text)));
        let expected: Vec<Option<usize>> = (0..accepted.len()).map(Some).collect();
        assert_eq!(ranks.collect::<Vec<_>>(), expected, "{node}");
    }
}

#[test]
fn a_node_does_not_run_what_it_cannot() {
    for (node, foreign) in [
        (
            "linux/amd64",
            &[
                "linux/arm64",
                "linux/amd64/v2",
                "windows/amd64",
                "darwin/amd64",
            ][..],
        ),
        (
            "linux/arm64",
            &["linux/amd64", "linux/arm64/v9", "windows/arm64"],
        ),
        ("linux/arm/v6", &["linux/arm/v7", "linux/arm64"]),
        ("linux/386", &["linux/amd64"]),
    ] {
        let matcher = Matcher::only(platform(node));
        for text in foreign {
            assert_eq!(matcher.rank(&platform(text)), None, "{text} on {node}");
        }
    }
}

#[test]
fn this_machine_has_a_platform_that_it_runs() {
    let host = Platform::host();
    assert_eq!(Platform::parse(&host.to_string()), Ok(host.clone()));
    assert_eq!(Matcher::only(host.clone()).rank(&host), Some(0));
}

#[test]
fn words_from_an_archive_are_cut_and_escaped() {
    let shown = Platform::new("li\x1bnux", &"a".repeat(10_000), "ü").to_string();
    assert_eq!(shown, format!(r"li\u{{1b}}nux/{}/ü", "a".repeat(64)));
}
