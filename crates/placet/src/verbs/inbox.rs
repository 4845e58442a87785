//! `placet inbox`: a table of pending requests.

use std::io::IsTerminal;

use anstyle::Style;
use placet_client::{ListQuery, Page};
use placet_core::{Record, State, Time, show};

use super::{Context, attention};
use crate::{
    cli::{Filters, InboxArgs, StateFilter},
    output::{self, oneline, paint, risk_style, short, span, state_style, table, together, until},
};

/// Lists one page.
pub(crate) async fn run(context: &Context, args: InboxArgs) -> anyhow::Result<u8> {
    let query = ListQuery { cursor: args.cursor, limit: Some(args.limit), ..query(&args.filters) };
    let page = context.client.list(&query).await?;
    if context.json {
        output::json(&page)?;
    } else {
        // A pipe has no width, so nothing is cut.
        let terminal = std::io::stdout().is_terminal().then(crossterm::terminal::size).and_then(Result::ok);
        let columns = terminal.map_or(usize::MAX, |(columns, _)| usize::from(columns));
        for line in lines(&page, query.state, output::now(), columns.max(60)) {
            output::line(&line)?;
        }
        if let Some(warning) = attention::pace(context).await {
            output::line("")?;
            output::line(&warning)?;
        }
    }
    Ok(0)
}

/// The filters for the server. The default is pending.
pub(crate) fn query(filters: &Filters) -> ListQuery {
    let state = match filters.state {
        None => Some(State::Pending),
        Some(StateFilter::All) => None,
        Some(StateFilter::Only(state)) => Some(state),
    };
    ListQuery {
        state,
        agent: filters.agent.clone(),
        tool: filters.tool.clone(),
        session: filters.session.clone(),
        risk: filters.risk,
        group: filters.group.clone(),
        q: filters.query.clone(),
        cursor: None,
        limit: None,
    }
}

fn lines(page: &Page, state: Option<State>, now: Time, columns: usize) -> Vec<String> {
    if page.items.is_empty() {
        let nothing = if state == Some(State::Pending) {
            "Nothing is waiting for a decision."
        } else {
            "Nothing fits."
        };
        return vec![paint(output::DIM, nothing)];
    }
    let pending = state == Some(State::Pending);
    let fourth = if pending { "LEFT" } else { "STATE" };
    let headings = ["ID", "AGE", fourth, "RISK", "AGENT", "TOOL", "WHAT"];
    let rows: Vec<_> = page.items.iter().map(|record| row(record, pending, now)).collect();
    let mut lines = table(&headings, &rows, columns);
    if let Some(cursor) = &page.next_cursor {
        lines.push(paint(output::DIM, &format!("There is more: add --cursor {}", show(cursor))));
    }
    if pending {
        lines.extend(together::hints(&page.items).iter().map(|hint| paint(output::DIM, hint)));
        lines.push(String::new());
        lines.push(paint(
            output::DIM,
            "placet show ID · approve ID · deny ID · edit ID · answer ID · inbox --watch",
        ));
    }
    lines
}

fn row(record: &Record, pending: bool, now: Time) -> Vec<(String, Style)> {
    let plain = Style::new();
    let state = if pending {
        let left = record.expires_at.since(now).as_secs();
        let style = if left < 60 { output::WARN } else { plain };
        (until(record.expires_at, now), style)
    } else {
        (record.state.to_string(), state_style(record.state))
    };
    let tool = record.tool.as_deref().map_or_else(|| format!("({})", record.kind), show);
    vec![
        (short(record.id), output::NAME),
        (span(now.since(record.created_at)), plain),
        state,
        (record.risk.to_string(), risk_style(record.risk)),
        (output::who(record), plain),
        (tool, output::STRONG),
        (oneline(record), plain),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    fn text(page: &Page, state: Option<State>) -> String {
        let lines = lines(page, state, sample::now(), 100);
        anstream::adapter::strip_str(&lines.join("\n")).to_string()
    }

    #[test]
    fn the_inbox_is_a_table_of_what_would_happen() {
        let items = vec![sample::action(), sample::plan(), sample::confirmation()];
        let page = Page { items, next_cursor: Some("c2".to_owned()), seq: 9, event_id: None };
        insta::assert_snapshot!(text(&page, Some(State::Pending)), @r#"
        ID       AGE    LEFT   RISK    AGENT        TOOL            WHAT
        g60o30c  1m05s  3m55s  high    billing-bot  delete_files    files=[report.md, "a b.txt"] force=true
        g60o30c  1m05s  3m55s  medium  billing-bot  (plan)          Clean the archive: list, delete, report
        g60o30c  1m05s  3m55s  medium  billing-bot  (confirmation)  Go live?
        There is more: add --cursor c2

        placet show ID · approve ID · deny ID · edit ID · answer ID · inbox --watch
        "#);
        insta::assert_snapshot!(text(&page, None), @r#"
        ID       AGE    STATE    RISK    AGENT        TOOL            WHAT
        g60o30c  1m05s  pending  high    billing-bot  delete_files    files=[report.md, … b.txt"] force=true
        g60o30c  1m05s  pending  medium  billing-bot  (plan)          Clean the archive:…ist, delete, report
        g60o30c  1m05s  pending  medium  billing-bot  (confirmation)  Go live?
        There is more: add --cursor c2
        "#);
    }

    #[test]
    fn an_empty_inbox_says_so() {
        let page = Page { items: vec![], next_cursor: None, seq: 0, event_id: None };
        assert_eq!(text(&page, Some(State::Pending)), "Nothing is waiting for a decision.");
    }
}
