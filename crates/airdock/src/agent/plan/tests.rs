//! The policy as tables: bundles and a store in, what is to be done out.

use super::super::offer::BlobKind;
use super::*;
use crate::store::view::Stored;
use airdock_bundle::digest::Algorithm;

fn digest(of: &str) -> Digest {
    Digest::of(Algorithm::Sha256, of.as_bytes())
}

fn blob(of: &str, kind: BlobKind, children: &[&str]) -> OfferedBlob {
    let child = |(n, child): (usize, &&str)| (format!("l.{n}"), digest(child));
    OfferedBlob {
        digest: digest(of),
        size: 10,
        kind,
        refs: children.iter().enumerate().map(child).collect(),
    }
}

/// An image of a config and one layer; `content` tells images apart.
fn image(name: &str, content: &str) -> OfferedImage {
    let (layer, config, manifest) = (
        format!("{content} layer"),
        format!("{content} config"),
        format!("{content} manifest"),
    );
    OfferedImage {
        names: vec![name.parse().unwrap()],
        target: Target {
            media_type: "application/vnd.oci.image.manifest.v1+json".to_owned(),
            digest: digest(&manifest),
            size: 10,
        },
        config: digest(&config),
        platform: "linux/amd64".to_owned(),
        blobs: vec![
            blob(&layer, BlobKind::Leaf, &[]),
            blob(&config, BlobKind::Leaf, &[]),
            blob(&manifest, BlobKind::Document, &[&config, &layer]),
        ],
    }
}

fn offer(images: Vec<OfferedImage>) -> Offer {
    let names: Vec<String> = images.iter().map(|i| format!("{i:?}")).collect();
    Offer {
        id: digest(&names.join(" ")),
        images,
    }
}

fn holding<'a>(path: &'a str, arrived: i64, offer: &'a Offer) -> Holding<'a> {
    Holding {
        path: Path::new(path),
        source: "source",
        arrived: Timestamp::from_second(arrived).unwrap(),
        live: true,
        on_conflict: OnConflict::Replace,
        offer,
    }
}

const RULES: RecordRules = RecordRules::Containerd;

/// A store after everything that the plan says was done.
fn carry_out(plan: &Plan, mut view: View) -> View {
    for bundle in &plan.bundles {
        for blob in bundle.write.iter().chain(&bundle.relabel) {
            let refs = blob.refs.iter().map(|(_, child)| child.clone()).collect();
            let size = blob.size;
            view.content
                .insert(blob.digest.clone(), Stored { size, refs });
        }
        for step in &bundle.steps {
            let record = view.records.entry(step.name.clone());
            let record = record.or_insert_with(|| Record {
                target: step.target.digest.clone(),
                labels: BTreeMap::new(),
            });
            record.target = step.target.digest.clone();
            record.labels.extend(step.labels.clone());
        }
    }
    view
}

