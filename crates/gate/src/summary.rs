//! A summary of one session of an agent: what passed without a person, what was confined, and what was asked.

use std::collections::HashMap;

use placet_core::{Actor, Effect, Grant, GrantId, Request, RequestId, State, Time, show};
use placet_store::Filter;

use crate::{Attention, Gate, GateError, figures::Activity, preview};

/// What happened in one session. All texts in it can be shown as they are.
#[derive(Debug, Clone)]
pub struct SessionSummary {
    /// Whose session.
    pub agent: String,
    /// Its name.
    pub session: String,
    /// When its first call was made, among those that were read.
    pub from: Time,
    /// When its last one was.
    pub to: Time,
    /// Whether all of its calls were read. Otherwise only the newest ones were.
    pub whole: bool,
    /// How often people were asked.
    pub attention: Attention,
    /// What was asked, confined and let through by a grant, the most frequent first.
    pub lines: Vec<SummaryLine>,
    /// Grants that let calls of the session through.
    pub grants: Vec<SummaryGrant>,
}

/// The part of the figures that a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Passed by policy, free.
    Passed,
    /// Passed by policy, confined.
    Confined,
    /// Passed by a grant or by trust.
    Remembered,
    /// Waited for a person.
    Asked,
    /// Refused by policy.
    Refused,
}

/// Calls of one kind: the same part, tool and effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryLine {
    /// In which part they are.
    pub part: Part,
    /// The tool, or the kind if there is no tool.
    pub tool: String,
    /// What one of them does, in a sentence. For calls that passed free, only the tool.
    pub effect: Option<String>,
    /// How many.
    pub count: u64,
    /// How many of them people approved.
    pub approved: u64,
    /// How many they denied.
    pub denied: u64,
    /// The newest of them.
    pub request: RequestId,
}

/// A grant that let calls of the session through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryGrant {
    /// Which.
    pub id: GrantId,
    /// Who gave it.
    pub by: Option<String>,
    /// For which tool.
    pub tool: String,
    /// How many calls of the session it let through.
    pub count: u64,
    /// Whether it still stands.
    pub stands: bool,
}

/// Requests read at a time, and the most that are read.
const PAGE: u32 = 500;
const MOST: usize = 5_000;
/// The number of lines per part.
const LINES: usize = 20;

fn part(request: &Request) -> Part {
    match request.verdict.effect {
        Effect::Hold => Part::Asked,
        Effect::Deny => Part::Refused,
        Effect::Allow if request.grant.is_some() || request.trust.is_some() => Part::Remembered,
        Effect::Allow if request.verdict.confine.is_some() => Part::Confined,
        Effect::Allow => Part::Passed,
    }
}

impl Gate {
    /// A summary of the named session, or of the newest one. Agents read only their own.
    pub async fn session_summary(
        &self,
        actor: &Actor,
        agent: Option<String>,
        session: Option<String>,
    ) -> Result<SessionSummary, GateError> {
        let mut filter = Filter { agent, session, newest: true, ..Filter::default() };
        // Two agents may use the same session name: the newest call decides which one is meant.
        let newest = self.visible(actor, filter.clone(), 1).await?.items.pop();
        let newest = newest.ok_or_else(GateError::not_found)?;
        filter.agent = Some(newest.agent.clone());
        filter.session = Some(newest.session.clone());
        let mut counting = Counting::default();
        let mut seen = 0;
        let whole = loop {
            let page = self.visible(actor, filter.clone(), PAGE).await?;
            seen += page.items.len();
            for request in &page.items {
                counting.add(request);
            }
            match page.next {
                None => break true,
                Some(_) if seen >= MOST => break false,
                next => filter.after = next,
            }
            if self.cancel.is_cancelled() {
                return Err(GateError::Closing);
            }
        };
        let (now, directory) = (self.now(), self.store.directory());
        let stands = |grant: &Grant| now < grant.expires_at;
        let mut grants: Vec<SummaryGrant> = counting
            .grants
            .into_iter()
            .map(|(id, (by, tool, count))| {
                let stands = directory.grants.get(&id).is_some_and(|grant| stands(grant));
                SummaryGrant { id, by, tool, count, stands }
            })
            .collect();
        grants.sort_by(|a, b| b.count.cmp(&a.count).then(a.id.cmp(&b.id)));
        grants.truncate(LINES);
        let active_seconds = counting.activity.seconds();
        Ok(SessionSummary {
            agent: show(&newest.agent),
            session: show(&newest.session),
            from: counting.from.unwrap_or(newest.created_at),
            to: newest.created_at,
            whole,
            attention: Attention { active_seconds, ..counting.attention },
            lines: lines(counting.lines),
            grants,
        })
    }
}

#[derive(Default)]
struct Counting {
    attention: Attention,
    activity: Activity,
    from: Option<Time>,
    lines: HashMap<(Part, String, Option<String>), SummaryLine>,
    grants: HashMap<GrantId, (Option<String>, String, u64)>,
}

impl Counting {
    /// The newest first.
    fn add(&mut self, request: &Request) {
        let part = part(request);
        let (confined, stood) =
            (request.verdict.confine.is_some(), request.grant.is_some() || request.trust.is_some());
        self.attention.count(request.verdict.effect, confined, stood);
        self.activity.add(&request.agent, &request.session, request.created_at);
        self.from = Some(request.created_at);
        let tool = request.tool.as_deref().map_or_else(|| request.kind.to_string(), show);
        if let Some(grant) = request.grant {
            let by = request.granted_by.as_deref().map(show);
            self.grants.entry(grant).or_insert_with(|| (by, tool.clone(), 0)).2 += 1;
        }
        let effect = (part != Part::Passed).then(|| preview::effect(request));
        let line = self.lines.entry((part, tool.clone(), effect.clone())).or_insert_with(|| SummaryLine {
            part,
            tool,
            effect,
            count: 0,
            approved: 0,
            denied: 0,
            request: request.id,
        });
        line.count += 1;
        let word = request.decision.as_ref().filter(|one| !one.by.is_empty()).map(|one| one.word);
        match (word, request.state) {
            (Some(word), _) if !word.is_yes() => line.denied += 1,
            (_, State::Revoked) | (None, _) => {}
            (Some(_), _) => line.approved += 1,
        }
    }
}

/// Part by part, the most frequent first, up to this many of each.
fn lines(all: HashMap<(Part, String, Option<String>), SummaryLine>) -> Vec<SummaryLine> {
    let mut by_part: [Vec<SummaryLine>; 5] = Default::default();
    for line in all.into_values() {
        let at = match line.part {
            Part::Asked => 0,
            Part::Remembered => 1,
            Part::Confined => 2,
            Part::Refused => 3,
            Part::Passed => 4,
        };
        by_part[at].push(line);
    }
    for lines in &mut by_part {
        lines.sort_by(|a, b| {
            b.count.cmp(&a.count).then_with(|| a.tool.cmp(&b.tool)).then_with(|| a.effect.cmp(&b.effect))
        });
        lines.truncate(LINES);
    }
    by_part.into_iter().flatten().collect()
}
