//! How we show who we are: <https://distribution.github.io/distribution/spec/auth/token/>.

mod challenge;
mod token;

use std::collections::HashMap;
use std::sync::{self, Arc, PoisonError};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Response;
use reqwest::header::{HeaderValue, WWW_AUTHENTICATE};
use tokio::sync::Mutex;

use super::credential::{Credential, Keys, Origin, Secret};
use super::error::Fault;
use super::http::Http;
use super::said::Said;
use super::settings::Place;
use challenge::{Challenge, Scheme};

/// What was accepted, by repository.
pub(super) struct Auth {
    keys: Keys,
    /// Held while a credential is looked for: a helper may ask a person to unlock a key ring, who
    /// wants to be asked once at a time.
    looking: Mutex<()>,
    known: sync::Mutex<HashMap<Place, Slot>>,
}

/// Locked while a token is fetched: others who need it wait for this one.
type Slot = Arc<Mutex<Option<Known>>>;

/// A header that shows who we are.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) header: HeaderValue,
    /// Where its credential is from; `None` for a token that anybody gets.
    origin: Option<String>,
    until: Option<Instant>,
}

impl Auth {
    pub(super) fn new() -> Self {
        Self {
            keys: Keys::from_environment(),
            looking: Mutex::new(()),
            known: sync::Mutex::default(),
        }
    }

    /// What a repository accepted before, if it still holds.
    pub(super) async fn known(&self, place: &Place) -> Option<Known> {
        let slot = self.slot(place);
        let known = slot.lock().await;
        known.clone().filter(Known::holds)
    }

    fn slot(&self, place: &Place) -> Slot {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(place.clone()).or_default())
    }

    /// What answers a registry's challenge. `tried` is what it has just refused.
    ///
    /// # Errors
    /// When there is no credential and one is needed, or no token can be had for it.
    pub(super) async fn answer(
        &self,
        http: &Http,
        place: &Place,
        challenged: &Response,
        tried: Option<&Known>,
    ) -> Result<Known, Fault> {
        let slot = self.slot(place);
        let mut known = slot.lock().await;
        if let Some(other) = known.as_ref().filter(|known| known.holds())
            && tried.is_none_or(|tried| tried.header != other.header)
        {
            return Ok(other.clone());
        }
        let url = challenged.url().as_str();
        let challenge = strongest(challenged);
        let found = self.credential(place).await?;
        let fresh = self.fresh(http, place, url, challenge, found).await?;
        *known = Some(fresh.clone());
        Ok(fresh)
    }

    async fn credential(&self, place: &Place) -> Result<Option<Origin>, Fault> {
        let _one = self.looking.lock().await;
        Ok(self.keys.find(&place.authority, &place.path).await?)
    }

    async fn fresh(
        &self,
        http: &Http,
        place: &Place,
        url: &str,
        challenge: Option<Challenge>,
        found: Option<Origin>,
    ) -> Result<Known, Fault> {
        let Some(challenge) = challenge else {
            return Err(self.refusal(None, Said::default()));
        };
        match challenge.scheme {
            Scheme::Bearer => {
                let asked = token::Asked::new(&challenge, place)?;
                let token = token::fetch(http, &asked, url, found.as_ref()).await;
                let origin = found.map(|found| found.origin);
                let token = token.map_err(|fault| self.named(fault, origin.as_deref()))?;
                Ok(Known {
                    header: secret_header(&format!("Bearer {}", token.text.reveal()))?,
                    origin,
                    until: Some(token.until),
                })
            }
            Scheme::Basic => match found {
                Some(Origin {
                    credential: Credential::Password { user, password },
                    origin,
                }) => Ok(Known {
                    header: basic(&user, &password)?,
                    origin: Some(origin),
                    until: None,
                }),
                _ => Err(self.refusal(None, Said::default())),
            },
        }
    }

    /// Why a request was refused that showed this.
    pub(super) fn refused(&self, tried: Option<&Known>, said: Said) -> Fault {
        self.refusal(tried.and_then(|known| known.origin.as_deref()), said)
    }

    fn refusal(&self, origin: Option<&str>, said: Said) -> Fault {
        match origin {
            Some(origin) => Fault::Denied {
                origin: origin.to_owned(),
                said,
            },
            None => Fault::NoCredential {
                files: self.keys.present(),
                said,
            },
        }
    }

    /// A token service's refusal with what it refused.
    fn named(&self, fault: token::TokenFault, origin: Option<&str>) -> Fault {
        match fault {
            token::TokenFault::Refused(said) => self.refusal(origin, said),
            token::TokenFault::Other { authority, fault } => Fault::Token { authority, fault },
        }
    }
}

impl Known {
    fn holds(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// A token rather than a password, where both are taken.
fn strongest(response: &Response) -> Option<Challenge> {
    let headers = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let texts = headers.filter_map(|header| header.to_str().ok());
    let challenges: Vec<Challenge> = texts.flat_map(challenge::parse).collect();
    let of = |scheme| move |challenge: &&Challenge| challenge.scheme == scheme;
    let bearer = challenges.iter().find(of(Scheme::Bearer));
    bearer
        .or_else(|| challenges.iter().find(of(Scheme::Basic)))
        .cloned()
}

fn basic(user: &str, password: &Secret) -> Result<HeaderValue, Fault> {
    let both = STANDARD.encode(format!("{user}:{}", password.reveal()));
    secret_header(&format!("Basic {both}"))
}

fn secret_header(text: &str) -> Result<HeaderValue, Fault> {
    let mut header = HeaderValue::from_str(text).map_err(|_| Fault::Malformed {
        what: "a token with characters that no header may have".to_owned(),
    })?;
    header.set_sensitive(true);
    Ok(header)
}
