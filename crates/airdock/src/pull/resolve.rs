//! Names of hosts to addresses, without the C library.
//!
//! A static binary can't load the name service modules that the machine's libc would use, so the
//! same files are read here: `/etc/hosts` and `/etc/resolv.conf`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ResolverConfig, ResolverOpts};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Why a name has no address.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum NameError {
    #[error("no address is known for {name}; check the name, and /etc/resolv.conf")]
    Unknown { name: String },
    #[error("{name} can't be looked up: {reason}")]
    Failed { name: String, reason: String },
}

/// Looks names up as the machine is set up to.
pub(super) struct Resolver(Arc<TokioResolver>);

impl Resolver {
    /// Reads the machine's files now; a change of them is seen by the next run.
    pub(super) fn new() -> Result<Self, NetError> {
        let builder = TokioResolver::builder_tokio().unwrap_or_else(|_| {
            // Without name servers what stands in /etc/hosts is still found.
            let provider = TokioRuntimeProvider::default();
            let mut builder =
                TokioResolver::builder_with_config(ResolverConfig::default(), provider);
            *builder.options_mut() = ResolverOpts::default();
            builder
        });
        Ok(Self(Arc::new(builder.build()?)))
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = Arc::clone(&self.0);
        Box::pin(async move {
            let addresses = addresses(&resolver, name.as_str()).await?;
            // Port 0 is replaced by the address's own.
            let addresses = addresses.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

async fn addresses(resolver: &TokioResolver, name: &str) -> Result<Vec<IpAddr>, NameError> {
    let found = resolver.lookup_ip(name).await;
    let addresses: Vec<IpAddr> = match &found {
        Ok(found) => found.iter().collect(),
        Err(_) => Vec::new(),
    };
    match found {
        _ if !addresses.is_empty() => Ok(addresses),
        // RFC 6761 has these names be this machine, whatever its files say.
        _ if is_localhost(name) => Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]),
        Err(error) if !error.is_no_records_found() => Err(NameError::Failed {
            name: name.to_owned(),
            reason: error.to_string(),
        }),
        _ => Err(NameError::Unknown {
            name: name.to_owned(),
        }),
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}
