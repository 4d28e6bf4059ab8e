//! What the daemon tells about its plugins and its containers.

use airdock_containerd::Client;
use airdock_testkit::fixture::{Bundle, Image};
use airdock_testkit::{Daemon, Outcome, Suite};

use crate::with_client;

pub(crate) fn tests(suite: Suite) -> Suite {
    suite
        .on_each_containerd("a_plugin_tells_its_folder", &[], with_client(exports))
        .on_each_containerd("an_absent_plugin_tells_nothing", &[], with_client(absent))
        .on_each_containerd("images_in_use_are_known", &[], with_client(in_use))
}

async fn exports(client: Client, daemon: &mut Daemon) -> Outcome {
    let kind = "io.containerd.snapshotter.v1";
    let root = client.plugin_export(kind, "overlayfs", "root").await?;
    let folder = daemon.root().join("io.containerd.snapshotter.v1.overlayfs");
    assert_eq!(root.as_deref(), folder.to_str());
    Ok(())
}

async fn absent(client: Client, _daemon: &mut Daemon) -> Outcome {
    let kind = "io.containerd.snapshotter.v1";
    assert_eq!(client.plugin_export(kind, "absent", "root").await?, None);
    assert_eq!(
        client.plugin_export(kind, "overlayfs", "absent").await?,
        None
    );
    Ok(())
}

async fn in_use(client: Client, daemon: &mut Daemon) -> Outcome {
    assert!(client.containers().await?.is_empty());
    let name = "example.com/airdock/t:1";
    let tar = daemon.home().join("t.tar");
    let image = Image::small("t").entrypoint(&["/t"]);
    Bundle::new().with(&[name], image).oci().write_tar(&tar)?;
    daemon.ctr_text(&["images", "import", &tar.to_string_lossy()])?;
    for id in ["one", "two"] {
        daemon.ctr_text(&["containers", "create", name, id])?;
    }
    let containers = client.containers().await?;
    assert_eq!(containers.len(), 2);
    for container in containers {
        assert_eq!(container.image, name);
        assert_ne!(container.snapshot, "");
        let asked = client.snapshot_parent(&container.snapshotter, &container.snapshot);
        let parent = asked.await?.unwrap_or_default();
        assert!(
            client
                .snapshot_exists(&container.snapshotter, &parent)
                .await?
        );
    }
    Ok(())
}
