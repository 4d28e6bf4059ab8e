//! From a target to its image.

use super::INDEX;
use super::target::Target;
use crate::archive::Archive;
use crate::content::Contents;
use crate::document::media_type::Kind;
use crate::document::{Descriptor, DocumentError};
use crate::fault::Fault;
use crate::graph::{Graph, Node, Selection};
use crate::image::{Content, Image, ImageError, Other, OtherKind, Role, Warning};
use crate::left_out::LeftOut;
use crate::naming::Names;
use crate::open::OpenError;
use crate::platform::{Matcher, Platform};

/// The documents of one layout, and the contents put together from them.
pub(super) struct Layout<'a> {
    platform: &'a Matcher,
    graph: Graph<'a>,
    contents: Contents<'a>,
}

/// What a target turned out to be.
enum Found {
    Other(OtherKind, String),
    Image(Box<Followed>),
}

/// An image's platforms, and its content or why it has none.
struct Followed {
    platforms: Vec<Platform>,
    warnings: Vec<Warning>,
    outcome: Result<Content, ImageError>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(archive: &'a Archive, platform: &'a Matcher, left_out: &'a LeftOut) -> Self {
        Self {
            platform,
            graph: Graph::new(archive, platform),
            contents: Contents::new(left_out),
        }
    }

    pub(super) fn count(&mut self, descriptors: usize) -> Result<(), OpenError> {
        self.graph.count(descriptors)
    }

    pub(super) fn into_others(self) -> Vec<Other> {
        self.graph.into_others()
    }

    /// The image that `target` is; `None` when it is something else, which is noted instead.
    pub(super) fn image(&mut self, target: Target) -> Result<Option<Image>, OpenError> {
        let mut descriptor = match target.descriptor {
            Ok(descriptor) => descriptor,
            Err(source) => return Ok(Some(unusable(source, target.names, target.listed))),
        };
        let found = match (target.attestation, &descriptor.artifact_type) {
            (true, _) => Found::Other(OtherKind::Attestation, descriptor.media_type.clone()),
            (false, Some(media_type)) => Found::Other(OtherKind::Artifact, media_type.clone()),
            (false, None) => self.found(&mut descriptor, target.agreed)?,
        };
        match found {
            Found::Image(followed) => {
                let (names, listed) = (target.names, target.listed);
                Ok(Some(followed.into_image(&descriptor, names, listed)))
            }
            Found::Other(kind, media_type) => {
                self.graph.note_other(Other {
                    kind,
                    media_type,
                    digest: descriptor.digest,
                    name: target.given,
                });
                Ok(None)
            }
        }
    }

    fn found(&mut self, target: &mut Descriptor, agreed: bool) -> Result<Found, OpenError> {
        if !agreed {
            let digest = target.digest.clone();
            return Ok(Found::refused(ImageError::TwoDescriptions { digest }));
        }
        let found = Fault::settle(self.follow(target))?;
        Ok(found.unwrap_or_else(Found::refused))
    }

    fn follow(&mut self, target: &mut Descriptor) -> Result<Found, Fault> {
        self.complete(target)?;
        match self.graph.node(target, 1)? {
            Node::Artifact(media_type) => Ok(Found::Other(OtherKind::Artifact, media_type)),
            Node::Absent => Err(Fault::Image(self.absent(target))),
            Node::Manifest(platform) => self.manifest(target, platform),
            Node::Index(selection) => self.index(&selection),
        }
    }

    /// A record in the store needs the media type that a descriptor may leave out.
    fn complete(&mut self, target: &mut Descriptor) -> Result<(), Fault> {
        if target.kind() == Kind::Unsaid
            && let Some(document) = self.graph.documents.document(target, Role::Manifest)?
        {
            document.media_type().clone_into(&mut target.media_type);
        }
        Ok(())
    }

    fn absent(&self, target: &Descriptor) -> ImageError {
        match &target.platform {
            Some(platform) if self.platform.rank(platform).is_none() => {
                ImageError::wrong_platform(self.platform, vec![platform.clone()])
            }
            _ => ImageError::Missing {
                role: match target.kind() {
                    Kind::Index => Role::Index,
                    _ => Role::Manifest,
                },
                digest: target.digest.clone(),
            },
        }
    }

    fn manifest(&mut self, target: &Descriptor, platform: Platform) -> Result<Found, Fault> {
        let platforms = vec![platform];
        let outcome = if platforms.iter().any(|it| self.platform.rank(it).is_some()) {
            let content = self.contents.of(&mut self.graph.documents, target, &[]);
            Fault::settle(content)?
        } else {
            Err(ImageError::wrong_platform(self.platform, platforms.clone()))
        };
        Ok(Found::Image(Box::new(Followed {
            platforms,
            warnings: Vec::new(),
            outcome,
        })))
    }

    fn index(&mut self, selection: &Selection) -> Result<Found, Fault> {
        let followed = Followed {
            platforms: selection.platforms().to_vec(),
            warnings: selection.warnings().to_vec(),
            outcome: Fault::settle(self.chosen(selection))?,
        };
        Ok(Found::Image(Box::new(match selection.chosen_platform() {
            Some(listed) => followed.listed_as(listed, self.platform),
            None => followed,
        })))
    }

    fn chosen(&mut self, selection: &Selection) -> Result<Content, Fault> {
        let way = selection.way(self.platform)?;
        let unsaid = way
            .steps
            .iter()
            .find(|step| step.child.kind() == Kind::Unsaid);
        if let Some(step) = unsaid {
            let digest = step.child.digest.clone();
            return Err(Fault::Image(ImageError::NoMediaType { digest }));
        }
        let documents = &mut self.graph.documents;
        self.contents.of(documents, way.manifest, &way.steps)
    }
}

impl Found {
    fn refused(error: ImageError) -> Self {
        Self::Image(Box::new(Followed {
            platforms: error.platforms().to_vec(),
            warnings: Vec::new(),
            outcome: Err(error),
        }))
    }
}

impl Followed {
    /// The runtime goes by what the index lists, so that is the content's platform; a config
    /// that says something else is a warning, unless it could never run.
    fn listed_as(mut self, listed: &Platform, matcher: &Matcher) -> Self {
        let Ok(content) = &mut self.outcome else {
            return self;
        };
        let config = std::mem::replace(&mut content.platform, listed.clone());
        if config.is_windows() && !matcher.wanted().is_windows() {
            self.outcome = Err(ImageError::wrong_platform(matcher, vec![config]));
        } else if (&config.os, &config.architecture) != (&listed.os, &listed.architecture) {
            let listed = listed.clone();
            self.warnings
                .push(Warning::PlatformDiffers { listed, config });
        }
        self
    }

    fn into_image(self, target: &Descriptor, names: Names, listed: Vec<usize>) -> Image {
        let (names, refused_names) = names.finish();
        Image {
            names,
            refused_names,
            target: Some(target.bare()),
            platforms: self.platforms,
            outcome: self.outcome,
            warnings: self.warnings,
            listed,
        }
    }
}

/// An entry of `index.json` whose descriptor is none.
fn unusable(source: DocumentError, names: Names, listed: Vec<usize>) -> Image {
    let entry = INDEX.to_owned();
    let (names, refused_names) = names.finish();
    Image {
        names,
        refused_names,
        target: None,
        platforms: Vec::new(),
        outcome: Err(ImageError::Document { entry, source }),
        warnings: Vec::new(),
        listed,
    }
}
