//! What CRI says.

use airdock_containerd::{Client, Error};
use airdock_testkit::daemon::Options;
use airdock_testkit::fixture::{Bundle, Image};
use airdock_testkit::{Daemon, Outcome, Suite, Version};

use crate::with_client;

const PAUSE: &str = "example.com/airdock/pause:1";

pub(crate) fn tests(suite: Suite) -> Suite {
    let suite = suite.on_each_containerd(
        "without_cri_its_calls_say_so",
        &[],
        with_client(without_cri),
    );
    Version::ALL.into_iter().fold(suite, |suite, version| {
        let options = Options::with_cri(PAUSE);
        let suite = suite.on_containerd(
            version,
            options.clone(),
            "cri_tells_its_state",
            &[],
            with_client(state),
        );
        suite.on_containerd(
            version,
            options,
            "cri_finds_an_image",
            &[],
            with_client(image),
        )
    })
}

async fn without_cri(client: Client, _daemon: &mut Daemon) -> Outcome {
    let error = client.cri_status().await.unwrap_err();
    assert!(matches!(error, Error::Unimplemented { .. }), "{error}");
    let error = client.cri_image(PAUSE).await.unwrap_err();
    assert!(matches!(error, Error::Unimplemented { .. }), "{error}");
    Ok(())
}

async fn state(client: Client, daemon: &mut Daemon) -> Outcome {
    let status = client.cri_status().await?;
    assert!(status.ready);
    let told = (daemon.version() < Version::V2_1).then_some(PAUSE);
    assert_eq!(status.sandbox_image.as_deref(), told);
    let image_fs = client.cri_image_fs().await?;
    let folder = daemon.root().join("io.containerd.snapshotter.v1.overlayfs");
    assert_eq!(image_fs.len(), 1);
    assert_eq!(image_fs[0].mountpoint, folder.to_string_lossy());
    let snapshotter = client.cri_snapshotter().await?;
    assert_eq!(snapshotter.as_deref(), Some("overlayfs"));
    Ok(())
}

async fn image(client: Client, daemon: &mut Daemon) -> Outcome {
    assert_eq!(client.cri_image(PAUSE).await?, None);
    let tar = daemon.home().join("t.tar");
    let image = Image::small("t");
    Bundle::new()
        .with(&[PAUSE], image.clone())
        .oci()
        .write_tar(&tar)?;
    daemon.ctr_text(&["images", "import", &tar.to_string_lossy()])?;
    let found = loop {
        if let Some(found) = client.cri_image(PAUSE).await? {
            break found;
        }
    };
    assert_eq!(found.id, image.config().digest());
    assert_eq!(found.tags, [PAUSE]);
    Ok(())
}
