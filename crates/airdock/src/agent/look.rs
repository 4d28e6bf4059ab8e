//! A look at the store, and what spares the next one: while neither what it holds nor what the
//! bundles give has changed since all was found in order, all is in order.

use super::bring::OwnedHolding;
use crate::store::view::{Revision, Seen};
use crate::store::{Store, StoreError};

/// What a look came to.
#[derive(Debug)]
pub struct Looked {
    /// What the store holds.
    pub seen: Seen,
    /// The image that CRI starts every pod with, where there is a CRI.
    pub sandbox: Option<String>,
}

/// Looks at the store, all of it unless it is as it was in a revision that is known.
pub(super) async fn look(
    store: Store,
    tidy: bool,
    known: Option<Revision>,
) -> Result<Looked, StoreError> {
    if tidy {
        store.tidy().await?;
        store.bury().await?;
    }
    store.clear_leftovers().await?;
    Ok(Looked {
        sandbox: store.sandbox_image().await,
        seen: store.look(known).await?,
    })
}

/// What the store held, and what was to be held, when nothing was to be done.
#[derive(Debug)]
pub(super) struct InOrder {
    revision: Revision,
    holdings: Vec<OwnedHolding>,
}

impl InOrder {
    pub(super) fn new(revision: Revision, holdings: Vec<OwnedHolding>) -> Self {
        Self { revision, holdings }
    }

    /// What the store has to be for nothing to be done for these.
    pub(super) fn revision_for(&self, holdings: &[OwnedHolding]) -> Option<Revision> {
        let same = self.holdings.len() == holdings.len()
            && std::iter::zip(&self.holdings, holdings).all(|(a, b)| a.is_same(b));
        same.then_some(self.revision)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use airdock_bundle::digest::{Algorithm, Digest};
    use jiff::Timestamp;

    use super::*;
    use crate::agent::offer::Offer;
    use crate::config::OnConflict;

    fn holding() -> OwnedHolding {
        OwnedHolding {
            path: "/bundles/a.tar".into(),
            source: "source".to_owned(),
            arrived: Timestamp::UNIX_EPOCH,
            live: true,
            is_latest: true,
            on_conflict: OnConflict::Replace,
            offer: Arc::new(Offer {
                id: Digest::of(Algorithm::Sha256, b"a"),
                images: Vec::new(),
            }),
        }
    }

    #[test]
    fn any_change_of_what_is_held_asks_for_a_whole_look() {
        let held = holding();
        let revision = Revision([1, 2]);
        let in_order = InOrder::new(revision, vec![held.clone()]);
        assert_eq!(
            in_order.revision_for(std::slice::from_ref(&held)),
            Some(revision)
        );
        let changed = |change: fn(&mut OwnedHolding)| {
            let mut other = held.clone();
            change(&mut other);
            vec![other]
        };
        for others in [
            vec![],
            vec![held.clone(), held.clone()],
            changed(|it| it.path = "/bundles/b.tar".into()),
            changed(|it| it.source = "another".to_owned()),
            changed(|it| it.arrived = Timestamp::MAX),
            changed(|it| it.live = false),
            changed(|it| it.is_latest = false),
            changed(|it| it.on_conflict = OnConflict::Keep),
            changed(|it| it.offer = holding().offer),
        ] {
            assert_eq!(in_order.revision_for(&others), None, "{others:?}");
        }
    }
}
