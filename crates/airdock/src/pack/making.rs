//! Puts a bundle together, and writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::pin::pin;

use airdock_bundle::digest::Digest;
use airdock_bundle::document::Descriptor;
use airdock_bundle::name::Name;
use airdock_bundle::write::{Contents, Listed, WriteError};
use futures_util::StreamExt as _;
use futures_util::stream;
use tokio_util::sync::CancellationToken;

use super::error::PackError;
use super::file::{self, FileError, Written};
use super::origin::{Blob, Blobs, Origin, Wanted};
use super::request::Request;
use super::select::{SelectError, Selected, select};

/// Images followed to their layers at a time: a registry far away answers each of their documents
/// after a tenth of a second, and limits how many may be asked for at once.
const AT_A_TIME: usize = 8;

/// A bundle that was made.
#[derive(Debug)]
pub struct Packed {
    /// What is in it.
    pub contents: Contents,
    /// The file.
    pub file: Written,
    /// What was asked for and isn't in it.
    pub failed: Vec<Failed>,
}

/// An image that can't be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Its name, or its digest where it has none.
    pub image: String,
    /// Why: a sentence without a full stop.
    pub reason: String,
}

/// What happens while a bundle is made.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// The file is begun, with so many bytes to write.
    Writing(u64),
    /// Bytes that were written.
    Wrote(u64),
}

/// An image that goes into the bundle.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) title: String,
    /// Where the origin is asked for its blobs.
    name: Name,
    origin: usize,
    pub(super) selected: Selected,
}

/// What is looked for.
struct Sought {
    /// `None` for what an origin lists without a name.
    name: Option<Name>,
    listed: Option<(usize, Listed)>,
}

/// Makes a bundle of what the origins have, asked in their order.
///
/// # Errors
/// Without `keep_going` the first image that can't be had; otherwise when none can, or the file
/// can't be written. Then nothing is left behind.
pub async fn pack(
    origins: &[Origin],
    request: &Request,
    cancel: &CancellationToken,
    progress: impl Fn(Progress) + Clone + Send + 'static,
) -> Result<Packed, PackError> {
    file::check(&request.output, request.replace)?;
    let mut making = Making::of(origins, request).await?;
    loop {
        if making.chosen.is_empty() {
            return Err(PackError::Nothing(making.failed));
        }
        let contents = making.contents()?;
        let blobs = making.blobs(&contents).await?;
        let written = write(contents, blobs, request, cancel, progress.clone()).await;
        match written {
            Ok((contents, file)) => {
                let failed = making.failed;
                return Ok(Packed {
                    contents,
                    file,
                    failed,
                });
            }
            Err(FileError::Bundle(error)) => making.give_up(error)?,
            Err(error) => return Err(error.into()),
        }
    }
}

pub(super) struct Making<'a> {
    pub(super) origins: &'a [Origin],
    pub(super) request: &'a Request,
    pub(super) chosen: Vec<Chosen>,
    pub(super) failed: Vec<Failed>,
}

impl<'a> Making<'a> {
    /// With all images chosen.
    pub(super) async fn of(origins: &'a [Origin], request: &'a Request) -> Result<Self, PackError> {
        let mut making = Self {
            origins,
            request,
            chosen: Vec::new(),
            failed: Vec::new(),
        };
        making.choose().await?;
        Ok(making)
    }

    async fn choose(&mut self) -> Result<(), PackError> {
        self.refuse()?;
        let sought = self.sought()?;
        for (title, taken) in self.take_all(sought).await {
            match taken {
                Ok(chosen) => self.chosen.push(chosen),
                Err(source) if self.request.keep_going => self.failed.push(Failed {
                    image: title,
                    reason: source.to_string(),
                }),
                Err(source) => {
                    let (image, source) = (title, Box::new(source));
                    return Err(PackError::Image { image, source });
                }
            }
        }
        Ok(())
    }

