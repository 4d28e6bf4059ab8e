//! Each image that is looked for, followed to everything that is taken of it.

use std::collections::BTreeSet;
use std::pin::pin;

use airdock_bundle::digest::Digest;
use airdock_bundle::name::Name;
use airdock_bundle::write::Listed;
use futures_util::StreamExt as _;
use futures_util::stream;

use super::Making;
use super::sought::Sought;
use crate::pack::select::{SelectError, Selected, select, select_with_referrers};

/// Images followed to their layers at a time: a registry far away answers each of their documents
/// after a tenth of a second, and limits how many may be asked for at once.
const AT_A_TIME: usize = 8;

/// An image that goes into the bundle.
#[derive(Debug)]
pub(in crate::pack) struct Chosen {
    pub(in crate::pack) title: String,
    /// Where the origin is asked for its blobs.
    pub(super) name: Name,
    pub(super) origin: usize,
    pub(in crate::pack) selected: Selected,
}

impl Chosen {
    /// Whether it has this layer, wherever that comes from.
    pub(super) fn needs(&self, layer: &Digest) -> bool {
        let Selected {
            layers, elsewhere, ..
        } = &self.selected;
        layers.contains_key(layer) || elsewhere.contains_key(layer)
    }
}

impl Making<'_> {
    /// Takes several at a time, in their order; where a failure is the end, none after it.
    pub(super) async fn take_all(
        &self,
        sought: Vec<Sought>,
    ) -> Vec<(String, Result<Chosen, SelectError>)> {
        let taking = stream::iter(sought).map(|sought| async move {
            let title = sought.title();
            (title, self.take(sought).await)
        });
        let mut taking = pin!(taking.buffered(AT_A_TIME));
        let mut all = Vec::new();
        while let Some((title, taken)) = taking.next().await {
            let is_over = taken.is_err() && !self.request.keep_going;
            all.push((title, taken));
            if is_over {
                break;
            }
        }
        all
    }

    async fn take(&self, sought: Sought) -> Result<Chosen, SelectError> {
        let title = sought.title();
        let (origin, listed, name) = match (sought.listed, sought.name) {
            (Some((origin, listed)), name) => {
                let name = name.unwrap_or_else(|| nameless(&listed.descriptor.digest));
                (origin, listed, name)
            }
            (None, Some(name)) => self.resolve(name).await?,
            (None, None) => return Err(self.not_found()),
        };
        let from = self.origins.get(origin).ok_or_else(|| self.not_found())?;
        let platforms = self.request.wanted();
        let selected = match self.request.with_referrers {
            true => select_with_referrers(from, &name, listed, &platforms).await?,
            false => select(from, &name, listed, &platforms).await?,
        };
        Ok(Chosen {
            title,
            name,
            origin,
            selected,
        })
    }

    async fn resolve(&self, name: Name) -> Result<(usize, Listed, Name), SelectError> {
        for (at, origin) in self.origins.iter().enumerate() {
            let Some(descriptor) = origin.resolve(&name).await? else {
                continue;
            };
            if let Some(digest) = name.digest()
                && *digest != descriptor.digest
            {
                let found = descriptor.digest;
                return Err(SelectError::DigestDiffers { found });
            }
            let names = both(&name);
            return Ok((at, Listed { descriptor, names }, name));
        }
        Err(self.not_found())
    }

    fn not_found(&self) -> SelectError {
        let origins: Vec<String> = self.origins.iter().map(ToString::to_string).collect();
        SelectError::NotFound {
            origins: origins.join(" or "),
        }
    }
}

/// A name with tag and digest stands for two.
fn both(name: &Name) -> BTreeSet<Name> {
    let mut names = BTreeSet::from([name.clone().tag_first()]);
    if let Some(digest) = name.digest() {
        names.extend(Name::parse(&name.with_digest(digest)).ok());
    }
    names
}

/// Where something without a name is asked for: bundles don't look at it.
fn nameless(digest: &Digest) -> Name {
    #[expect(
        clippy::expect_used,
        reason = "a constant repository with a checked digest is a name"
    )]
    Name::parse(&format!("localhost/nameless@{digest}")).expect("a name")
}
