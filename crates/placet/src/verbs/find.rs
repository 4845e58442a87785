//! Finds a request by its whole id, or by a unique part of its beginning or end.

use placet_client::{Client, ListQuery};
use placet_core::{Record, RequestId, State};

use crate::{exit::usage, output};

/// How many pages are searched for a part of an id.
const PAGES: usize = 20;

/// The request that is meant.
pub(crate) async fn id(client: &Client, text: &str) -> anyhow::Result<RequestId> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let part = text.strip_prefix("req_").unwrap_or(text);
    if part.len() < 3 || !part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'v').contains(&byte)) {
        return Err(usage(format!(
            "`{text}` is not the id of a request: write the whole of it (req_ and 26 characters), or at least 3 characters of its beginning or end"
        )));
    }
    // Pending requests come first. Others are searched only if no pending one matches.
    for state in [Some(State::Pending), None] {
        let found = search(client, part, state).await?;
        match found.as_slice() {
            [] => {}
            [one] => return Ok(one.id),
            several => return Err(usage(ambiguous(text, several))),
        }
    }
    Err(usage(format!("no request begins or ends with `{part}`: see `placet inbox --state all`")))
}

async fn search(client: &Client, part: &str, state: Option<State>) -> anyhow::Result<Vec<Record>> {
    let mut found = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES {
        let query = ListQuery { state, cursor, limit: Some(200), ..ListQuery::default() };
        let page = client.list(&query).await?;
        found.extend(page.items.into_iter().filter(|record| fits(record.id, part)));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(found)
}

fn fits(id: RequestId, part: &str) -> bool {
    let id = id.to_string();
    let own = id.trim_start_matches("req_");
    own.starts_with(part) || own.ends_with(part)
}

fn ambiguous(text: &str, several: &[Record]) -> String {
    let names = several.iter().take(5).map(|record| format!("{} ({})", record.id, output::effect(record)));
    let more = if several.len() > 5 { " and more" } else { "" };
    format!(
        "`{text}` could be any of {}: {}{more}. Write more of it",
        several.len(),
        names.collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn a_part_fits_at_the_beginning_and_at_the_end_only() {
        let id = sample::action().id;
        assert!(fits(id, "0698d3r") && fits(id, "60o30c") && fits(id, "0698d3r3kvtg0i8s0c1g60o30c"));
        assert!(!fits(id, "kvtg"));
    }

    #[test]
    fn several_that_fit_are_named() {
        let text = ambiguous("069", &[sample::action(), sample::plan()]);
        assert!(
            text.contains("could be any of 2") && text.contains("billing-bot wants to run delete_files"),
            "{text}"
        );
    }
}