    /// Takes several at a time, in their order; where a failure is the end, none after it.
    async fn take_all(&self, sought: Vec<Sought>) -> Vec<(String, Result<Chosen, SelectError>)> {
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

    /// Of an origin that is taken as a whole nothing may be lost without a word.
    fn refuse(&mut self) -> Result<(), PackError> {
        if !self.request.names.is_empty() {
            return Ok(());
        }
        for (image, reason) in self.origins.iter().flat_map(Origin::refused) {
            self.fail(Failed { image, reason })?;
        }
        Ok(())
    }

    fn fail(&mut self, failed: Failed) -> Result<(), PackError> {
        if !self.request.keep_going {
            return Err(PackError::Refused(failed));
        }
        self.failed.push(failed);
        Ok(())
    }

    fn sought(&mut self) -> Result<Vec<Sought>, PackError> {
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
        let mut selected = select(from, &name, listed, &platforms).await?;
        if self.request.with_referrers {
            for referrer in referrers(from, &name, &selected).await? {
                selected.add(select(from, &name, referrer, &platforms).await?);
            }
        }
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

    fn contents(&self) -> Result<Contents, PackError> {
        self.contents_of(self.chosen.iter())
    }

    /// What these images make.
    pub(super) fn contents_of<'c>(
        &self,
        chosen: impl Iterator<Item = &'c Chosen>,
    ) -> Result<Contents, PackError> {
        let mut contents = Contents::default();
        for Chosen { selected, .. } in chosen {
            for (digest, bytes) in &selected.documents {
                contents.add_document(digest, bytes.clone())?;
            }
            for (digest, descriptor) in &selected.layers {
                contents.add_layer(digest, descriptor.size)?;
            }
            for (digest, descriptor) in &selected.elsewhere {
                self.refer(&mut contents, digest, descriptor)?;
            }
            for listed in &selected.listed {
                contents.list(listed.descriptor.clone(), listed.names.iter().cloned());
            }
            if self.request.docker {
                let images = selected.docker.iter().cloned();
                images.for_each(|image| contents.list_for_docker(image));
            }
        }
        for base in &self.request.bases {
            contents.leave_out(&base.id, |digest| base.digests.contains(digest));
        }
        Ok(contents)
    }

    /// A layer that an image's own origin, a delta, hasn't: another may have it.
    fn refer(
        &self,
        contents: &mut Contents,
        digest: &Digest,
        descriptor: &Descriptor,
    ) -> Result<(), PackError> {
        if self.provider(descriptor)?.is_some() {
            contents.add_layer(digest, descriptor.size)?;
            return Ok(());
        }
        let bases = self.origins.iter().filter_map(|it| it.bases_of(digest));
        contents.refer(digest, descriptor.size, bases.flatten().cloned());
        Ok(())
    }

    fn provider(&self, descriptor: &Descriptor) -> Result<Option<usize>, PackError> {
        for (at, origin) in self.origins.iter().enumerate() {
            if origin.may_have(descriptor)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Every layer that is written, from the first image that has it.
    pub(super) async fn blobs(&self, contents: &Contents) -> Result<Blobs, PackError> {
        let mut left: BTreeSet<&Digest> = contents.layers().map(|(digest, _)| digest).collect();
        let mut wanted: BTreeMap<usize, Vec<Wanted>> = BTreeMap::new();
        for chosen in &self.chosen {
            let layers = chosen.selected.layers.values();
            let mine = layers.filter(|layer| left.remove(&layer.digest));
            let mine = mine.map(|descriptor| Wanted {
                name: chosen.name.clone(),
                descriptor: descriptor.clone(),
            });
            wanted.entry(chosen.origin).or_default().extend(mine);
        }
        for chosen in &self.chosen {
            for descriptor in chosen.selected.elsewhere.values() {
                if left.remove(&descriptor.digest)
                    && let Some(origin) = self.provider(descriptor)?
                {
                    let (name, descriptor) = (chosen.name.clone(), descriptor.clone());
                    let wanted = wanted.entry(origin).or_default();
                    wanted.push(Wanted { name, descriptor });
                }
            }
        }
        let mut blobs = Blobs::new();
        for (origin, mut wanted) in wanted {
            // As they are written.
            wanted.sort_by(|a, b| a.descriptor.digest.cmp(&b.descriptor.digest));
            if let Some(origin) = self.origins.get(origin) {
                blobs.extend(origin.blobs(&wanted).await?);
            }
        }
        Ok(blobs)
    }

    /// Goes on without the images that need a blob which can't be had.
    fn give_up(&mut self, error: WriteError) -> Result<(), PackError> {
        let Some(digest) = error.blob().filter(|_| self.request.keep_going) else {
            let images = error.blob().map(|digest| self.needing(digest));
            let images = images.unwrap_or_default();
            return Err(PackError::Write { images, error });
        };
        let needs = |chosen: &Chosen| chosen.selected.layers.contains_key(digest);
        let failed = self.chosen.iter().filter(|chosen| needs(chosen));
        let failed = failed.map(|chosen| Failed {
            image: chosen.title.clone(),
            reason: error.to_string(),
        });
        self.failed.extend(failed);
        let before = self.chosen.len();
        self.chosen.retain(|chosen| !needs(chosen));
        if self.chosen.len() == before {
            let images = Vec::new();
            return Err(PackError::Write { images, error });
        }
        Ok(())
    }

    fn needing(&self, digest: &Digest) -> Vec<String> {
        let chosen = self.chosen.iter();
        chosen
            .filter(|chosen| chosen.selected.layers.contains_key(digest))
            .map(|chosen| chosen.title.clone())
            .collect()
    }
}

impl Sought {
    fn title(&self) -> String {
        match (&self.name, &self.listed) {
            (Some(name), _) => name.to_string(),
            (None, Some((_, listed))) => listed.descriptor.digest.to_string(),
            (None, None) => String::new(),
        }
    }
}

impl Selected {
    fn add(&mut self, other: Self) {
        self.listed.extend(other.listed);
        self.documents.extend(other.documents);
        self.layers.extend(other.layers);
        self.elsewhere.extend(other.elsewhere);
    }
}

/// What refers to the image, or to a platform's part of it that is taken: some tools sign each, and
/// build tools attach their SBOMs there. Each once, and none that is taken already.
async fn referrers(
    from: &Origin,
    name: &Name,
    image: &Selected,
) -> Result<Vec<Listed>, SelectError> {
    let mut found: BTreeMap<Digest, Listed> = BTreeMap::new();
    for subject in &image.subjects {
        for referrer in from.referrers(name, subject).await? {
            let digest = referrer.descriptor.digest.clone();
            if referrer.names.is_empty() && image.documents.contains_key(&digest) {
                continue;
            }
            let names = referrer.names.clone();
            found.entry(digest).or_insert(referrer).names.extend(names);
        }
    }
    Ok(found.into_values().collect())
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

/// On a thread that may wait for blobs.
pub(super) async fn write(
    contents: Contents,
    blobs: Blobs,
    request: &Request,
    cancel: &CancellationToken,
    progress: impl Fn(Progress) + Send + 'static,
) -> Result<(Contents, Written), FileError> {
    let (request, cancel) = (request.clone(), cancel.clone());
    let writing = tokio::task::spawn_blocking(move || {
        progress(Progress::Writing(contents.size()));
        let mut bodies = |digest: &Digest, _: u64| -> io::Result<Box<dyn Read + '_>> {
            blobs.get(digest).map_or_else(absent, Blob::open)
        };
        let file = file::write(&contents, &request, &cancel, &mut bodies, &mut |bytes| {
            progress(Progress::Wrote(bytes));
        })?;
        Ok((contents, file))
    });
    writing.await.unwrap_or(Err(FileError::Worker))
}

fn absent<'a>() -> io::Result<Box<dyn Read + 'a>> {
    Err(io::Error::new(io::ErrorKind::NotFound, "it is not there"))
}
