//! The state of the screen: rows, the selected one, and the input. No terminal, no network.

use std::time::Duration;

use placet_client::{Decide, Error};
use placet_core::{Digest, Kind, Record, RequestId, Risk, State, Time};

use super::{ROWS, Update};
use crate::output::{self, Tone, headline};

/// How long a decided row stays, dimmed, so that nothing disappears under the cursor.
const LINGER: Duration = Duration::from_secs(6);
/// How long a notice stays.
const NOTICE: Duration = Duration::from_secs(8);

/// One request on the screen.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) record: Record,
    /// When a decided one goes.
    pub(super) until: Option<Time>,
}

/// The input, and its record: the one on the screen when it began.
#[derive(Debug, Default)]
pub(super) enum Mode {
    /// Moving about.
    #[default]
    Browse,
    /// The list of keys.
    Help,
    /// About to approve; `word` must be typed, or `y` if there is none.
    Approve { shown: Box<Record>, word: Option<String>, typed: String },
    /// About to approve with changes made in the editor.
    Change { shown: Box<Record>, decide: Box<Decide>, lines: Vec<String>, typed: String },
    /// The reason of a denial.
    Deny { shown: Box<Record>, typed: String },
    /// The answer to a question.
    Answer { shown: Box<Record>, typed: String },
}

/// How much of one request was on the screen, from its first line on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReadSoFar {
    /// Of what, and on a screen how wide: other widths have other lines.
    of: Option<(RequestId, Digest, usize)>,
    /// How many lines it has.
    lines: usize,
    /// How many of them were shown, from the first on.
    shown: usize,
}

impl ReadSoFar {
    /// Of this record the lines from `first` to `last` are on the screen now, on a screen of this width.
    pub(super) fn on_screen(
        &mut self,
        record: &Record,
        width: usize,
        lines: usize,
        (first, last): (usize, usize),
    ) {
        let of = (record.id, shown_digest(record), width);
        if self.left_of(record) == Some(0) {
            // All of it was shown, whatever the width was.
            *self = Self { of: Some(of), lines, shown: lines };
            return;
        }
        if self.of != Some(of) || self.lines != lines {
            *self = Self { of: Some(of), lines, shown: 0 };
        }
        // A jump over lines does not show them.
        if first <= self.shown {
            self.shown = self.shown.max(last.min(lines));
        }
    }

    /// How many lines of it were not shown yet. None if none of this content was.
    pub(super) fn left_of(&self, record: &Record) -> Option<usize> {
        let what = (record.id, shown_digest(record));
        self.of.filter(|(id, digest, _)| (*id, *digest) == what && self.lines > 0).map(|_| self.left())
    }

    fn left(&self) -> usize {
        self.lines.saturating_sub(self.shown)
    }
}

/// The screen.
#[derive(Debug, Default)]
pub(super) struct App {
    pub(super) rows: Vec<Row>,
    pub(super) selected: Option<RequestId>,
    pub(super) mode: Mode,
    /// Why the connection is lost, if it is.
    pub(super) lost: Option<String>,
    pub(super) notice: Option<(String, Tone, Time)>,
    /// Show only the detail, without the list.
    pub(super) wide: bool,
    /// First line of the detail on the screen.
    pub(super) scroll: usize,
    /// How many lines of the detail fit on the screen.
    pub(super) page: usize,
    /// How far the selected request was shown.
    pub(super) read: ReadSoFar,
    /// The last requested detail, so that it is requested once.
    pub(super) fetched: Option<(RequestId, u32)>,
    pub(super) failed: Option<Error>,
}

impl App {
    pub(super) fn new(records: Vec<Record>) -> Self {
        let mut app = Self::default();
        app.replace_all(records);
        app
    }

    /// Applies an update from the server.
    pub(super) fn hear(&mut self, news: Update, now: Time) {
        match news {
            Update::All(records) => self.replace_all(records),
            Update::Changed { record, .. } => self.update(*record, now),
            Update::Connected => self.lost = None,
            Update::Lost(reason) => self.lost = Some(reason),
            Update::Failed(error) => self.failed = Some(error),
        }
    }

    fn replace_all(&mut self, records: Vec<Record>) {
        self.rows = records.into_iter().map(|record| Row { record, until: None }).collect();
        self.tidy();
    }

