//! Which images and layers are in which part. How full one is, is kept up while it is filled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use airdock_bundle::digest::Digest;
use airdock_bundle::name::Name;
use airdock_bundle::write::{Contents, Listed, Size};

use crate::pack::error::PackError;
use crate::pack::making::{Chosen, Making};
use crate::pack::select::Selected;

/// What the names of other parts may take in an index, beside what is computed.
const SLACK: u64 = 16 * 1024;

/// The parts.
pub(super) struct Plan {
    max: u64,
    pub(super) parts: Vec<Planned>,
    /// Where each layer is.
    placed: BTreeMap<Digest, usize>,
}

#[derive(Default)]
pub(super) struct Planned {
    /// Positions of the images.
    images: BTreeSet<usize>,
    layers: BTreeSet<Digest>,
    size: Size,
    /// What is in `size`.
    counted: Counted,
}

/// Everything that a part holds or mentions once, however many of its images have it.
#[derive(Default)]
struct Counted {
    documents: BTreeSet<Digest>,
    /// Layers that other parts or bundles have.
    absent: BTreeSet<Digest>,
    bases: BTreeSet<String>,
    listed: BTreeSet<(Digest, Option<Name>)>,
}

impl Plan {
    pub(super) fn of(making: &Making<'_>, max: u64) -> Result<Self, PackError> {
        let mut plan = Self {
            max,
            parts: Vec::new(),
            placed: BTreeMap::new(),
        };
        for (at, chosen) in making.chosen.iter().enumerate() {
            plan.place(making, at, chosen)?;
        }
        Ok(plan)
    }

    fn place(&mut self, making: &Making<'_>, at: usize, chosen: &Chosen) -> Result<(), PackError> {
        let layers = chosen.selected.layers.keys();
        let new: BTreeSet<Digest> = layers
            .filter(|layer| !self.placed.contains_key(*layer))
            .cloned()
            .collect();
        let image = Image {
            at,
            selected: &chosen.selected,
            making,
        };
        if self.add(&image, &new) {
            return Ok(());
        }
        if new.is_empty() {
            let image = chosen.title.clone();
            return Err(PackError::NoPart { image });
        }
        for layer in new {
            let one = BTreeSet::from([layer.clone()]);
            if !self.add(&image, &one) {
                return Err(PackError::PartTooSmall {
                    image: chosen.title.clone(),
                    digest: layer,
                });
            }
        }
        Ok(())
    }

    /// Puts layers of an image into the last part, or into a new one; false where they fit into
    /// neither.
    fn add(&mut self, image: &Image<'_>, layers: &BTreeSet<Digest>) -> bool {
        let fits = |part: &Planned| {
            let size = part.size + image.more(part, layers);
            size.archive().saturating_add(SLACK) <= self.max && size.is_readable(SLACK)
        };
        if !self.parts.last().is_some_and(fits) {
            let part = Planned::default();
            if !fits(&part) {
                return false;
            }
            self.parts.push(part);
        }
        let at = self.parts.len() - 1;
        if let Some(part) = self.parts.last_mut() {
            part.add(image, layers);
        }
        let placed = layers.iter().map(|layer| (layer.clone(), at));
        self.placed.extend(placed);
        true
    }

    pub(super) fn contents(
        &self,
        making: &Making<'_>,
        at: usize,
        paths: &[PathBuf],
    ) -> Result<Contents, PackError> {
        let name = |layer: &Digest| {
            let path = paths.get(*self.placed.get(layer)?)?;
            let name = Path::new(path.file_name()?).to_string_lossy();
            // It stands in a list with spaces between.
            Some(name.replace(char::is_whitespace, "_"))
        };
        match self.parts.get(at) {
            Some(part) => part.contents(making, name),
            None => Ok(Contents::default()),
        }
    }
}

/// An image on its way into a part.
struct Image<'a> {
    at: usize,
    selected: &'a Selected,
    making: &'a Making<'a>,
}

