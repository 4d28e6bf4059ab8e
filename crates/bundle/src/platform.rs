//! Platforms and which of them a node runs: the rules of containerd's `platforms` package.
//!
//! What we choose from an index must be what the runtime will choose later, so normalisation
//! and order follow <https://github.com/containerd/platforms> and are not our own.

use std::fmt;

use serde::Serialize;

use crate::escape::escaped;
use crate::limits;

/// Operating system, architecture and variant, normalised. The version and the features of the
/// operating system, which an index may list too, decide nothing on Linux.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Platform {
    pub os: String,
    pub architecture: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// Why a platform given as text is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{}\" is no platform; write OS/ARCHITECTURE or OS/ARCHITECTURE/VARIANT, as in linux/arm/v7", escaped(.given))]
pub struct PlatformError {
    pub given: String,
}

impl Platform {
    /// The normalised platform; an empty `variant` is none. Words are cut at
    /// [`limits::PLATFORM_WORD`]: no platform has one that long.
    pub fn new(os: &str, architecture: &str, variant: &str) -> Self {
        let [os, architecture, variant] = [os, architecture, variant].map(cut);
        let (architecture, variant) = normalised(architecture, variant);
        Self {
            os: normalised_os(os),
            architecture,
            variant,
        }
    }

    /// The platform written as `os/architecture` or `os/architecture/variant`.
    ///
    /// # Errors
    /// When it has another shape, or characters that no platform has.
    pub fn parse(given: &str) -> Result<Self, PlatformError> {
        let parts: Vec<&str> = given.split('/').collect();
        match *parts.as_slice() {
            [os, architecture] if is_word(os) && is_word(architecture) => {
                Ok(Self::new(os, architecture, ""))
            }
            [os, architecture, variant] if [os, architecture, variant].into_iter().all(is_word) => {
                Ok(Self::new(os, architecture, variant))
            }
            _ => Err(PlatformError {
                given: given.to_owned(),
            }),
        }
    }

    /// The platform that this program was built for.
    pub fn host() -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86" => "386",
            "loongarch64" => "loong64",
            "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
            "powerpc64" => "ppc64",
            other => other,
        };
        Self::new(std::env::consts::OS, architecture, "")
    }

    /// `unknown/unknown`: how build tools mark an attestation among an index's manifests.
    pub fn is_unknown(&self) -> bool {
        self.os == "unknown" && self.architecture == "unknown"
    }

    /// Whether it needs a Windows kernel.
    pub fn is_windows(&self) -> bool {
        self.os == "windows"
    }

    fn with_variant(&self, architecture: &str, variant: &str) -> Self {
        Self::new(&self.os, architecture, variant)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", escaped(&self.os), escaped(&self.architecture))?;
        match &self.variant {
            Some(variant) => write!(f, "/{}", escaped(variant)),
            None => Ok(()),
        }
    }
}

fn is_word(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    !text.is_empty() && text.bytes().all(allowed)
}

fn cut(word: &str) -> &str {
    let end = word.char_indices().nth(limits::PLATFORM_WORD);
    end.and_then(|(end, _)| word.get(..end)).unwrap_or(word)
}

fn normalised_os(os: &str) -> String {
    let os = os.to_ascii_lowercase();
    if os == "macos" {
        "darwin".to_owned()
    } else {
        os
    }
}

/// The usual variant of an architecture is left out, except for 32-bit ARM where it is v7.
fn normalised(architecture: &str, variant: &str) -> (String, Option<String>) {
    let architecture = architecture.to_ascii_lowercase();
    let variant = variant.to_ascii_lowercase();
    let (architecture, variant) = match (architecture.as_str(), variant.as_str()) {
        ("i386", _) => ("386", ""),
        ("x86_64" | "x86-64" | "amd64", "v1") => ("amd64", ""),
        ("x86_64" | "x86-64" | "amd64", variant) => ("amd64", variant),
        ("aarch64" | "arm64", "8" | "v8") => ("arm64", ""),
        ("aarch64" | "arm64", variant) => ("arm64", variant),
        ("armhf", _) | ("arm", "" | "7") => ("arm", "v7"),
        ("armel", _) | ("arm", "6") => ("arm", "v6"),
        ("arm", "5") => ("arm", "v5"),
        ("arm", "8") => ("arm", "v8"),
        other => other,
    };
    let variant = (!variant.is_empty()).then(|| variant.to_owned());
    (architecture.to_owned(), variant)
}

