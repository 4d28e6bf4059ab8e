//! Whole bundles of two images, each odd or damaged in one way.

use airdock_testkit::fixture::{Bundle, Image, Layer, Target, Tree, blob_path};
use serde_json::json;

/// The tags of the two images.
pub(crate) const TAGS: [&str; 2] = ["one", "two"];

/// The name of an image in full.
pub(crate) fn name(tag: &str) -> String {
    format!("example.com/app:{tag}")
}

/// The image of this tag: a layer of its own on a layer that both have.
pub(crate) fn image(tag: &str) -> Image {
    Image::small("shared").layer(Layer::file("own", tag.as_bytes()))
}

fn bundle() -> Bundle {
    let [one, two] = TAGS;
    Bundle::new()
        .with(&[&name(one)], image(one))
        .with(&[&name(two)], image(two))
}

/// What happens to a tree, with a title.
type Variant = (&'static str, Tree);

/// Image layouts.
pub(crate) fn layouts() -> Vec<Variant> {
    let tree = bundle().oci();
    let manifest = blob_path(image("one").manifest().digest());
    let config = blob_path(image("one").config().digest());
    let layer = own_layer(blob_path);
    let other = blob_path(image("two").manifest().digest());
    let contents = |path: &str| tree.content(path).unwrap_or_default().to_vec();
    let mut variants = damaged(&tree, &[&manifest, &config, &layer]);
    variants.extend([
        ("index_last", tree.clone().last("index.json")),
        ("marker_last", tree.clone().last("oci-layout")),
        ("index_twice", tree.clone().file("index.json", b"{}")),
        ("nested", nested().oci()),
        (
            "manifest_replaced",
            tree.clone().replaced(&manifest, &contents(&other)),
        ),
        (
            "size_wrong",
            tree.clone()
                .with_json("index.json", "/manifests/0/size", json!(1)),
        ),
        (
            "same_tag",
            tree.clone().with_json(
                "index.json",
                "/manifests/1/annotations",
                json!({ "org.opencontainers.image.ref.name": "one" }),
            ),
        ),
        (
            "other_name_than_tag",
            tree.with_json(
                "index.json",
                "/manifests/1/annotations/org.opencontainers.image.ref.name",
                json!(name("two")),
            ),
        ),
    ]);
    variants
}

/// docker-archives.
pub(crate) fn docker_archives() -> Vec<Variant> {
    let tree = bundle().docker();
    let config = config_path("one");
    let layer = own_layer(layer_path);
    // Of the same layers, so that nothing but the config itself tells the two apart.
    let other = &image("one").entrypoint(&["/other"]).config().content;
    let renamed = tree.clone().renamed(&config, "config.json").with_json(
        "manifest.json",
        "/0/Config",
        json!("config.json"),
    );
    let mut variants = damaged(&tree, &[&config, &layer]);
    variants.extend([
        ("list_first", tree.clone().first("manifest.json")),
        ("list_twice", tree.clone().file("manifest.json", b"[]")),
        ("config_of_any_name", renamed.clone()),
        (
            "config_twice_and_the_same",
            renamed.clone().file("config.json", config_of(&tree)),
        ),
        ("config_twice", renamed.clone().file("config.json", other)),
        (
            "config_twice_by_dots",
            renamed.clone().file("./config.json", other),
        ),
        (
            "config_linked_then_replaced",
            renamed
                .renamed("config.json", "was.json")
                .hardlink("config.json", "was.json")
                .file("was.json", other),
        ),
        (
            "same_tag",
            tree.clone()
                .with_json("manifest.json", "/1/RepoTags", json!([name("one")])),
        ),
        (
            "layers_swapped",
            tree.clone().with_json(
                "manifest.json",
                "/0/Layers",
                json!([layer, layer_path(Layer::file("text", b"shared").digest())]),
            ),
        ),
    ]);
    variants
}

/// What can happen to any tree, and to the files of the first image in it.
fn damaged(tree: &Tree, paths: &[&str]) -> Vec<Variant> {
    let each = |change: fn(Tree, &str) -> Tree| {
        let change = move |path: &&str| change(tree.clone(), path);
        paths.iter().map(change).collect::<Vec<_>>()
    };
    let mut variants = vec![
        ("as_it_is", tree.clone()),
        ("dot_slash", tree.clone().prefixed("./")),
    ];
    for (what, trees) in [
        ("without", each(|tree, path| tree.without(path))),
        ("flipped", each(|tree, path| tree.flipped(path, 9))),
        ("shortened", each(|tree, path| tree.shortened(path, 9))),
        ("first", each(|tree, path| tree.first(path))),
        ("twice", each(|tree, path| tree.file(path, b"{}"))),
        ("symbolic_link", each(linked)),
        ("hard_link", each(hard_linked)),
    ] {
        variants.extend(trees.into_iter().map(|tree| (what, tree)));
    }
    variants
}

/// The file under another name, and a link from its own.
fn linked(tree: Tree, path: &str) -> Tree {
    let up = "../".repeat(path.matches('/').count());
    tree.renamed(path, "moved")
        .symlink(path, &format!("{up}moved"))
}

fn hard_linked(tree: Tree, path: &str) -> Tree {
    tree.renamed(path, "moved").hardlink(path, "moved")
}

/// The first name is that of an index.
fn nested() -> Bundle {
    let [one, two] = TAGS;
    let arm = image(two).platform("linux/arm64");
    Bundle::new()
        .with(&[&name(one)], Target::index([image(one), arm]))
        .with(&[&name(two)], image(two))
}

fn own_layer(path: fn(&str) -> String) -> String {
    path(Layer::file("own", b"one").digest())
}

fn config_path(tag: &str) -> String {
    format!("{}.json", hex(image(tag).config().digest()))
}

fn config_of(tree: &Tree) -> &[u8] {
    tree.content(&config_path("one")).unwrap_or_default()
}

fn layer_path(digest: &str) -> String {
    format!("{}/layer.tar", hex(digest))
}

fn hex(digest: &str) -> &str {
    digest.split_once(':').map_or(digest, |(_, hex)| hex)
}
