//! What is worth knowing of an image that stands in nobody's way.

use airdock_testkit::fixture::{Bundle, Image, Target};
use serde_json::json;

use crate::seen::{NAME, see};

#[test]
fn what_a_config_asks_of_runtimes_is_told_with_its_platform() {
    let odd = Image::small("a")
        .platform("linux/s390x")
        .with_config(
            "/config/Labels",
            json!({"containerd.io/restart.status": "running"}),
        )
        .with_config("/config/Volumes", json!({"/../etc": {}}))
        .with_config("/config/User", json!("4294967296"));
    for bundle in [
        Bundle::new().with(&[NAME], Target::index([Image::small("b"), odd.clone()])),
        Bundle::new().with(&[NAME], odd.platform("linux/amd64")),
    ] {
        let seen = see(&bundle.oci());
        seen.assert("ok", &[]);
        assert_eq!(seen.notices.len(), 3, "{seen:?}");
        let told = seen.notices.iter();
        let told =
            told.filter(|it| it.starts_with("linux/") && it.contains(": its config has the"));
        assert_eq!(told.count(), 3, "{seen:?}");
    }
}

#[test]
fn configs_of_docker_archives_are_looked_at_too() {
    let odd = Image::small("a").with_config("/config/User", json!("0:2147483648"));
    let seen = see(&Bundle::new().with(&[NAME], odd).docker());
    seen.assert("ok", &[]);
    assert!(
        seen.notices[0].contains("the user \"0:2147483648\""),
        "{seen:?}"
    );
}
