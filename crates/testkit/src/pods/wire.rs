//! The part of CRI (`runtime.v1`, k8s.io/cri-api) that starts a pod, by its field numbers.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Empty {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ImageSpec {
    #[prost(string, tag = "1")]
    pub(super) image: String,
}

/// What ImageStatus and RemoveImage ask for.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ImageRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) image: Option<ImageSpec>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ImageStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) image: Option<Image>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Image {
    #[prost(string, tag = "1")]
    pub(super) id: String,
    #[prost(string, repeated, tag = "2")]
    pub(super) repo_tags: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub(super) repo_digests: Vec<String>,
    #[prost(bool, tag = "8")]
    pub(super) pinned: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PodMetadata {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) uid: String,
    #[prost(string, tag = "3")]
    pub(super) namespace: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PodConfig {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<PodMetadata>,
    #[prost(string, tag = "3")]
    pub(super) log_directory: String,
    #[prost(message, optional, tag = "8")]
    pub(super) linux: Option<PodLinux>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PodLinux {
    #[prost(string, tag = "1")]
    pub(super) cgroup_parent: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RunPodRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) config: Option<PodConfig>,
}

/// A pod's id: what RunPodSandbox answers, and what Stop- and RemovePodSandbox ask for.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PodId {
    #[prost(string, tag = "1")]
    pub(super) pod_sandbox_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ContainerMetadata {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ContainerConfig {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ContainerMetadata>,
    #[prost(message, optional, tag = "2")]
    pub(super) image: Option<ImageSpec>,
    #[prost(string, tag = "11")]
    pub(super) log_path: String,
    /// Set, though empty: without it the runtime assumes a container of another system.
    #[prost(message, optional, tag = "15")]
    pub(super) linux: Option<Empty>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CreateContainerRequest {
    #[prost(string, tag = "1")]
    pub(super) pod_sandbox_id: String,
    #[prost(message, optional, tag = "2")]
    pub(super) config: Option<ContainerConfig>,
    #[prost(message, optional, tag = "3")]
    pub(super) sandbox_config: Option<PodConfig>,
}

/// A container's id: what CreateContainer answers, and what the other calls ask for.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ContainerId {
    #[prost(string, tag = "1")]
    pub(super) container_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ContainerStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<ContainerStatus>,
}

/// `ContainerState.CONTAINER_EXITED`.
pub(super) const EXITED: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(super) struct ContainerStatus {
    #[prost(int32, tag = "3")]
    pub(super) state: i32,
    #[prost(int32, tag = "7")]
    pub(super) exit_code: i32,
    #[prost(string, tag = "10")]
    pub(super) reason: String,
    #[prost(string, tag = "11")]
    pub(super) message: String,
}
