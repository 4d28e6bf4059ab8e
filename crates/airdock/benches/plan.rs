//! What a plan costs, for as many bundles as an edge site's disk holds and for ten times as many:
//! `cargo bench -p airdock`.
#![expect(clippy::expect_used, reason = "the inputs are made here")]

use std::collections::BTreeMap;
use std::path::Path;

use airdock::agent::offer::{BlobKind, Offer, OfferedBlob, OfferedImage, Target};
use airdock::agent::plan::{Holding, Plan, plan};
use airdock::config::OnConflict;
use airdock::store::records::RecordRules;
use airdock::store::view::{Record, Stored, View};
use airdock_bundle::digest::{Algorithm, Digest};
use divan::Bencher;
use divan::counter::ItemsCount;
use jiff::Timestamp;

const BUNDLES: [usize; 2] = [100, 1000];

fn main() {
    divan::main();
}

/// Nothing is in the store: everything is to be written.
#[divan::bench(args = BUNDLES)]
fn empty_store(bencher: Bencher<'_, '_>, bundles: usize) {
    bench(bencher, &offers(bundles), &View::default());
}

/// All is as it should be.
#[divan::bench(args = BUNDLES)]
fn nothing_to_do(bencher: Bencher<'_, '_>, bundles: usize) {
    let offers = offers(bundles);
    let holdings = holdings(&offers);
    let all = plan(&holdings, &View::default(), RecordRules::Containerd);
    bench(bencher, &offers, &carried_out(&all));
}

fn bench(bencher: Bencher<'_, '_>, offers: &[Offer], view: &View) {
    let holdings = holdings(offers);
    bencher
        .counter(ItemsCount::new(offers.len()))
        .bench(|| plan(&holdings, view, RecordRules::Containerd));
}

/// Each of one image of four layers.
fn offers(count: usize) -> Vec<Offer> {
    let offer = |n| Offer {
        id: digest(&format!("bundle {n}")),
        images: vec![image(n)],
    };
    (0..count).map(offer).collect()
}

fn image(number: usize) -> OfferedImage {
    let part = |part: &str| digest(&format!("{part} of {number}"));
    let leaves = ["config", "1", "2", "3", "4"].map(part);
    let mut blobs: Vec<OfferedBlob> = leaves.iter().map(|leaf| blob(leaf, &[])).collect();
    let manifest = part("manifest");
    blobs.push(blob(&manifest, &leaves));
    let name = format!("registry.example/team/image-{number}:1");
    OfferedImage {
        names: vec![name.parse().expect("a name")],
        target: Target {
            media_type: "application/vnd.oci.image.manifest.v1+json".to_owned(),
            digest: manifest,
            size: 1000,
        },
        config: part("config"),
        platform: "linux/amd64".to_owned(),
        blobs,
    }
}

fn blob(digest: &Digest, children: &[Digest]) -> OfferedBlob {
    let child = |(n, child): (usize, &Digest)| (format!("l.{n}"), child.clone());
    OfferedBlob {
        digest: digest.clone(),
        size: 1000,
        kind: match children.is_empty() {
            true => BlobKind::Leaf,
            false => BlobKind::Document,
        },
        refs: children.iter().enumerate().map(child).collect(),
    }
}

fn holdings(offers: &[Offer]) -> Vec<Holding<'_>> {
    let holding = |offer| Holding {
        path: Path::new("/bundles/one.tar"),
        source: "bundles",
        arrived: Timestamp::UNIX_EPOCH,
        live: true,
        on_conflict: OnConflict::Replace,
        offer,
    };
    offers.iter().map(holding).collect()
}

/// A store after everything that a plan says was done.
fn carried_out(plan: &Plan) -> View {
    let mut view = View::default();
    for bundle in &plan.bundles {
        for blob in &bundle.write {
            let refs = blob.refs.iter().map(|(_, child)| child.clone()).collect();
            let size = blob.size;
            view.content
                .insert(blob.digest.clone(), Stored { size, refs });
        }
        for step in &bundle.steps {
            let (target, labels) = (step.target.digest.clone(), step.fresh.clone());
            let labels: BTreeMap<String, String> = labels.into_iter().collect();
            view.records
                .insert(step.name.clone(), Record { target, labels });
        }
    }
    view
}

fn digest(of: &str) -> Digest {
    Digest::of(Algorithm::Sha256, of.as_bytes())
}
