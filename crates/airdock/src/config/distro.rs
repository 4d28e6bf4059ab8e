//! Where each Kubernetes distribution keeps containerd's socket and its image directory.

use std::path::Path;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A distribution whose containerd is on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distro {
    /// k0s: <https://docs.k0sproject.io/>
    K0s,
    /// k3s: <https://docs.k3s.io/>
    K3s,
    /// RKE2: <https://docs.rke2.io/>
    Rke2,
    /// MicroK8s: <https://microk8s.io/>
    Microk8s,
    /// containerd as Debian, Docker or kubeadm install it.
    Containerd,
}

impl Distro {
    /// Every distribution, in the order in which their sockets are probed.
    pub const ALL: [Self; 5] = [
        Self::K0s,
        Self::K3s,
        Self::Rke2,
        Self::Containerd,
        Self::Microk8s,
    ];

    /// The socket of its containerd.
    pub fn socket(self) -> &'static Path {
        Path::new(match self {
            Self::K0s => "/run/k0s/containerd.sock",
            Self::K3s | Self::Rke2 => "/run/k3s/containerd/containerd.sock",
            Self::Microk8s => "/var/snap/microk8s/common/run/containerd.sock",
            Self::Containerd => "/run/containerd/containerd.sock",
        })
    }

    /// The directory in which its own importer looks for bundles; airdock's own for plain
    /// containerd, which has none.
    pub fn image_directory(self) -> &'static Path {
        Path::new(match self {
            Self::K0s => "/var/lib/k0s/images",
            Self::K3s => "/var/lib/rancher/k3s/agent/images",
            Self::Rke2 => "/var/lib/rancher/rke2/agent/images",
            Self::Microk8s => "/var/snap/microk8s/common/image-import",
            Self::Containerd => "/var/lib/airdock/bundles",
        })
    }
}
