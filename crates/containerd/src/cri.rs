//! CRI: what kubelet will see. Only where the daemon's CRI plugin runs; elsewhere
//! [`Error::Unimplemented`].

use crate::client::{Client, service};
use crate::error::{Call, Error};
use crate::proto::cri::image_service_client::ImageServiceClient;
use crate::proto::cri::runtime_service_client::RuntimeServiceClient;
use crate::proto::cri::{
    FilesystemUsage, Image, ImageFsInfoRequest, ImageSpec, ImageStatusRequest, RuntimeStatus,
    StatusRequest, StatusResponse,
};

/// An image as kubelet sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriImage {
    /// The digest of its config.
    pub id: String,
    pub tags: Vec<String>,
    /// `repository@digest`.
    pub digests: Vec<String>,
    /// Whether kubelet's garbage collection leaves it alone; always false before 1.6.22 and 1.7.3.
    pub pinned: bool,
}

/// The state of the CRI plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriStatus {
    /// Whether it would start a container; the network is a matter of its own.
    pub ready: bool,
    /// The name of the pause image, which every pod needs. Told by 1.x alone.
    pub sandbox_image: Option<String>,
}

/// A file system that CRI keeps images on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFs {
    /// The snapshotter's own directory.
    pub mountpoint: String,
    pub used_bytes: u64,
}

impl Client {
    /// The image that kubelet finds under `name` (a normalised name or an id), if any.
    pub async fn cri_image(&self, name: &str) -> Result<Option<CriImage>, Error> {
        let call = Call::new("cri.ImageStatus", name);
        let image = Some(ImageSpec {
            image: name.to_owned(),
        });
        let request = self.request(ImageStatusRequest { image });
        let mut service = service!(self, ImageServiceClient<_>);
        let answer = self.answer(&call, service.image_status(request)).await?;
        Ok(answer.image.map(CriImage::from))
    }

    /// The plugin's state and what its configuration says about images.
    pub async fn cri_status(&self) -> Result<CriStatus, Error> {
        let call = Call::new("cri.Status", "");
        let request = self.request(StatusRequest { verbose: true });
        let mut service = service!(self, RuntimeServiceClient<_>);
        let answer = self.answer(&call, service.status(request)).await?;
        Ok(CriStatus::from(answer))
    }

    /// Where CRI keeps images.
    pub async fn cri_image_fs(&self) -> Result<Vec<ImageFs>, Error> {
        let call = Call::new("cri.ImageFsInfo", "");
        let request = self.request(ImageFsInfoRequest {});
        let mut service = service!(self, ImageServiceClient<_>);
        let answer = self.answer(&call, service.image_fs_info(request)).await?;
        Ok(answer
            .image_filesystems
            .into_iter()
            .map(ImageFs::from)
            .collect())
    }
}

impl From<Image> for CriImage {
    fn from(image: Image) -> CriImage {
        CriImage {
            id: image.id,
            tags: image.repo_tags,
            digests: image.repo_digests,
            pinned: image.pinned,
        }
    }
}

impl From<FilesystemUsage> for ImageFs {
    fn from(usage: FilesystemUsage) -> ImageFs {
        ImageFs {
            mountpoint: usage.fs_id.unwrap_or_default().mountpoint,
            used_bytes: usage.used_bytes.unwrap_or_default().value,
        }
    }
}

impl From<StatusResponse> for CriStatus {
    fn from(answer: StatusResponse) -> CriStatus {
        let status = answer.status.unwrap_or_default();
        let config = answer.info.get("config");
        CriStatus {
            ready: is_ready(&status),
            sandbox_image: config.and_then(|config| sandbox_image(config)),
        }
    }
}

fn is_ready(status: &RuntimeStatus) -> bool {
    let mut conditions = status.conditions.iter();
    conditions.any(|condition| condition.r#type == "RuntimeReady" && condition.status)
}

/// Reads the plugin's configuration, which is JSON.
fn sandbox_image(config: &str) -> Option<String> {
    let config: serde_json::Value = serde_json::from_str(config).ok()?;
    let name = config.get("sandboxImage")?.as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_configuration_that_names_a_sandbox_image_gives_one() {
        for (config, image) in [
            (
                r#"{"containerd":{},"sandboxImage":"pause:1"}"#,
                Some("pause:1"),
            ),
            (r#"{"containerd":{}}"#, None),
            (r#"{"sandboxImage":""}"#, None),
            (r#"{"sandboxImage":3}"#, None),
            ("not JSON", None),
        ] {
            assert_eq!(sandbox_image(config).as_deref(), image, "{config}");
        }
    }
}
