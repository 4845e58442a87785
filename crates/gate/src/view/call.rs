//! The sections of one call: the typed one of a recognised call, then those that the shape of its other values gives.

use placet_core::{Preview, SectionBody, show};
use serde_json::{Map, Value};

use super::{Parts, diff, is_readable, shapes, subject::RunningStep};
use crate::preview::{
    card::{CardCall, LineSource, recognised, step_effect},
    kubernetes,
};

/// Draws a call whose arguments stand at a pointer.
pub(super) fn draw(
    tool: &str,
    arguments: &Map<String, Value>,
    cwd: Option<&str>,
    at: &str,
    parts: &mut Parts,
) {
    if let Some((change, shown)) = kubernetes(tool, arguments) {
        let shown = shown.into_iter().map(|pointer| format!("{at}{pointer}")).collect();
        let body = SectionBody::Kubernetes {
            verb: change.verb,
            resource: change.resource,
            name: change.name,
            namespace: change.namespace,
            cluster: change.cluster,
            manifest: change.manifest,
        };
        parts.add(None, body, shown);
    } else if let Some(call) = recognised(tool, arguments, cwd, at) {
        typed(call, parts);
    }
    shapes::object(arguments, at, parts);
}

/// Draws a step of a plan that will run, and its call.
pub(super) fn step(running: &RunningStep<'_>, cwd: Option<&str>, parts: &mut Parts) {
    let step = running.step;
    let (id, action, description) = (show(&step.id), show(&step.action), show(&step.description));
    let readable = [("id", &id), ("action", &action), ("description", &description)];
    let pointers = readable
        .into_iter()
        .filter(|(_, drawn)| is_readable(drawn))
        .map(|(name, _)| format!("{}/{name}", running.at))
        .collect();
    let body = SectionBody::Step {
        id,
        action,
        description,
        sentence: step_effect(&step.action, running.arguments),
        optional: step.optional == Some(true),
    };
    parts.add(None, body, pointers);
    if let Some(arguments) = running.arguments {
        draw(&step.action, arguments, cwd, &running.arguments_at, parts);
    }
}

/// The typed section of a recognised call.
fn typed(call: CardCall, parts: &mut Parts) {
    let CardCall { preview, mut shown, lines, chat } = call;
    let body = match preview {
        Preview::Shell { command, opaque, why, commands, cwd, claimed_cwd } => {
            if claimed_cwd.as_deref().is_some_and(is_readable) {
                shown.push("/context/cwd".to_owned());
            }
            SectionBody::Command { command, opaque, why, commands, cwd, claimed_cwd }
        }
        Preview::Sql { statement, kind, tables, filtered, statements } => {
            SectionBody::Sql { statement, kind, tables, filtered, statements }
        }
        Preview::Diff { path, lines: rows, truncated } => {
            let change = match lines {
                LineSource::Edit => "edit",
                LineSource::Write(change) => change,
                LineSource::Patch => diff::change(&rows),
            };
            let lines = diff::numbered(rows, lines);
            SectionBody::Diff { path, change: change.to_owned(), lines, truncated }
        }
        Preview::Http { method, url, host, headers, body } => {
            SectionBody::Http { method, url, host, headers, body }
        }
        Preview::Email { to, cc, bcc, subject, body } => {
            let subject = Some(subject).filter(|subject| !subject.is_empty());
            SectionBody::Message { medium: "email".to_owned(), to, cc, bcc, subject, body }
        }
        Preview::Money { amount, currency, to, accounts, reference } => {
            SectionBody::Money { amount, currency, to, accounts, reference }
        }
        Preview::Json => {
            let Some([(to_at, to), (text_at, body)]) = chat else { return };
            let both = [(to_at, &to), (text_at, &body)].into_iter();
            shown = both.filter(|(_, drawn)| is_readable(drawn)).map(|(pointer, _)| pointer).collect();
            let (to, medium) = (vec![to], "chat".to_owned());
            SectionBody::Message { medium, to, cc: Vec::new(), bcc: Vec::new(), subject: None, body }
        }
        // These are no calls.
        Preview::Plan { .. } | Preview::Question { .. } | Preview::Confirmation { .. } => return,
    };
    parts.add(None, body, shown);
}
