//! Leases: what was written under one is safe from garbage collection while it lives.

use std::time::SystemTime;

use prost_types::Timestamp;

use crate::Labels;
use crate::client::{Client, service};
use crate::error::{Call, Error, existed};
use crate::limits::{CALL_DEADLINE, SYNC_DEADLINE};
use crate::proto::leases::leases_client::LeasesClient;
use crate::proto::leases::{
    AddResourceRequest, CreateRequest, DeleteRequest, ListRequest, Resource,
};

/// The garbage collector drops a lease at this time (RFC 3339), whoever forgot it.
const EXPIRE: &str = "containerd.io/gc.expire";

/// A lease in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub id: String,
    pub created: Option<SystemTime>,
    pub labels: Labels,
}

impl Client {
    /// Creates a lease that ends by itself at `expires`. There is no call that moves this time.
    pub async fn lease_create(
        &self,
        id: &str,
        expires: SystemTime,
        mut labels: Labels,
    ) -> Result<(), Error> {
        let call = Call::new("leases.Create", id);
        labels.insert(EXPIRE.to_owned(), Timestamp::from(expires).to_string());
        let id = id.to_owned();
        let request = self.request(CreateRequest { id, labels });
        let mut service = service!(self, LeasesClient<_>);
        self.answer(&call, service.create(request)).await?;
        Ok(())
    }

    /// Ends a lease; `sync` waits for the garbage collection that follows, and also aborts the
    /// ingests that were opened under it. False when there was no such lease.
    pub async fn lease_delete(&self, id: &str, sync: bool) -> Result<bool, Error> {
        let call = Call::new("leases.Delete", id);
        let id = id.to_owned();
        let request = self.request(DeleteRequest { id, sync });
        let deadline = if sync { SYNC_DEADLINE } else { CALL_DEADLINE };
        let mut service = service!(self, LeasesClient<_>);
        let answer = self.answer_within(deadline, &call, service.delete(request));
        existed(answer.await)
    }

    /// The leases whose id starts with `prefix`.
    pub async fn leases(&self, prefix: &str) -> Result<Vec<Lease>, Error> {
        let call = Call::new("leases.List", "");
        let request = self.request(ListRequest::default());
        let mut service = service!(self, LeasesClient<_>);
        let leases = self.answer(&call, service.list(request)).await?.leases;
        let ours = leases.into_iter().filter(|it| it.id.starts_with(prefix));
        Ok(ours.map(Lease::from).collect())
    }

    /// Puts a blob that is already in the store under a lease.
    pub async fn lease_add(&self, lease: &str, digest: &str) -> Result<(), Error> {
        let call = Call::new("leases.AddResource", format!("{lease} {digest}"));
        let message = AddResourceRequest {
            id: lease.to_owned(),
            resource: Some(Resource {
                id: digest.to_owned(),
                r#type: "content".to_owned(),
            }),
        };
        let request = self.request(message);
        let mut service = service!(self, LeasesClient<_>);
        self.answer(&call, service.add_resource(request)).await
    }
}

impl From<crate::proto::leases::Lease> for Lease {
    fn from(lease: crate::proto::leases::Lease) -> Lease {
        Lease {
            id: lease.id,
            created: lease.created_at.and_then(|time| time.try_into().ok()),
            labels: lease.labels,
        }
    }
}
