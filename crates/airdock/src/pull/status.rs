//! What an answer's status means.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::RETRY_AFTER;
use reqwest::{Response, StatusCode};

use super::error::Fault;
use super::http;

/// Words of Go's HTTPS server to whoever speaks plain http to it.
const GO_WANTS_TLS: &str = "HTTP request to an HTTPS server";
/// The same of nginx.
const NGINX_WANTS_TLS: &str = "plain HTTP request was sent to HTTPS port";

/// Why an answer is a refusal; credentials aside.
pub(super) async fn fault(response: Response) -> Fault {
    let status = response.status();
    let after = retry_after(&response);
    let said = http::said(response).await;
    match status {
        StatusCode::NOT_FOUND => Fault::Missing { said },
        StatusCode::TOO_MANY_REQUESTS => Fault::RateLimited { after, said },
        StatusCode::BAD_REQUEST if said.has(GO_WANTS_TLS) || said.has(NGINX_WANTS_TLS) => {
            Fault::WantsTls
        }
        status => Fault::Status {
            status: status.as_u16(),
            after,
            said,
        },
    }
}

/// Seconds, or a date (RFC 9110, section 10.2.3).
fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    parse_retry_after(text, Timestamp::now())
}

fn parse_retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = text.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = rfc2822::DateTimeParser::new().parse_zoned(text).ok()?;
    Some(
        date.timestamp()
            .duration_since(now)
            .try_into()
            .unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_may_say_seconds_or_a_date() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        for (text, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Mon, 30 Nov 2026 12:01:30 GMT", Some(90)),
            ("Mon, 30 Nov 2026 11:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
        ] {
            let wanted = seconds.map(Duration::from_secs);
            assert_eq!(parse_retry_after(text, now), wanted, "{text}");
        }
    }
}
