//! Pods, started as kubelet starts them with `imagePullPolicy: Never`.
//!
//! A client of CRI that owes nothing to the product's.

mod wire;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;

use crate::daemon::Daemon;
use crate::wait;
use wire::{
    ContainerConfig, ContainerId, ContainerMetadata, ContainerStatus, ContainerStatusResponse,
    CreateContainerRequest, EXITED, Empty, ImageRequest, ImageSpec, ImageStatusResponse, PodConfig,
    PodId, PodLinux, PodMetadata, RunPodRequest,
};

const IMAGES: &str = "/runtime.v1.ImageService";
const RUNTIME: &str = "/runtime.v1.RuntimeService";

/// Setting up a pod's network and its first container takes about a second here.
const CALL: Duration = Duration::from_secs(60);

/// The name of each pod's one container, and of its log.
const CONTAINER: &str = "main";

/// What kubelet is told of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// `sha256:<config digest>`.
    pub id: String,
    /// `repository:tag`.
    pub tags: Vec<String>,
    /// `repository@digest`.
    pub digests: Vec<String>,
    /// Whether kubelet's garbage collection spares it.
    pub pinned: bool,
}

/// A container that ran to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Its exit code.
    pub code: i32,
    /// Its log as CRI writes it: `time stream F text` on each line.
    pub log: String,
}

/// What kubelet does with a daemon's CRI.
#[derive(Debug)]
pub struct Kubelet {
    runtime: Runtime,
    channel: Channel,
    logs: PathBuf,
    cgroup: String,
}

