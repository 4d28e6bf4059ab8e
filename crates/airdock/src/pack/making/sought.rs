//! Which images are looked for: those that are named, or all that the origins list.

use std::collections::{BTreeMap, BTreeSet};

use airdock_bundle::digest::Digest;
use airdock_bundle::name::Name;
use airdock_bundle::write::Listed;

use super::{Failed, Making};
use crate::pack::error::PackError;
use crate::pack::origin::Origin;

/// What is looked for.
pub(super) struct Sought {
    /// `None` for what an origin lists without a name.
    pub(super) name: Option<Name>,
    pub(super) listed: Option<(usize, Listed)>,
}

impl Sought {
    pub(super) fn title(&self) -> String {
        match (&self.name, &self.listed) {
            (Some(name), _) => name.to_string(),
            (None, Some((_, listed))) => listed.descriptor.digest.to_string(),
            (None, None) => String::new(),
        }
    }
}

impl Making<'_> {
    /// Of an origin that is taken as a whole nothing may be lost without a word.
    pub(super) fn refuse(&mut self) -> Result<(), PackError> {
        if !self.request.names.is_empty() {
            return Ok(());
        }
        for (image, reason) in self.origins.iter().flat_map(Origin::refused) {
            self.fail(Failed { image, reason })?;
        }
        Ok(())
    }

    pub(super) fn sought(&mut self) -> Result<Vec<Sought>, PackError> {
        let names: BTreeSet<&Name> = self.request.names.iter().collect();
        if !names.is_empty() {
            let named = |name: &Name| Sought {
                name: Some(name.clone()),
                listed: None,
            };
            return Ok(names.into_iter().map(named).collect());
        }
        let mut all = Vec::new();
        let mut holders: BTreeMap<Name, Digest> = BTreeMap::new();
        for (at, origin) in self.origins.iter().enumerate() {
            let listed = origin.all().ok_or(PackError::NoNames)?;
            for mut listed in listed.iter().cloned() {
                let is_named = !listed.names.is_empty();
                self.claim(&mut listed, &mut holders)?;
                if is_named && listed.names.is_empty() {
                    continue;
                }
                all.push(Sought {
                    name: listed.names.first().cloned(),
                    listed: Some((at, listed)),
                });
            }
        }
        Ok(all)
    }

    /// Leaves each name to the first image that has it.
    fn claim(
        &mut self,
        listed: &mut Listed,
        holders: &mut BTreeMap<Name, Digest>,
    ) -> Result<(), PackError> {
        let digest = &listed.descriptor.digest;
        for name in std::mem::take(&mut listed.names) {
            let holder = holders
                .entry(name.clone())
                .or_insert_with(|| digest.clone());
            if holder == digest {
                listed.names.insert(name);
                continue;
            }
            let reason = format!("it is {holder} in one source, and {digest} in another");
            let image = name.to_string();
            self.fail(Failed { image, reason })?;
        }
        Ok(())
    }
}
