//! Under which settings a bundle was judged: when they change, it is looked at again.

use airdock_bundle::name::Name;
use airdock_bundle::platform::Matcher;
use serde::{Deserialize, Serialize};

use super::publish::Refused;
use crate::config::{NameFilter, Source};

/// The settings that decide what a bundle gives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The platform whose images are wanted.
    pub platform: String,
    /// Which names may be given.
    pub names: NameFilter,
    /// Whether it is taken although others may write it.
    pub insecure_permissions: bool,
}

impl Source {
    /// Under which settings its bundles are judged.
    pub(super) fn terms(&self, platform: &Matcher) -> Terms {
        Terms {
            platform: platform.wanted().to_string(),
            names: self.names.clone(),
            insecure_permissions: self.insecure_permissions,
        }
    }
}

impl NameFilter {
    /// Names that don't pass, as images that are left out on purpose.
    pub(super) fn left_out<'a>(&self, names: impl IntoIterator<Item = &'a Name>) -> Vec<Refused> {
        let stopped = names.into_iter().filter(|name| !self.passes(name));
        let left_out = stopped.map(|name| Refused {
            image: name.to_string(),
            names: vec![name.to_string()],
            reason: "left out by allow and deny of its source".to_owned(),
        });
        left_out.collect()
    }
}
