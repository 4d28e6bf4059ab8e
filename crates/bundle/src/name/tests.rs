use proptest::prelude::*;

use super::*;
use crate::digest::Algorithm;

fn full(given: &str) -> String {
    match Name::parse(given) {
        Ok(name) => name.to_string(),
        Err(error) => panic!("{given}: {error}"),
    }
}

fn digest() -> Digest {
    Digest::of(Algorithm::Sha256, b"image")
}

#[test]
fn short_names_are_docker_hubs() {
    for (given, expected) in [
        ("alpine", "docker.io/library/alpine:latest"),
        ("alpine:3", "docker.io/library/alpine:3"),
        ("team/app", "docker.io/team/app:latest"),
        ("docker.io/alpine", "docker.io/library/alpine:latest"),
        ("index.docker.io/alpine:3", "docker.io/library/alpine:3"),
        ("index.docker.io/team/app", "docker.io/team/app:latest"),
        ("docker.io/library/alpine:3", "docker.io/library/alpine:3"),
        ("video_list:v1", "docker.io/library/video_list:v1"),
        ("localhost:5000", "docker.io/library/localhost:5000"),
    ] {
        assert_eq!(full(given), expected);
    }
}

#[test]
fn what_looks_like_a_host_is_one() {
    for (given, domain, path) in [
        ("localhost/a", "localhost", "a"),
        ("localhost:5000/a/b:1", "localhost:5000", "a/b"),
        ("registry.k8s.io/pause:3.9", "registry.k8s.io", "pause"),
        ("127.0.0.1:5000/a", "127.0.0.1:5000", "a"),
        ("[::1]/a", "[::1]", "a"),
        ("[2001:db8::1]:5000/a/b:1", "[2001:db8::1]:5000", "a/b"),
        ("registry:5000/library/a", "registry:5000", "library/a"),
        ("MyRegistry/a", "MyRegistry", "a"),
        ("xn--n3h.com/a", "xn--n3h.com", "a"),
        ("registry.docker.io/a", "registry.docker.io", "a"),
    ] {
        let name = Name::parse(given).unwrap();
        assert_eq!((name.domain(), name.path()), (domain, path), "{given}");
    }
}

#[test]
fn separators_within_a_component_are_those_of_the_grammar() {
    for path in ["a.b", "a_b", "a__b", "a-b", "a---b", "a0/b1/c2", "0"] {
        assert!(
            Name::parse(&format!("example.com/{path}")).is_ok(),
            "{path}"
        );
    }
    for path in [
        "a..b", "a___b", "a._b", ".a", "a.", "_a", "-a", "a-", "a//b", "", "a/", "ä",
    ] {
        let parsed = Name::parse(&format!("example.com/{path}"));
        assert!(
            matches!(parsed, Err(NameError::Path { .. })),
            "{path}: {parsed:?}"
        );
    }
}

#[test]
fn each_rule_refuses_by_its_own_name() {
    let hex = "0f".repeat(32);
    let long = "a".repeat(256);
    for (given, reason) in [
        ("", "it is empty"),
        ("a\nb", "control characters"),
        ("evil\x1b[2J:1", "control characters"),
        (&*hex, "image ID"),
        (&*format!("sha256:{hex}"), "image ID"),
        ("sha256:0f0f", "image ID"),
        (&*format!("docker.io/library/sha256:{hex}"), "image ID"),
        ("Foo/Bar:1", "upper case in the path \"Bar\""),
        ("docker.io/Library/MyImage:1", "upper case in the path"),
        ("Alpine", "upper case in the path"),
        ("-a.com/b", "no registry host"),
        ("a..com/b", "no registry host"),
        ("a:b/c", "no registry host"),
        ("[::1/a", "no registry host"),
        ("[::g]/a", "no registry host"),
        ("a b", "no path component"),
        ("/a", "no path component"),
        ("a:", "no tag"),
        ("a:-1", "no tag"),
        ("a:1:2", "no tag"),
        ("a:ü", "no tag"),
        (&*format!("a:{}", "t".repeat(129)), "no tag"),
        ("a@sha256:0f", "its digest is unusable"),
        (
            &*format!("a@md5:{}", "0".repeat(32)),
            "its digest is unusable",
        ),
        ("a@", "its digest is unusable"),
        (&*format!("example.com/{long}"), "268 characters"),
    ] {
        let error = Name::parse(given).expect_err(given).to_string();
        assert!(error.contains(reason), "{given}: {error}");
    }
}

#[test]
fn the_longest_name_and_tag_are_accepted() {
    let path = "a".repeat(limits::REFERENCE - "example.com/".len());
    let tag = "t".repeat(128);
    assert!(Name::parse(&format!("example.com/{path}:{tag}")).is_ok());
    assert!(Name::parse(&format!("example.com/{path}a:{tag}")).is_err());
}

#[test]
fn a_digest_stands_beside_or_instead_of_the_tag() {
    let digest = digest();
    let both = Name::parse(&format!("alpine:3@{digest}")).unwrap();
    assert_eq!((both.tag(), both.digest()), (Some("3"), Some(&digest)));
    assert_eq!(both.tag_first().to_string(), "docker.io/library/alpine:3");

    let bare = Name::parse(&format!("alpine@{digest}")).unwrap();
    assert_eq!((bare.tag(), bare.digest()), (None, Some(&digest)));
    let text = format!("docker.io/library/alpine@{digest}");
    assert_eq!(bare.with_digest(&digest), text);
    assert_eq!(bare.tag_first().to_string(), text);
}

#[test]
fn a_name_is_stored_as_its_text() {
    let name = Name::parse("alpine").unwrap();
    let json = serde_json::to_string(&name).unwrap();
    assert_eq!(json, "\"docker.io/library/alpine:latest\"");
    assert_eq!(serde_json::from_str::<Name>(&json).unwrap(), name);
    assert!(serde_json::from_str::<Name>("\"Foo\"").is_err());
}

proptest! {
    /// Text that is mostly made of what names are made of, so that much of it is one.
    #[test]
    fn a_name_in_full_is_its_own_full_name(
        given in "([a-zA-Z0-9.\\-]{1,9}(:[0-9]{1,4})?/)?[a-z0-9._/\\-]{1,12}(:[a-z0-9._\\-]{1,5})?"
    ) {
        if let Ok(name) = Name::parse(&given) {
            let again = Name::parse(&name.to_string());
            prop_assert_eq!(again, Ok(name));
        }
    }

    #[test]
    fn no_text_stops_the_parser(given in "\\PC{0,300}|.{0,80}") {
        match Name::parse(&given) {
            Ok(name) => prop_assert!(!name.to_string().chars().any(char::is_control)),
            Err(error) => prop_assert!(!error.to_string().chars().any(char::is_control)),
        }
    }
}