    /// Applies a newer record of one request. Older ones are ignored: the highest version counts.
    pub(super) fn update(&mut self, record: Record, now: Time) {
        let pending = record.state == State::Pending;
        let room = self.rows.len() < ROWS;
        let leave = (!pending).then(|| now.plus(LINGER));
        match self.rows.iter_mut().find(|row| row.record.id == record.id) {
            Some(row) if record.version < row.record.version => {}
            Some(row) => {
                // Of two equal versions, the one with the whole card is better.
                if record.version > row.record.version
                    || is_whole(&record)
                    || record.state != row.record.state
                    || !is_whole(&row.record)
                {
                    row.record = record;
                }
                row.until = row.until.or(leave);
            }
            None if pending && room => self.rows.push(Row { record, until: None }),
            None => {}
        }
        self.tidy();
    }

    /// Applies the passing of time: decided rows go, deadlines pass, notices fade.
    pub(super) fn tick(&mut self, now: Time) {
        for row in &mut self.rows {
            // The server reports it a moment later. The screen must not show it as open any longer.
            if row.record.state == State::Pending && now >= row.record.expires_at && row.until.is_none() {
                row.record.state = State::Expired;
                row.until = Some(now.plus(LINGER));
            }
        }
        self.rows.retain(|row| row.until.is_none_or(|until| now < until));
        if self.notice.as_ref().is_some_and(|(_, _, until)| now >= *until) {
            self.notice = None;
        }
        self.tidy();
    }

    /// The nearest deadline first. The selection stays on its request, not on its place.
    fn tidy(&mut self) {
        let place = self.place();
        self.rows.sort_by_key(|row| (row.record.expires_at, row.record.id));
        if self.current().is_none() {
            let next = place.unwrap_or(0).min(self.rows.len().saturating_sub(1));
            self.select(next);
        }
    }

    /// The place of the selected request in the list.
    pub(super) fn place(&self) -> Option<usize> {
        self.rows.iter().position(|row| Some(row.record.id) == self.selected)
    }

    /// The selected request.
    pub(super) fn current(&self) -> Option<&Row> {
        self.rows.iter().find(|row| Some(row.record.id) == self.selected)
    }

    /// Selects the request at this place.
    pub(super) fn select(&mut self, place: usize) {
        let id = self.rows.get(place).map(|row| row.record.id);
        if id != self.selected {
            (self.selected, self.scroll) = (id, 0);
        }
    }

    /// Shows a notice for a while.
    pub(super) fn say(&mut self, text: impl Into<String>, tone: Tone, now: Time) {
        self.notice = Some((text.into(), tone, now.plus(NOTICE)));
    }

    /// Shows the result of a decision.
    pub(super) fn answered(&mut self, id: RequestId, result: Result<Record, Error>, now: Time) {
        match result {
            Ok(record) => {
                let done = if record.state == State::Pending {
                    "vote counted, it waits for more people".to_owned()
                } else {
                    headline(&record)
                };
                self.say(format!("{}: {done}", output::short(id)), Tone::Good, now);
                self.update(record, now);
            }
            Err(error) => {
                let after = error.problem().and_then(|problem| problem.record.clone());
                let text = match &after {
                    Some(after) if after.state != State::Pending => {
                        format!("too late, it is {}", headline(after))
                    }
                    _ => output::safe(&error.to_string()),
                };
                self.say(format!("{}: {text}", output::short(id)), Tone::Bad, now);
                // What was shown may be old, so it is read again.
                self.fetched = None;
                if let Some(after) = after {
                    self.update(*after, now);
                }
            }
        }
    }

    /// The detail that should be read in full: the selected one, once per version.
    pub(super) fn wanted(&mut self) -> Option<RequestId> {
        let record = &self.current()?.record;
        let this = (record.id, record.version);
        if is_whole(record) || record.state != State::Pending || self.fetched == Some(this) {
            return None;
        }
        self.fetched = Some(this);
        Some(this.0)
    }
}

/// Whether the record has all that can be shown of it. Lists and streams have a line of the card; older servers have
/// none.
pub(super) fn is_whole(record: &Record) -> bool {
    match record.view {
        Some(_) => output::card::of(record).is_some(),
        None => record.display.is_some(),
    }
}

/// The digest of what is shown of a record.
fn shown_digest(record: &Record) -> Digest {
    let card = output::card::of(record).map(|card| card.digest);
    card.or_else(|| record.display.as_ref().map(|display| display.digest)).unwrap_or(record.digest)
}

/// What must be typed to approve: the tool's name if the risk is high, or just `y`.
pub(super) fn approving_word(record: &Record) -> Option<String> {
    let name = || record.tool.clone().unwrap_or_else(|| record.kind.to_string());
    (record.risk >= Risk::High).then(name)
}

/// Whether this can be approved with a key at all.
pub(super) fn approvable(record: &Record) -> bool {
    record.kind != Kind::Input || record.proposal.is_some()
}
