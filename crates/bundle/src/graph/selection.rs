//! Which child of an index is this node's.

use std::rc::Rc;

use crate::document::Descriptor;
use crate::image::{ImageError, Role, Warning};
use crate::limits;
use crate::platform::{Matcher, Platform};

/// An index and the choice among its children.
pub(crate) struct Selection {
    /// The index itself.
    descriptor: Descriptor,
    best: Option<Best>,
    platforms: Vec<Platform>,
    /// An absent child whose platform is not known: it may be the one that is wanted.
    unknown: Option<Descriptor>,
    /// Levels of indexes below this one.
    height: usize,
    warnings: Vec<Warning>,
}

#[derive(Clone)]
struct Best {
    rank: usize,
    position: usize,
    child: Descriptor,
    platform: Platform,
    inner: Option<Rc<Selection>>,
}

/// One step from an index to the child chosen in it.
pub(crate) struct Step<'a> {
    pub(crate) index: &'a Descriptor,
    pub(crate) position: usize,
    pub(crate) child: &'a Descriptor,
}

/// The way from an index down to the manifest for a node.
pub(crate) struct Way<'a> {
    /// At least one.
    pub(crate) steps: Vec<Step<'a>>,
    pub(crate) manifest: &'a Descriptor,
}

impl Selection {
    pub(super) fn new(descriptor: &Descriptor) -> Self {
        Self {
            descriptor: descriptor.bare(),
            best: None,
            platforms: Vec::new(),
            unknown: None,
            height: 0,
            warnings: Vec::new(),
        }
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// Whether anything in it could be an image.
    pub(super) fn has_images(&self) -> bool {
        !self.platforms.is_empty() || self.unknown.is_some()
    }

    /// The platforms that it lists, each once; with very many, the first.
    pub(crate) fn platforms(&self) -> &[Platform] {
        &self.platforms
    }

    pub(crate) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    pub(super) fn offer_unknown(&mut self, child: &Descriptor) {
        self.unknown.get_or_insert_with(|| child.bare());
    }

    pub(super) fn offer_manifest(
        &mut self,
        matcher: &Matcher,
        position: usize,
        child: &Descriptor,
        platform: Platform,
    ) {
        self.list(&platform);
        if let Some(rank) = matcher.rank(&platform) {
            self.offer(Best {
                rank,
                position,
                child: child.bare(),
                platform,
                inner: None,
            });
        }
    }

    pub(super) fn offer_index(&mut self, position: usize, child: &Descriptor, inner: Rc<Self>) {
        self.height = self.height.max(inner.height + 1);
        for platform in &inner.platforms {
            self.list(platform);
        }
        if let Some(unknown) = &inner.unknown {
            self.offer_unknown(unknown);
        }
        if let Some(best) = inner.best.clone() {
            self.offer(Best {
                position,
                child: child.bare(),
                inner: Some(inner),
                ..best
            });
        }
    }

    fn list(&mut self, platform: &Platform) {
        if self.platforms.len() < limits::PLATFORMS && !self.platforms.contains(platform) {
            self.platforms.push(platform.clone());
        }
    }

    /// Takes the better one; of two that are as good, the first.
    fn offer(&mut self, offered: Best) {
        match &self.best {
            Some(best) if best.rank < offered.rank => {}
            Some(best) if best.rank == offered.rank => {
                let (used, ignored) = (best.manifest(), offered.manifest());
                if used.digest != ignored.digest && self.warnings.len() < limits::WARNINGS {
                    self.warnings.push(Warning::PlatformTwice {
                        platform: offered.platform.clone(),
                        used: used.digest.clone(),
                        ignored: ignored.digest.clone(),
                    });
                }
            }
            _ => {
                // A warning about worse ones no longer matters.
                self.warnings.clear();
                if let Some(inner) = &offered.inner {
                    self.warnings.extend_from_slice(&inner.warnings);
                }
                self.best = Some(offered);
            }
        }
    }

    /// The way to the manifest for the node.
    ///
    /// # Errors
    /// When no child is for this platform.
    pub(crate) fn way(&self, matcher: &Matcher) -> Result<Way<'_>, ImageError> {
        let mut best = self.best.as_ref().ok_or_else(|| self.nothing(matcher))?;
        let mut index = &self.descriptor;
        let mut steps = Vec::new();
        loop {
            let child = &best.child;
            steps.push(Step {
                index,
                position: best.position,
                child,
            });
            match best.inner.as_ref().and_then(|inner| inner.best.as_ref()) {
                Some(inner) => (index, best) = (child, inner),
                None => {
                    return Ok(Way {
                        steps,
                        manifest: child,
                    });
                }
            }
        }
    }

    /// The platform that the index gives the chosen manifest.
    pub(crate) fn chosen_platform(&self) -> Option<&Platform> {
        self.best.as_ref().map(|best| &best.platform)
    }

    fn nothing(&self, matcher: &Matcher) -> ImageError {
        match &self.unknown {
            Some(unknown) => ImageError::Missing {
                role: Role::Manifest,
                digest: unknown.digest.clone(),
            },
            None => ImageError::wrong_platform(matcher, self.platforms.clone()),
        }
    }
}

impl Best {
    /// The manifest itself, however deep.
    fn manifest(&self) -> &Descriptor {
        let inner = self.inner.as_ref().and_then(|inner| inner.best.as_ref());
        inner.map_or(&self.child, Self::manifest)
    }
}
