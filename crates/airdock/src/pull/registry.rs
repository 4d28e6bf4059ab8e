//! Registries as they are asked: for documents here, for blobs in [`blob`], for what refers to
//! an image in [`referrers`].

mod blob;
mod page;
mod referrers;

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use airdock_bundle::digest::{Algorithm, Digest};
use airdock_bundle::document::media_type::{self, Kind};
use airdock_bundle::document::{Descriptor, Document};
use airdock_bundle::escape::escaped;
use airdock_bundle::limits as documents;
use airdock_bundle::name::Name;
use bytes::Bytes;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, StatusCode, Url};
use tokio_util::sync::CancellationToken;

use super::auth::Auth;
use super::cache::Cache;
use super::error::{Fault, PullError, SettingsError};
use super::http::{self, Ask, Http};
use super::retry::Patience;
use super::settings::{Place, Settings};
use super::status;

pub use referrers::Referrer;

/// Both kinds of each of both families: a registry answers a type that isn't named with
/// something older.
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// How often a challenge is answered: with what is known, and with a token that is new.
const ANSWERS: usize = 2;

/// All registries, as the settings say how to reach them.
pub struct Registries {
    settings: Settings,
    http: Http,
    auth: Auth,
    cache: Cache,
    /// Mirrors that nobody answers at: they are not waited for again.
    silent: Mutex<HashSet<String>>,
    cancel: CancellationToken,
}

impl std::fmt::Debug for Registries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registries")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Something small that is asked for.
struct Small<'a> {
    /// Below the repository.
    path: String,
    accept: Option<&'static str>,
    limit: u64,
    /// What its digest must be.
    digest: Option<&'a Digest>,
    /// As it is called in messages.
    subject: String,
}

/// Bytes and what they are said to be.
struct Answer {
    bytes: Bytes,
    media_type: String,
    /// How a list is asked for its next page.
    next: Option<String>,
}

impl Registries {
    /// Ready to ask; nothing is asked yet. Files with credentials are read when they are needed.
    ///
    /// # Errors
    /// When a CA file can't be used, or the cache can't be made.
    pub fn new(settings: Settings, cancel: CancellationToken) -> Result<Self, SettingsError> {
        let cache = Cache::open(&settings.cache).map_err(|source| SettingsError::Cache {
            path: settings.cache.clone(),
            source,
        })?;
        Ok(Self {
            http: Http::new(&settings)?,
            auth: Auth::new(),
            cache,
            silent: Mutex::default(),
            settings,
            cancel,
        })
    }

    /// What a name stands for, by its tag where it has one, and the document that this is. `None`
    /// where the registry hasn't it.
    ///
    /// # Errors
    /// When the registry can't be asked, or sends what can't be used.
    pub async fn resolve(&self, name: &Name) -> Result<Option<(Descriptor, Bytes)>, PullError> {
        let by_digest = name.digest().filter(|_| name.tag().is_none());
        let reference = by_digest.map(Digest::as_str).or(name.tag());
        let small = Small {
            path: format!("manifests/{}", reference.unwrap_or_default()),
            accept: Some(MANIFESTS),
            limit: documents::MANIFEST,
            digest: by_digest,
            subject: name.to_string(),
        };
        let Some(answer) = missing_as_none(self.small(name, &small).await)? else {
            return Ok(None);
        };
        let algorithm = by_digest.map_or(Algorithm::Sha256, Digest::algorithm);
        let digest = Digest::of(algorithm, &answer.bytes);
        let size = answer.bytes.len() as u64;
        let descriptor = Descriptor::new(&answer.document_type(), digest, size);
        self.keep(&descriptor.digest, &answer.bytes);
        Ok(Some((descriptor, answer.bytes)))
    }