fn settled(holdings: &[Holding<'_>]) -> View {
    carry_out(&plan(holdings, &View::default(), RULES), View::default())
}

fn target_of(view: &View, name: &str) -> Digest {
    view.records.get(name).unwrap().target.clone()
}

#[test]
fn an_empty_store_gets_every_blob_and_three_names_the_tag_last() {
    let offer = offer(vec![image("x:1", "a")]);
    let plan = plan(&[holding("/a", 1, &offer)], &View::default(), RULES);
    let bundle = &plan.bundles[0];
    assert_eq!(bundle.write.len(), 3);
    assert_eq!(bundle.missing(), 30);
    let names: Vec<&str> = bundle.steps.iter().map(|s| s.name.as_str()).collect();
    let by_digest = format!("docker.io/library/x@{}", digest("a manifest"));
    let id = digest("a config").to_string();
    assert_eq!(names, [&by_digest, &id, "docker.io/library/x:1"]);
    for step in &bundle.steps {
        assert_eq!(step.action, Action::Create);
        assert_eq!(step.labels[labels::CRI_PINNED], "pinned");
        assert_eq!(step.labels[labels::BUNDLE], offer.short_id());
        assert!(step.labels.contains_key(labels::CREATED));
    }
}

#[test]
fn what_was_done_once_is_never_done_again() {
    let offer = offer(vec![image("x:1", "a"), image("y:1", "b")]);
    let holdings = [holding("/a", 1, &offer)];
    let plan = plan(&holdings, &settled(&holdings), RULES);
    assert!(plan.bundles.is_empty(), "{plan:?}");
    assert!(plan.orphans.is_empty());
}

#[test]
fn a_copy_of_a_bundle_costs_nothing() {
    let offer = offer(vec![image("x:1", "a")]);
    let first = holding("/a", 1, &offer);
    let view = settled(&[first]);
    let plan = plan(&[first, holding("/copy", 2, &offer)], &view, RULES);
    assert!(plan.bundles.is_empty(), "{plan:?}");
    assert!(plan.conflicts.is_empty());
}

#[test]
fn a_new_version_sends_what_changed_and_moves_the_name() {
    let old = offer(vec![image("x:1", "a")]);
    let view = settled(&[holding("/a", 1, &old)]);
    let mut changed = image("x:1", "b");
    changed.blobs[0] = blob("a layer", BlobKind::Leaf, &[]);
    let new = offer(vec![changed]);
    let plan = plan(&[holding("/a", 2, &new)], &view, RULES);
    let bundle = &plan.bundles[0];
    assert_eq!(bundle.missing(), 20);
    assert_eq!(bundle.spared(), 10);
    let tag = bundle.steps.last().unwrap();
    let from = digest("a manifest");
    assert_eq!(tag.action, Action::Move { from });
    assert!(plan.conflicts.is_empty(), "a name of ours moves quietly");
    // One blob that protects the layer, rather than the layer itself.
    assert_eq!(bundle.roots, [digest("a manifest")]);
}

#[test]
fn of_two_bundles_with_one_name_the_later_has_it_and_it_returns_when_that_goes() {
    let (a, b) = (
        offer(vec![image("x:1", "a")]),
        offer(vec![image("x:1", "b")]),
    );
    let both = [holding("/a", 1, &a), holding("/b", 2, &b)];
    let plan_of_both = plan(&both, &View::default(), RULES);
    let view = carry_out(&plan_of_both, View::default());
    assert_eq!(
        target_of(&view, "docker.io/library/x:1"),
        digest("b manifest")
    );
    assert_eq!(
        plan_of_both.conflicts,
        [Conflict::Bundles {
            name: "docker.io/library/x:1".to_owned(),
            winner: 1,
            loser: 0
        }]
    );
    let left = plan(&both[..1], &view, RULES);
    let view = carry_out(&left, view);
    assert_eq!(
        target_of(&view, "docker.io/library/x:1"),
        digest("a manifest")
    );
    assert_eq!(
        left.bundles[0].missing(),
        0,
        "its blobs were kept all the time"
    );
}

#[test]
fn a_name_of_somebody_else_is_replaced_and_told_or_kept_and_told() {
    let offer = offer(vec![image("x:1", "a")]);
    let mut view = View::default();
    let foreign = Record {
        target: digest("foreign"),
        labels: BTreeMap::new(),
    };
    view.records
        .insert("docker.io/library/x:1".to_owned(), foreign);
    for (on_conflict, kept) in [(OnConflict::Replace, false), (OnConflict::Keep, true)] {
        let holding = Holding {
            on_conflict,
            ..holding("/a", 1, &offer)
        };
        let plan = plan(&[holding], &view, RULES);
        let expected = Conflict::Foreign {
            name: "docker.io/library/x:1".to_owned(),
            holding: 0,
            stored: digest("foreign"),
            offered: digest("a manifest"),
            kept,
        };
        assert_eq!(plan.conflicts, [expected]);
        let after = carry_out(&plan, view.clone());
        let tag = &after.records["docker.io/library/x:1"];
        assert_eq!(tag.target == digest("foreign"), kept);
        assert!(!tag.has(labels::CREATED), "it was there before us");
    }
}

#[test]
fn what_others_pinned_stays_theirs_and_what_they_label_is_not_touched() {
    let offer = offer(vec![image("x:1", "a")]);
    let holdings = [holding("/a", 1, &offer)];
    let mut view = settled(&holdings);
    let tag = view.records.get_mut("docker.io/library/x:1").unwrap();
    tag.labels = BTreeMap::from([
        (labels::CRI_PINNED.to_owned(), "pinned".to_owned()),
        ("k3s.io/other".to_owned(), "1".to_owned()),
    ]);
    let plan = plan(&holdings, &view, RULES);
    let step = &plan.bundles[0].steps[0];
    assert_eq!(step.action, Action::Hold);
    let keys: Vec<&str> = step.labels.keys().map(String::as_str).collect();
    assert_eq!(keys, [labels::BUNDLE, labels::SOURCE]);
}

#[test]
fn a_pin_that_is_dropped_comes_back() {
    let offer = offer(vec![image("x:1", "a")]);
    let holdings = [holding("/a", 1, &offer)];
    let mut view = settled(&holdings);
    let tag = view.records.get_mut("docker.io/library/x:1").unwrap();
    tag.labels.remove(labels::CRI_PINNED);
    let plan = plan(&holdings, &view, RULES);
    let step = &plan.bundles[0].steps[0];
    assert_eq!(step.action, Action::Hold);
    assert_eq!(step.labels[labels::CRI_PINNED], "pinned");
    assert!(plan.bundles[0].write.is_empty());
}

#[test]
fn a_blob_that_is_gone_is_brought_again_alone() {
    let offer = offer(vec![image("x:1", "a")]);
    let holdings = [holding("/a", 1, &offer)];
    let mut view = settled(&holdings);
    view.content.remove(&digest("a layer"));
    let plan = plan(&holdings, &view, RULES);
    let written: Vec<_> = plan.bundles[0].write.iter().map(|b| &b.digest).collect();
    assert_eq!(written, [&digest("a layer")]);
    assert!(plan.bundles[0].steps.is_empty());
}

#[test]
fn what_goes_between_plan_and_lease_is_written_after_all_children_first() {
    let (old, new) = (
        offer(vec![image("x:1", "a")]),
        offer(vec![image("y:1", "a")]),
    );
    let view = settled(&[holding("/a", 1, &old)]);
    let mut plan = plan(&[holding("/b", 2, &new)], &view, RULES);
    let bundle = &mut plan.bundles[0];
    assert!(bundle.write.is_empty() && !bundle.roots.is_empty());
    let mut later = view;
    later.content.remove(&digest("a manifest"));
    later.content.remove(&digest("a layer"));
    let gone = bundle.gone(&later);
    bundle.write_again(&gone, &new);
    let written: Vec<_> = bundle.write.iter().map(|b| b.digest.clone()).collect();
    assert_eq!(written, [digest("a layer"), digest("a manifest")]);
    assert_eq!(bundle.spared(), 10);
}

#[test]
fn a_document_that_does_not_keep_its_children_is_labelled_again() {
    let offer = offer(vec![image("x:1", "a")]);
    let holdings = [holding("/a", 1, &offer)];
    let mut view = settled(&holdings);
    view.content
        .get_mut(&digest("a manifest"))
        .unwrap()
        .refs
        .clear();
    let plan = plan(&holdings, &view, RULES);
    assert_eq!(plan.bundles[0].relabel[0].digest, digest("a manifest"));
}

#[test]
fn a_bundle_that_is_gone_holds_its_names_but_brings_nothing() {
    let offer = offer(vec![image("x:1", "a")]);
    let view = settled(&[holding("/a", 1, &offer)]);
    let departed = Holding {
        live: false,
        ..holding("/a", 1, &offer)
    };
    assert!(plan(&[departed], &view, RULES).orphans.is_empty());
    let lost = plan(&[departed], &View::default(), RULES);
    assert!(lost.bundles.is_empty());
    let (holding, image) = (0, 0);
    assert_eq!(lost.lost, [Lost { holding, image }]);
}

#[test]
fn names_that_nothing_holds_are_orphans_unless_somebody_loaded_them_by_hand() {
    let offer = offer(vec![image("x:1", "a")]);
    let mut view = settled(&[holding("/a", 1, &offer)]);
    let mut by_hand = view.records["docker.io/library/x:1"].clone();
    let loaded = (labels::SOURCE.to_owned(), labels::BY_HAND.to_owned());
    by_hand.labels.extend([loaded]);
    view.records
        .insert("docker.io/library/hand:1".to_owned(), by_hand);
    let plan = plan(&[], &view, RULES);
    assert_eq!(plan.orphans.len(), 3);
    for orphan in &plan.orphans {
        assert_ne!(orphan.name, "docker.io/library/hand:1");
        assert_eq!(orphan.bundle, offer.short_id());
        assert!(orphan.created && orphan.pinned);
    }
}

#[test]
fn what_was_loaded_by_hand_is_not_taken_over() {
    let offer = offer(vec![image("x:1", "a")]);
    let holdings = [holding("/a", 1, &offer)];
    let mut view = settled(&holdings);
    for record in view.records.values_mut() {
        let by_hand = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let other = by_hand(labels::BUNDLE, "other");
        record
            .labels
            .extend([other, by_hand(labels::SOURCE, labels::BY_HAND)]);
    }
    let plan = plan(&holdings, &view, RULES);
    assert!(plan.bundles.is_empty(), "{plan:?}");
}

#[test]
fn a_copy_of_a_record_is_not_ours_though_its_labels_are() {
    let offer = offer(vec![image("x:1", "a")]);
    let mut view = settled(&[holding("/a", 1, &offer)]);
    let copy = view.records["docker.io/library/x:1"].clone();
    view.records.insert("example.org/mine:1".to_owned(), copy);
    let plan = plan(&[], &view, RULES);
    let mine = |orphan: &&Orphan| orphan.name == "example.org/mine:1";
    let orphan = plan.orphans.iter().find(mine).unwrap();
    assert!(!orphan.created && !orphan.pinned);
}

#[test]
fn a_name_that_goes_meanwhile_is_made_anew_with_all_its_labels() {
    let (a, b) = (
        offer(vec![image("x:1", "a")]),
        offer(vec![image("x:1", "a"), image("y:1", "b")]),
    );
    let view = settled(&[holding("/a", 1, &a)]);
    let plan = plan(&[holding("/b", 2, &b)], &view, RULES);
    for step in &plan.bundles[0].steps {
        for label in [labels::BUNDLE, labels::CREATED, labels::CRI_PINNED] {
            assert!(step.fresh.contains_key(label), "{step:?}");
        }
    }
    let is_held = |step: &&Step| step.action == Action::Hold;
    let held: Vec<_> = plan.bundles[0].steps.iter().filter(is_held).collect();
    assert_eq!(held.len(), 3);
    assert!(
        held.iter()
            .all(|step| !step.labels.contains_key(labels::CREATED))
    );
}

#[test]
fn what_another_bundle_is_just_publishing_is_not_put_right() {
    let (old, new) = (
        offer(vec![image("x:1", "a")]),
        offer(vec![image("x:1", "b")]),
    );
    let known = [holding("/a", 1, &old)];
    let view = carry_out(
        &plan(&[holding("/b", 2, &new)], &settled(&known), RULES),
        settled(&known),
    );
    let mut plan = plan(&known, &view, RULES);
    assert_eq!(plan.bundles[0].steps.len(), 1, "the name would move back");
    plan.spare_unknown(&known, &view);
    assert!(plan.bundles.is_empty(), "{plan:?}");
}

#[test]
fn two_manifests_with_one_config_do_not_fight_for_its_id() {
    let (mut a, mut b) = (image("x:1", "a"), image("y:1", "b"));
    b.config = a.config.clone();
    b.blobs[1] = a.blobs[1].clone();
    a.names = vec!["x:1".parse().unwrap()];
    let offer = offer(vec![a, b]);
    let holdings = [holding("/a", 1, &offer)];
    let view = settled(&holdings);
    let again = plan(&holdings, &view, RULES);
    assert!(again.bundles.is_empty(), "{again:?}");
    assert!(again.conflicts.is_empty());
}

#[test]
fn a_layout_gets_the_tag_alone() {
    let offer = offer(vec![image("x:1", "a")]);
    let plan = plan(
        &[holding("/a", 1, &offer)],
        &View::default(),
        RecordRules::Layout,
    );
    let names: Vec<&str> = plan.bundles[0]
        .steps
        .iter()
        .map(|s| s.name.as_str())
        .collect();
    assert_eq!(names, ["docker.io/library/x:1"]);
    assert!(
        !plan.bundles[0].steps[0]
            .labels
            .contains_key(labels::CRI_PINNED)
    );
}