impl Kubelet {
    /// Connects to a daemon with CRI, which may still be starting it.
    pub fn connect(daemon: &Daemon) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let kubelet = Self {
            channel: runtime.block_on(async { channel(daemon.socket()) }),
            runtime,
            logs: daemon.home().join("pods"),
            cgroup: format!("/{}", daemon.tag()),
        };
        wait::until("an answer of CRI", wait::DEADLINE, || {
            let answer: Result<Empty, _> = kubelet.call(RUNTIME, "Version", Empty {});
            answer.ok()
        })?;
        Ok(kubelet)
    }

    /// What the runtime has under a tag, `repository@digest` or id; none when it has nothing.
    pub fn image(&self, name: &str) -> io::Result<Option<Image>> {
        let image = Some(spec(name));
        let request = ImageRequest { image };
        let answer: ImageStatusResponse = self.call(IMAGES, "ImageStatus", request)?;
        Ok(answer.image.map(|image| Image {
            id: image.id,
            tags: image.repo_tags,
            digests: image.repo_digests,
            pinned: image.pinned,
        }))
    }

    /// The same, waited for: CRI hears of a new record a moment after it was made.
    pub fn wait_for_image(&self, name: &str) -> io::Result<Image> {
        wait::until(&format!("{name} in CRI"), wait::DEADLINE, || {
            self.image(name).transpose()
        })?
    }

    /// Removes an image with all its names, as kubelet's garbage collection and `crictl rmi` do.
    pub fn remove(&self, id: &str) -> io::Result<()> {
        let image = Some(spec(id));
        let _: Empty = self.call(IMAGES, "RemoveImage", ImageRequest { image })?;
        Ok(())
    }

    /// Runs an image to its end in a pod named `pod`, which is removed afterwards.
    ///
    /// Like kubelet, asks for the image first, and starts what it is told; nothing is pulled.
    pub fn run(&self, pod: &str, image: &str) -> io::Result<Ran> {
        let image = self.present(image)?;
        let config = self.pod_config(pod)?;
        let id = self.run_pod(&config)?;
        let status = self.run_container(&id, &config, &image.id);
        let log = fs::read_to_string(PathBuf::from(config.log_directory).join(CONTAINER));
        self.remove_pod(&id)?;
        let code = status?.exit_code;
        Ok(Ran { code, log: log? })
    }

    /// Starts an image in a pod named `pod`, and lets both run until the daemon goes.
    pub fn start(&self, pod: &str, image: &str) -> io::Result<()> {
        let image = self.present(image)?;
        let config = self.pod_config(pod)?;
        let id = self.run_pod(&config)?;
        self.start_container(&id, &config, &image.id).map(drop)
    }

    fn present(&self, image: &str) -> io::Result<Image> {
        let absent = || io::Error::new(io::ErrorKind::NotFound, format!("{image} isn't present"));
        self.image(image)?.ok_or_else(absent)
    }

    fn pod_config(&self, name: &str) -> io::Result<PodConfig> {
        let logs = self.logs.join(name);
        fs::create_dir_all(&logs)?;
        Ok(PodConfig {
            metadata: Some(PodMetadata {
                name: name.to_owned(),
                uid: name.to_owned(),
                namespace: "default".to_owned(),
            }),
            log_directory: logs.to_string_lossy().into_owned(),
            linux: Some(PodLinux {
                cgroup_parent: self.cgroup.clone(),
            }),
        })
    }

    fn run_pod(&self, config: &PodConfig) -> io::Result<PodId> {
        let config = Some(config.clone());
        self.call(RUNTIME, "RunPodSandbox", RunPodRequest { config })
    }

    fn run_container(
        &self,
        pod: &PodId,
        config: &PodConfig,
        image: &str,
    ) -> io::Result<ContainerStatus> {
        let id = self.start_container(pod, config, image)?;
        wait::until("the container's end", wait::DEADLINE, || {
            self.container(&id).transpose()
        })?
    }

    fn start_container(
        &self,
        pod: &PodId,
        config: &PodConfig,
        image: &str,
    ) -> io::Result<ContainerId> {
        let request = CreateContainerRequest {
            pod_sandbox_id: pod.pod_sandbox_id.clone(),
            config: Some(container_config(image)),
            sandbox_config: Some(config.clone()),
        };
        let id: ContainerId = self.call(RUNTIME, "CreateContainer", request)?;
        let _: Empty = self.call(RUNTIME, "StartContainer", id.clone())?;
        Ok(id)
    }

    /// The status of a container that has ended.
    fn container(&self, id: &ContainerId) -> io::Result<Option<ContainerStatus>> {
        let answer: ContainerStatusResponse = self.call(RUNTIME, "ContainerStatus", id.clone())?;
        Ok(answer.status.filter(|status| status.state == EXITED))
    }

    fn remove_pod(&self, id: &PodId) -> io::Result<()> {
        let _: Empty = self.call(RUNTIME, "StopPodSandbox", id.clone())?;
        let _: Empty = self.call(RUNTIME, "RemovePodSandbox", id.clone())?;
        Ok(())
    }

    fn call<Q, A>(&self, service: &str, method: &str, request: Q) -> io::Result<A>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let path = PathAndQuery::try_from(format!("{service}/{method}"));
        let path = path.map_err(io::Error::other)?;
        let mut client = Grpc::new(self.channel.clone());
        let answer = self.runtime.block_on(async {
            client
                .ready()
                .await
                .map_err(|e| Status::unavailable(e.to_string()))?;
            let codec = ProstCodec::<Q, A>::default();
            client.unary(Request::new(request), path, codec).await
        });
        answer
            .map(tonic::Response::into_inner)
            .map_err(|status| io::Error::other(format!("{method}: {}", status.message())))
    }
}

/// The runtime's socket; the name in the endpoint is never looked up.
fn channel(socket: PathBuf) -> Channel {
    let connect = move |_: Uri| {
        let socket = socket.clone();
        async move { UnixStream::connect(socket).await.map(TokioIo::new) }
    };
    Endpoint::from_static("http://cri")
        .timeout(CALL)
        .connect_with_connector_lazy(service_fn(connect))
}

fn spec(image: &str) -> ImageSpec {
    let image = image.to_owned();
    ImageSpec { image }
}

fn container_config(image: &str) -> ContainerConfig {
    ContainerConfig {
        metadata: Some(ContainerMetadata {
            name: CONTAINER.to_owned(),
        }),
        image: Some(spec(image)),
        log_path: CONTAINER.to_owned(),
        linux: Some(Empty {}),
    }
}
