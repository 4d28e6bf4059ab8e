//! A bundle is its content.

use airdock_testkit::fixture::{Bundle, Image};

use crate::seen::bundle;

fn id(description: &Bundle) -> String {
    bundle(&description.oci()).id().to_string()
}

#[test]
fn the_order_of_entries_and_images_does_not_matter() {
    let (a, b) = (Image::small("a"), Image::small("b"));
    let forth = Bundle::new()
        .with(&["a:1", "a:2"], a.clone())
        .with(&["b:1"], b.clone());
    let back = Bundle::new().with(&["b:1"], b).with(&["a:2", "a:1"], a);
    assert_eq!(id(&forth), id(&back));
    let moved = bundle(&forth.oci().last("index.json").prefixed("./"));
    assert_eq!(moved.id().to_string(), id(&forth));
}

#[test]
fn images_and_names_make_the_identity() {
    let plain = Bundle::new().with(&["a:1"], Image::small("a"));
    for other in [
        Bundle::new(),
        Bundle::new().with(&[], Image::small("a")),
        Bundle::new().with(&["a:2"], Image::small("a")),
        Bundle::new().with(&["a:1", "A:1"], Image::small("a")),
        Bundle::new().with(&["a:1"], Image::small("b")),
        plain.clone().with(&[], Image::small("b")),
    ] {
        assert_ne!(id(&plain), id(&other), "{other:?}");
    }
}