    /// An index, a manifest or a config, with the digest that its descriptor says. `None` where
    /// the registry hasn't it.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub async fn document(
        &self,
        name: &Name,
        descriptor: &Descriptor,
    ) -> Result<Option<Bytes>, PullError> {
        let digest = &descriptor.digest;
        if let Some(bytes) = self.cache.read(digest, documents::CONFIG) {
            return Ok(Some(bytes.into()));
        }
        let is_blob = descriptor.kind() == Kind::Other;
        let found = self.by_digest(name, descriptor, is_blob).await?;
        let bytes = match found {
            None if descriptor.kind() == Kind::Unsaid => {
                self.by_digest(name, descriptor, true).await?
            }
            found => found,
        };
        if let Some(bytes) = &bytes {
            self.keep(digest, bytes);
        }
        Ok(bytes)
    }

    async fn by_digest(
        &self,
        name: &Name,
        descriptor: &Descriptor,
        is_blob: bool,
    ) -> Result<Option<Bytes>, PullError> {
        let digest = &descriptor.digest;
        let small = Small {
            path: match is_blob {
                true => format!("blobs/{digest}"),
                false => format!("manifests/{digest}"),
            },
            accept: (!is_blob).then_some(MANIFESTS),
            limit: documents::CONFIG,
            digest: Some(digest),
            subject: name.with_digest(digest),
        };
        let answer = missing_as_none(self.small(name, &small).await)?;
        Ok(answer.map(|answer| answer.bytes))
    }

    /// So that an interrupted run needn't ask again; without it all goes on as well.
    fn keep(&self, digest: &Digest, bytes: &[u8]) {
        if let Err(error) = self.cache.keep(digest, bytes) {
            tracing::debug!(
                msg = "a document is not kept in the cache",
                component = "pull",
                %digest,
                %error
            );
        }
    }

    async fn small(&self, name: &Name, small: &Small<'_>) -> Result<Answer, PullError> {
        self.small_that(name, small, |_| true).await
    }

    /// From the first place whose answer will do. That of the registry itself does in any case.
    async fn small_that(
        &self,
        name: &Name,
        small: &Small<'_>,
        will_do: impl Fn(&Answer) -> bool,
    ) -> Result<Answer, PullError> {
        let mut last = None;
        let mut places = self.places(name).into_iter().peekable();
        while let Some(place) = places.next() {
            match self.small_at(&place, small).await {
                Ok(answer) if places.peek().is_none() || will_do(&answer) => return Ok(answer),
                Ok(_) => {}
                Err(fault) => last = Some(self.failed(&place, &small.subject, fault)),
            }
        }
        Err(last.unwrap_or_else(|| nowhere(&small.subject, name)))
    }

    async fn small_at(&self, place: &Place, small: &Small<'_>) -> Result<Answer, Fault> {
        let mut patience = Patience::new(self.settings.retries);
        loop {
            let asked = self.unless_stopped(self.small_once(place, small)).await;
            match asked {
                Ok(answer) => return Ok(answer),
                Err(fault) => self.wait(place, &mut patience, fault).await?,
            }
        }
    }

    async fn small_once(&self, place: &Place, small: &Small<'_>) -> Result<Answer, Fault> {
        let ask = Ask {
            accept: small.accept,
            ..Ask::default()
        };
        let response = self.ask(place, &small.path, ask).await?;
        let media_type = response.headers().get(CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok());
        let media_type = media_type.unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        let media_type = media_type.to_owned();
        let next = page::next(response.headers());
        let limit = usize::try_from(small.limit).unwrap_or(usize::MAX);
        let bytes = http::body(response, limit).await?;
        check(small.digest, &bytes)?;
        Ok(Answer {
            bytes: bytes.into(),
            media_type,
            next,
        })
    }

    /// The answer of a place, with challenges answered. Its status is that of a success, or says
    /// that there is nothing behind the first byte asked for.
    async fn ask(&self, place: &Place, path: &str, ask: Ask) -> Result<Response, Fault> {
        let url = place.url(path);
        let mut shown = self.auth.known(place).await;
        for answered in 0..=ANSWERS {
            let ask = Ask {
                authorization: shown.as_ref().map(|known| known.header.clone()),
                ..ask.clone()
            };
            let response = self.http.get(&url, &ask).await?;
            match response.status() {
                status if status.is_success() => return Ok(response),
                StatusCode::RANGE_NOT_SATISFIABLE => return Ok(response),
                // Only the registry itself may ask for a credential of the registry.
                _ if !is_at(&response, &url) => return Err(status::fault(response).await),
                StatusCode::UNAUTHORIZED if answered < ANSWERS => {
                    let answer = self
                        .auth
                        .answer(&self.http, place, &response, shown.as_ref());
                    shown = Some(answer.await?);
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    let said = http::said(response).await;
                    return Err(self.auth.refused(shown.as_ref(), said));
                }
                _ => return Err(status::fault(response).await),
            }
        }
        Err(Fault::Redirects)
    }

    fn places(&self, name: &Name) -> Vec<Place> {
        let mut places = self.settings.places(name);
        let origin = places.pop();
        let silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|place| !silent.contains(&place.authority));
        places.extend(origin);
        places
    }

    /// Waits until it can be tried again; gives the fault back where it can't.
    async fn wait(
        &self,
        place: &Place,
        patience: &mut Patience,
        fault: Fault,
    ) -> Result<(), Fault> {
        let Some(pause) = patience.pause(&fault) else {
            return Err(fault);
        };
        tracing::warn!(
            msg = "a registry fails; trying again",
            component = "pull",
            registry = place.authority,
            error = %fault,
            seconds = pause.as_secs_f64()
        );
        self.unless_stopped(async {
            tokio::time::sleep(pause).await;
            Ok(())
        })
        .await
    }

    async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Fault::Stopped),
            done = work => done,
        }
    }

    /// Notes what a place couldn't give: where it is a mirror, the next one is asked.
    fn failed(&self, place: &Place, subject: &str, fault: Fault) -> PullError {
        if fault.is_absence() {
            let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
            silent.insert(place.authority.clone());
        }
        tracing::debug!(
            msg = "a registry does not give it",
            component = "pull",
            registry = place.authority,
            subject,
            error = %fault
        );
        PullError {
            subject: subject.to_owned(),
            host: place.authority.clone(),
            fault,
        }
    }
}

impl Answer {
    /// What the document says that it is; registries say it too, not always the same.
    fn document_type(&self) -> String {
        let said = match media_type::kind(&self.media_type) {
            Kind::Index | Kind::Manifest => self.media_type.as_str(),
            _ => "",
        };
        match Document::parse(&self.bytes, "") {
            Ok(document) => document.media_type().to_owned(),
            Err(_) => said.to_owned(),
        }
    }
}

/// Whether an answer comes from where it was asked for, not from where that pointed.
fn is_at(response: &Response, url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.origin() == response.url().origin())
}

fn check(expected: Option<&Digest>, bytes: &[u8]) -> Result<(), Fault> {
    let Some(expected) = expected else {
        return Ok(());
    };
    let found = Digest::of(expected.algorithm(), bytes);
    if found != *expected {
        let expected = expected.clone();
        return Err(Fault::Broken { expected, found });
    }
    Ok(())
}

fn missing_as_none<T>(answer: Result<T, PullError>) -> Result<Option<T>, PullError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if matches!(error.fault, Fault::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn nowhere(subject: &str, name: &Name) -> PullError {
    PullError {
        subject: escaped(subject).to_string(),
        host: name.domain().to_owned(),
        fault: Fault::Redirects,
    }
}
