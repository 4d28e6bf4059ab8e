//! Lists of names that bundles must hold.

use airdock_bundle::verify::Required;
use airdock_testkit::fixture::{Bundle, Image, Target, Tree};

use crate::seen::verified;

fn required(list: &str) -> Required {
    Required::read(list.as_bytes()).unwrap()
}

/// What is lacking, with the reason after a space.
fn lacking(list: &str, trees: &[&Tree]) -> Vec<String> {
    let mut required = required(list);
    for tree in trees {
        required.tick_off(&verified(tree));
    }
    let lacking = required.lacking();
    let shown = lacking.map(|lack| format!("{} {}", lack.name, lack.reason.unwrap_or("absent")));
    shown.collect()
}

fn bundle(name: &str, seed: &str) -> Tree {
    Bundle::new().with(&[name], Image::small(seed)).oci()
}

#[test]
fn comments_blank_lines_and_line_ends_are_no_names() {
    let list = "\u{feff}# all\r\n\r\n  alpine  \r\nexample.com/app:1 # ours\n\nalpine:latest";
    assert_eq!(required(list).count(), 2);
    assert_eq!(
        lacking(list, &[]),
        [
            "docker.io/library/alpine:latest absent",
            "example.com/app:1 absent"
        ]
    );
    assert_eq!(required("").count(), 0);
}

#[test]
fn a_bad_line_is_named_by_its_number() {
    for (list, message) in [
        (
            &b"alpine\n# x\n\nFoo/Bar:1\n"[..],
            "line 4, \"Foo/Bar:1\", is no image name: upper case",
        ),
        (b"a b\r\n", "line 1, \"a b\", is no image name"),
        (b"alpine\n\xff\n", "line 2 is not UTF-8"),
        (&[b'#'; (16 << 20) + 1], "over 16777216 bytes"),
    ] {
        let error = Required::read(list).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn several_bundles_hold_together_what_is_needed() {
    let (a, b) = (
        bundle("example.com/a:1", "a"),
        bundle("example.com/b:1", "b"),
    );
    let list = "example.com/a:1\nexample.com/b:1";
    assert_eq!(lacking(list, &[&a, &b]), [""; 0]);
    assert_eq!(lacking(list, &[&a]), ["example.com/b:1 absent"]);
}

#[test]
fn an_image_can_be_asked_for_by_digest() {
    let digest = Target::from(Image::small("a")).digest();
    let other = Target::from(Image::small("b")).digest();
    let tree = bundle("example.com/a:1", "a");
    for name in ["example.com/a:1@", "example.com/a@"] {
        assert_eq!(lacking(&format!("{name}{digest}"), &[&tree]), [""; 0]);
        let wanted = format!("{name}{other}");
        assert_eq!(lacking(&wanted, &[&tree]), [format!("{wanted} absent")]);
    }
}

#[test]
fn a_refused_image_is_lacking_with_its_reason() {
    let image = Image::small("a");
    let tree = Bundle::new()
        .with(&["example.com/a:1"], image.clone())
        .oci();
    let damaged = tree.clone().flipped(&image.layers()[0].blob().path(), 0);
    let foreign = Image::small("b").platform("linux/s390x");
    let foreign = Bundle::new().with(&["example.com/a:1"], foreign).oci();
    for (tree, words) in [
        (&damaged, "is damaged"),
        (&foreign, "no image for linux/amd64"),
    ] {
        let lacking = lacking("example.com/a:1", &[tree]);
        assert!(lacking[0].contains(words), "{lacking:?}");
    }
    let list = "example.com/a:1";
    assert_eq!(
        lacking(list, &[&damaged, &tree]),
        [""; 0],
        "another bundle has it"
    );
}

#[test]
fn a_name_that_is_refused_is_lacking_with_its_reason() {
    let digest = Target::from(Image::small("b")).digest();
    let name = format!("example.com/a@{digest}");
    let tree = bundle(&name, "a");
    let lacking = lacking(&name, &[&tree]);
    assert!(
        lacking[0].contains("its image has the digest"),
        "{lacking:?}"
    );
}