/// The platforms that a node runs, best first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    wanted: Platform,
    fallbacks: Vec<Platform>,
}

impl Matcher {
    /// What the runtime accepts on a node of this platform: itself, then the older variants
    /// and the 32-bit architecture that its processor runs as well.
    pub fn only(platform: Platform) -> Self {
        let fallbacks = match platform.architecture.as_str() {
            "amd64" => amd64_fallbacks(&platform),
            "arm64" => arm64_fallbacks(&platform),
            "arm" => arm_fallbacks(&platform),
            _ => Vec::new(),
        };
        Self {
            wanted: platform,
            fallbacks,
        }
    }

    /// The node's own platform.
    pub fn wanted(&self) -> &Platform {
        &self.wanted
    }

    /// How well `platform` fits, 0 being best; `None` when it can't run here.
    pub fn rank(&self, platform: &Platform) -> Option<usize> {
        std::iter::once(&self.wanted)
            .chain(&self.fallbacks)
            .position(|accepted| accepted == platform)
    }
}

/// The numbers of `v8` or `v8.2`; a variant that isn't one has no older ones.
fn version(variant: Option<&str>, default: (u8, u8)) -> Option<(u8, u8)> {
    let Some(variant) = variant else {
        return Some(default);
    };
    let digits = variant.strip_prefix('v').unwrap_or(variant);
    match digits.split_once('.') {
        Some((major, minor)) => Some((major.parse().ok()?, minor.parse().ok()?)),
        None => Some((digits.parse().ok()?, 0)),
    }
}

fn amd64_fallbacks(platform: &Platform) -> Vec<Platform> {
    let (major, _) = version(platform.variant.as_deref(), (1, 0)).unwrap_or((1, 0));
    let older = (1..major).rev();
    let mut fallbacks: Vec<Platform> = older
        .map(|major| platform.with_variant("amd64", &format!("v{major}")))
        .collect();
    fallbacks.push(platform.with_variant("386", ""));
    fallbacks
}

fn arm_fallbacks(platform: &Platform) -> Vec<Platform> {
    let Some((major, _)) = version(platform.variant.as_deref(), (7, 0)) else {
        return Vec::new();
    };
    let older = (5..major).rev();
    older
        .map(|major| platform.with_variant("arm", &format!("v{major}")))
        .collect()
}

/// Older minor versions, then 32-bit ARM. v9.0 parted from v8.5, so v9.x runs v8.(x+5) too.
fn arm64_fallbacks(platform: &Platform) -> Vec<Platform> {
    let mut fallbacks = Vec::new();
    match version(platform.variant.as_deref(), (8, 0)) {
        Some((9, minor)) => {
            fallbacks.extend(arm64_minors(platform, 9, minor));
            fallbacks.extend(arm64_minors(platform, 8, minor.saturating_add(6)));
        }
        Some((8, minor)) => fallbacks.extend(arm64_minors(platform, 8, minor)),
        _ => {}
    }
    let arm = platform.with_variant("arm", "v8");
    fallbacks.push(arm.clone());
    fallbacks.extend(arm_fallbacks(&arm));
    fallbacks
}

/// Every version of `major` below `minor`, newest first.
fn arm64_minors(platform: &Platform, major: u8, minor: u8) -> impl Iterator<Item = Platform> {
    (0..minor).rev().map(move |minor| match minor {
        0 => platform.with_variant("arm64", &format!("v{major}")),
        minor => platform.with_variant("arm64", &format!("v{major}.{minor}")),
    })
}

#[cfg(test)]
mod tests;
