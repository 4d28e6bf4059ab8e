//! Where a list goes on: `Link: <URL>; rel="next"` (RFC 8288), as the distribution specification
//! has it for referrers.

use reqwest::header::{HeaderMap, LINK};

/// The query of the next page. The rest of its address is that of this one: whoever is asked says
/// how to go on, not where.
pub(super) fn next(headers: &HeaderMap) -> Option<String> {
    let values = headers.get_all(LINK).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).find_map(query)
}

fn query(link: &str) -> Option<String> {
    let (address, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
    let mut parameters = parameters.split(';').map(str::trim);
    let is_next = parameters.any(|it| matches!(it, "rel=next" | "rel=\"next\""));
    let (_, query) = address.split_once('?').filter(|_| is_next)?;
    Some(query.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_the_next_page_is_found() {
        for (value, want) in [
            (
                r#"</v2/x/referrers/sha256:a?last=b&n=2>; rel="next""#,
                Some("last=b&n=2"),
            ),
            (
                "<https://other.example/x?t=1>; title=x; rel=next",
                Some("t=1"),
            ),
            (r#"</x?a=1>; rel="prev", </x?a=3>; rel="next""#, Some("a=3")),
            (r#"</x>; rel="next""#, None),
            ("</x?a=1>; rel=prev", None),
            ("x?a=1", None),
        ] {
            let headers = HeaderMap::from_iter([(LINK, value.parse().unwrap())]);
            assert_eq!(next(&headers).as_deref(), want, "{value}");
        }
        assert_eq!(next(&HeaderMap::new()), None);
    }
}