impl<'a> Image<'a> {
    /// What `part` grows by with the image, and with these of its layers.
    fn more(&self, part: &Planned, layers: &BTreeSet<Digest>) -> Size {
        let counted = &part.counted;
        let documents = self.selected.documents.iter();
        let documents = documents.filter(|(digest, _)| !counted.documents.contains(digest));
        let held = self.selected.layers.values();
        let held = held.filter(|layer| layers.contains(&layer.digest));
        let absent = self.absent(part, layers);
        let absent = absent.filter(|digest| !counted.absent.contains(digest));
        let bases = self.bases().filter(|base| !counted.bases.contains(*base));
        // Listed again under the same name is rare: it may count twice here.
        let listed = self.listed().filter(|(listed, name)| {
            let key = (listed.descriptor.digest.clone(), name.cloned());
            !counted.listed.contains(&key)
        });
        documents
            .map(|(_, bytes)| Size::of_document(bytes))
            .chain(held.map(|layer| Size::of_layer(layer.size)))
            .chain(absent.map(Size::of_absent))
            .chain(bases.map(|base| Size::of_base(base)))
            .chain(listed.map(|(listed, name)| Size::of_listed(listed, name)))
            .sum()
    }

    /// Layers that the part mentions and hasn't.
    fn absent(
        &self,
        part: &Planned,
        layers: &BTreeSet<Digest>,
    ) -> impl Iterator<Item = &'a Digest> {
        let own = self.selected.layers.keys();
        let own = own.filter(|it| !layers.contains(*it) && !part.layers.contains(*it));
        own.chain(self.selected.elsewhere.keys())
    }

    /// Bundles that have what the whole bundle hasn't.
    fn bases(&self) -> impl Iterator<Item = &'a String> {
        let origins = self.making.origins;
        let elsewhere = self.selected.elsewhere.keys();
        let bases =
            elsewhere.flat_map(|digest| origins.iter().filter_map(|it| it.bases_of(digest)));
        let bases: BTreeSet<&String> = bases.flatten().collect();
        bases.into_iter()
    }

    fn listed(&self) -> impl Iterator<Item = (&'a Listed, Option<&'a Name>)> {
        self.selected.listed.iter().flat_map(|listed| {
            let nameless = listed.names.is_empty().then_some((listed, None));
            let names = listed.names.iter().map(move |name| (listed, Some(name)));
            nameless.into_iter().chain(names)
        })
    }
}

impl Planned {
    fn add(&mut self, image: &Image<'_>, layers: &BTreeSet<Digest>) {
        self.size += image.more(self, layers);
        let absent: Vec<Digest> = image.absent(self, layers).cloned().collect();
        let listed = image.listed();
        let listed = listed.map(|(it, name)| (it.descriptor.digest.clone(), name.cloned()));
        let counted = &mut self.counted;
        counted
            .documents
            .extend(image.selected.documents.keys().cloned());
        counted.absent.extend(absent);
        counted.bases.extend(image.bases().cloned());
        counted.listed.extend(listed);
        self.images.insert(image.at);
        self.layers.extend(layers.iter().cloned());
    }

    /// The part; `holder` names the part that holds a layer which this one doesn't.
    fn contents(
        &self,
        making: &Making<'_>,
        holder: impl Fn(&Digest) -> Option<String>,
    ) -> Result<Contents, PackError> {
        let images = self.images.iter().filter_map(|at| making.chosen.get(*at));
        let mut contents = making.contents_of(images)?;
        let mut others: BTreeMap<String, BTreeSet<Digest>> = BTreeMap::new();
        for (layer, _) in contents.layers() {
            if !self.layers.contains(layer) {
                let holder = holder(layer).unwrap_or_default();
                others.entry(holder).or_default().insert(layer.clone());
            }
        }
        for (name, layers) in &others {
            contents.leave_out(name, |layer| layers.contains(layer));
        }
        Ok(contents)
    }
}
