//! Tokens: a credential is shown to the registry's token service, and what that gives to the
//! registry.

use std::time::{Duration, Instant};

use reqwest::{RequestBuilder, StatusCode, Url};
use serde::Deserialize;

use super::challenge::Challenge;
use crate::pull::credential::{Credential, Origin, Secret};
use crate::pull::error::Fault;
use crate::pull::http::{self, Http};
use crate::pull::said::Said;
use crate::pull::settings::Place;
use crate::pull::{limits, status};

/// How services know us in their logs.
const CLIENT_ID: &str = "airdock";

/// What a token is asked for.
pub(super) struct Asked {
    realm: String,
    service: Option<String>,
    scope: String,
}

pub(super) struct Token {
    pub(super) text: Secret,
    pub(super) until: Instant,
}

pub(super) enum TokenFault {
    Refused(Said),
    Other {
        authority: String,
        fault: Box<Fault>,
    },
}

#[derive(Deserialize)]
struct Answer {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

impl Asked {
    pub(super) fn new(challenge: &Challenge, place: &Place) -> Result<Self, Fault> {
        let realm = challenge.get("realm").ok_or_else(|| Fault::Malformed {
            what: "a challenge for a token that doesn't say where to get one".to_owned(),
        })?;
        Ok(Self {
            realm: realm.to_owned(),
            service: challenge.get("service").map(str::to_owned),
            scope: challenge
                .get("scope")
                .map_or_else(|| place.scope(), str::to_owned),
        })
    }

    fn pairs(&self) -> Vec<(&str, &str)> {
        let service = self.service.iter();
        let service = service.map(|service| ("service", service.as_str()));
        service.chain([("scope", self.scope.as_str())]).collect()
    }
}

/// Fetches a token; without a credential, the one that anybody gets. `from` is the address that
/// was asked first.
pub(super) async fn fetch(
    http: &Http,
    asked: &Asked,
    from: &str,
    found: Option<&Origin>,
) -> Result<Token, TokenFault> {
    let (client, realm) = http.for_token(&asked.realm, from).map_err(|fault| {
        let authority = asked.realm.clone();
        other(authority, fault)
    })?;
    let authority = http::authority(&realm);
    let request = request(&client, realm, asked, found.map(|found| &found.credential));
    let answer = send(request, &authority).await;
    let answer = answer.map_err(|fault| match fault {
        Fault::NoCredential { said, .. } => TokenFault::Refused(said),
        fault => other(authority.clone(), fault),
    })?;
    answer.into_token().ok_or_else(|| {
        let what = "an answer without a token".to_owned();
        other(authority, Fault::Malformed { what })
    })
}

fn other(authority: String, fault: Fault) -> TokenFault {
    let fault = Box::new(fault);
    TokenFault::Other { authority, fault }
}

fn request(
    client: &reqwest::Client,
    mut realm: Url,
    asked: &Asked,
    credential: Option<&Credential>,
) -> RequestBuilder {
    if let Some(Credential::Identity(token)) = credential {
        let mut pairs = asked.pairs();
        pairs.push(("grant_type", "refresh_token"));
        pairs.push(("client_id", CLIENT_ID));
        pairs.push(("refresh_token", token.reveal()));
        return client
            .post(realm)
            .header(
                reqwest::header::CONTENT_TYPE,
                "application/x-www-form-urlencoded",
            )
            .body(form(&pairs));
    }
    realm.query_pairs_mut().extend_pairs(asked.pairs());
    let request = client.get(realm);
    match credential {
        Some(Credential::Password { user, password }) => {
            request.basic_auth(user, Some(password.reveal()))
        }
        _ => request,
    }
}

/// As forms are sent: the query of an address that has nothing else.
fn form(pairs: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("form:x") else {
        return String::new();
    };
    url.query_pairs_mut().extend_pairs(pairs);
    url.query().unwrap_or_default().to_owned()
}

async fn send(request: RequestBuilder, authority: &str) -> Result<Answer, Fault> {
    let response = request.send().await;
    let response = response.map_err(|error| http::fault_of(&error, authority))?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::BAD_REQUEST => {
            let said = http::said(response).await;
            let files = Vec::new();
            return Err(Fault::NoCredential { files, said });
        }
        _ => return Err(status::fault(response).await),
    }
    let body = http::body(response, limits::TOKEN_BODY).await?;
    serde_json::from_slice(&body).map_err(|_| Fault::Malformed {
        what: "an answer that isn't the JSON of a token".to_owned(),
    })
}

impl Answer {
    fn into_token(self) -> Option<Token> {
        let given = |text: &String| !text.is_empty();
        let text = self
            .token
            .filter(given)
            .or(self.access_token.filter(given))?;
        let life = self
            .expires_in
            .map_or(limits::TOKEN_LIFE, Duration::from_secs);
        let life = life.saturating_sub(limits::TOKEN_MARGIN);
        let now = Instant::now();
        Some(Token {
            text: Secret::new(text),
            until: now.checked_add(life).unwrap_or(now),
        })
    }
}
