//! Requests and their answers, one at a time: redirects are followed here, and nothing is tried
//! again.

mod reason;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, LOCATION, RANGE};
use reqwest::{Client, Response, StatusCode, Url};

use super::error::{Fault, SettingsError};
use super::limits;
use super::resolve::Resolver;
use super::said::Said;
use super::settings::{Hosts, Settings};
use super::tls;

pub(super) use reason::fault_of;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    pub(super) accept: Option<&'static str>,
    /// The first byte that is wanted.
    pub(super) from: u64,
    /// Only for the place that is asked first; redirects elsewhere go without.
    pub(super) authorization: Option<HeaderValue>,
}

/// The clients, and for whom each is.
pub(super) struct Http {
    verifying: Client,
    trusting: Client,
    trusted: Hosts,
    plain: Hosts,
}

impl Http {
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        Ok(Self {
            verifying: client(tls::verifying(&settings.ca_files)?)?,
            trusting: client(tls::trusting()?)?,
            trusted: settings.skip_tls_verify.clone(),
            plain: settings.plain_http.clone(),
        })
    }

    /// The answer to a GET, whatever its status, after redirects.
    pub(super) async fn get(&self, url: &str, ask: &Ask) -> Result<Response, Fault> {
        let first = parse(url)?;
        let mut url = first.clone();
        for _ in 0..=limits::REDIRECTS {
            let response = self
                .get_once(&url, ask, is_same_place(&first, &url))
                .await?;
            match redirect(&response, &url)? {
                None => return Ok(response),
                Some(next) => url = self.safe(next, &url)?,
            }
        }
        Err(Fault::Redirects)
    }

    async fn get_once(&self, url: &Url, ask: &Ask, is_first: bool) -> Result<Response, Fault> {
        let client = self.client(url);
        let request = client.get(url.clone()).headers(headers(ask, is_first));
        let sent = request.send().await;
        sent.map_err(|error| fault_of(&error, &authority(url)))
    }

    /// The client to ask a token service with, which is asked where a registry says.
    pub(super) fn for_token(&self, realm: &str, from: &str) -> Result<(Client, Url), Fault> {
        let realm = self.safe(parse(realm)?, &parse(from)?)?;
        Ok((self.client(&realm).clone(), realm))
    }

    fn client(&self, url: &Url) -> &Client {
        match self.trusted.contains(&authority(url)) {
            true => &self.trusting,
            false => &self.verifying,
        }
    }

    /// The address where we are sent, unless that is less safe than where we are.
    fn safe(&self, to: Url, from: &Url) -> Result<Url, Fault> {
        let authority = authority(&to);
        match to.scheme() {
            "https" => Ok(to),
            "http" if self.plain.contains(&authority) => Ok(to),
            "http" if from.scheme() == "http" && is_same_place(from, &to) => Ok(to),
            "http" => Err(Fault::LeadsToPlainHttp { authority }),
            scheme => Err(Fault::Malformed {
                what: format!("an address with the scheme {scheme}"),
            }),
        }
    }
}

fn client(tls: rustls::ClientConfig) -> Result<Client, SettingsError> {
    let resolver = Resolver::new().map_err(|error| SettingsError::Resolver {
        reason: error.to_string(),
    })?;
    Client::builder()
        .tls_backend_preconfigured(tls)
        .dns_resolver(resolver)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("airdock/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(limits::CONNECT)
        .read_timeout(limits::SILENCE)
        .http1_only()
        .referer(false)
        .build()
        .map_err(|source| SettingsError::Client { source })
}

fn headers(ask: &Ask, is_first: bool) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(accept) = ask.accept {
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
    }
    if let Ok(range) = HeaderValue::from_str(&format!("bytes={}-", ask.from))
        && ask.from > 0
    {
        headers.insert(RANGE, range);
    }
    if let Some(authorization) = ask.authorization.clone().filter(|_| is_first) {
        headers.insert(AUTHORIZATION, authorization);
    }
    headers
}

fn parse(url: &str) -> Result<Url, Fault> {
    Url::parse(url).map_err(|error| Fault::Malformed {
        what: format!("an address that is none: {error}"),
    })
}

/// Host and, where it isn't the scheme's own, port.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn is_same_place(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

fn redirect(response: &Response, at: &Url) -> Result<Option<Url>, Fault> {
    if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION);
    let next = location.and_then(|location| location.to_str().ok());
    let next = next.and_then(|location| at.join(location).ok());
    next.map(Some).ok_or_else(|| Fault::Malformed {
        what: "a redirect that leads nowhere".to_owned(),
    })
}

/// The body of an answer up to `limit` bytes.
pub(super) async fn body(mut response: Response, limit: usize) -> Result<Vec<u8>, Fault> {
    let authority = authority(response.url());
    let mut body = Vec::new();
    loop {
        let piece = response.chunk().await;
        let piece = piece.map_err(|error| fault_of(&error, &authority))?;
        let Some(piece) = piece else {
            return Ok(body);
        };
        body.extend_from_slice(&piece);
        if body.len() > limit {
            let limit = limit as u64;
            return Err(Fault::TooLarge { limit });
        }
    }
}

/// What an answer that refuses says, as far as it can be had.
pub(super) async fn said(response: Response) -> Said {
    let body = body(response, limits::ERROR_BODY).await;
    Said::of(&body.unwrap_or_default())
}
