//! What happens next: chosen by dice from what makes sense now.

use crate::action::{Action, FOREIGN};
use crate::agent::End;
use crate::directory::{ARCHIVES, Damage, LAYOUTS, is_layout};
use crate::image::{Contents, NAMES, Seed, digests};
use crate::sequence::World;

/// Bytes that a full disk may have left: none, room for records, for a small image, for most.
const LEFT: [u64; 4] = [0, 64 << 10, 1 << 20, 4 << 20];

/// Images that bundles have: few, so that bundles share them.
const IMAGES: usize = 6;

impl World<'_, '_> {
    pub(crate) fn choose(&mut self) -> Action {
        if !self.agent.is_running() && self.dice.once_in(3) {
            return Action::Start;
        }
        loop {
            if let Some(action) = self.propose() {
                return action;
            }
        }
    }

    /// Nothing where the dice fell on something that makes no sense now.
    fn propose(&mut self) -> Option<Action> {
        Some(match self.dice.below(100) {
            0..28 => Action::Put {
                path: self.any_path(),
                contents: self.contents(),
                slowly: self.dice.once_in(3),
            },
            28..37 => self.spoil(),
            37..44 => {
                let (from, to) = self.two_paths()?;
                Action::Rename(from, to)
            }
            44..49 => {
                let (from, to) = self.two_paths()?;
                Action::Copy(from, to)
            }
            49..60 => Action::Remove(self.path()?),
            60..65 => Action::Touch(self.path()?),
            65..68 => Action::End(End::Stopped),
            68..72 => Action::End(End::Killed),
            72..74 => Action::RestartStore,
            74..80 => Action::Delete(self.record()?),
            80..83 => Action::Unpin(self.record()?),
            83..85 => Action::DropLayer(self.own_image()?),
            85..87 => Action::ForeignImage(self.dice.pick(&FOREIGN)?),
            87..89 => Action::ForeignLabel(self.record()?),
            89..91 => Action::ForeignPin(self.unheld()?),
            91..93 => Action::ForeignMove(self.dice.pick(&NAMES)?),
            93..94 => Action::ForeignTag(self.held()?),
            94..98 => self.disk()?,
            _ => Action::Settle,
        })
    }

    /// A full disk doesn't get fuller.
    fn disk(&mut self) -> Option<Action> {
        self.store.disk()?;
        match self.full {
            Some(_) => Some(Action::FreeDisk),
            None => self.dice.pick(&LEFT).map(Action::FillDisk),
        }
    }

    fn any_path(&mut self) -> &'static str {
        let paths = [&ARCHIVES[..], &LAYOUTS[..]].concat();
        paths[self.dice.below(paths.len())]
    }

    fn path(&mut self) -> Option<&'static str> {
        let paths: Vec<&'static str> = self.meaning.files.keys().copied().collect();
        self.dice.pick(&paths)
    }

    /// A path that is taken, and another of the same kind.
    fn two_paths(&mut self) -> Option<(&'static str, &'static str)> {
        let from = self.path()?;
        let kind = if is_layout(from) {
            &LAYOUTS[..]
        } else {
            &ARCHIVES[..]
        };
        let to = self.dice.pick(kind)?;
        (from != to).then_some((from, to))
    }

    fn contents(&mut self) -> Contents {
        let mut contents = Contents::new();
        for _ in 0..=self.dice.below(3) {
            let name = NAMES[self.dice.below(NAMES.len())];
            contents.insert(name, self.dice.below(IMAGES) as Seed + 1);
        }
        contents
    }

    /// A damaged byte shows when the blob is sent: it needs an image that the store never had.
    fn spoil(&mut self) -> Action {
        let path = self.any_path();
        let mut contents = self.contents();
        if let Some(file) = self.meaning.files.get(path)
            && self.dice.once_in(2)
        {
            contents.extend(file.content.gives.keys().map(|&name| (name, 1)));
        }
        let names: Vec<&'static str> = contents.keys().copied().collect();
        let name = names[self.dice.below(names.len())];
        let damage = match self.dice.below(3) {
            0 if !is_layout(path) => Damage::Cut,
            1 => Damage::MissingLayer(name),
            _ => {
                self.fresh += 1;
                contents.insert(name, self.fresh);
                Damage::Flipped(name)
            }
        };
        Action::Spoil {
            path,
            contents,
            damage,
        }
    }

    /// A name that some bundle gives.
    fn held(&mut self) -> Option<&'static str> {
        let names: Vec<&'static str> = self.meaning.names().into_keys().collect();
        self.dice.pick(&names)
    }

    fn unheld(&mut self) -> Option<&'static str> {
        let held = self.meaning.names();
        let names: Vec<&'static str> = NAMES
            .iter()
            .copied()
            .filter(|n| !held.contains_key(n))
            .collect();
        self.dice.pick(&names)
    }

    /// An image that can be brought again.
    fn own_image(&mut self) -> Option<Seed> {
        let kept = self.meaning.kept();
        let claims = self.meaning.claims();
        let seeds: Vec<Seed> = claims.iter().map(|claim| claim.seed).collect();
        let seeds: Vec<Seed> = seeds.into_iter().filter(|s| !kept.contains(s)).collect();
        self.dice.pick(&seeds)
    }

    /// A record of an image that can be brought again.
    fn record(&mut self) -> Option<String> {
        let kept = self.meaning.kept();
        let claims = self.meaning.claims();
        let claims: Vec<_> = claims
            .into_iter()
            .filter(|c| !kept.contains(&c.seed))
            .collect();
        let claim = self.dice.pick(&claims)?;
        let names = self.store.names(claim.name, &digests(claim.seed));
        Some(self.dice.pick(&names)?.0)
    }
}
