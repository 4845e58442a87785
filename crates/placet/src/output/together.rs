//! Requests that wait together, for people: which ones, and the commands for all of them.

use placet_core::{Record, State, show};

use super::{
    describe::{Line, Tone},
    text::{safe, short},
};

/// Most ids in one line.
const NAMED: usize = 5;

/// The requests that wait together with this one, itself included. None if it waits alone.
pub(super) fn listed(record: &Record) -> Vec<Line> {
    let Some(together) = record.together.as_ref().filter(|_| record.state == State::Pending) else {
        return Vec::new();
    };
    let line = |label: &str, text: String, tone| match label {
        "" => Line::sentence(text, tone),
        label => Line::labelled(label, text, tone),
    };
    let all = together.items.len() + usize::try_from(together.more).unwrap_or(usize::MAX);
    let mut lines = vec![line("", format!("Asked together: {all} requests"), Tone::Heading)];
    for item in &together.items {
        let this = if item.id == record.id { " (this one)" } else { "" };
        lines.push(line(
            &short(item.id),
            format!("{} · {}{this}", item.risk, safe(&item.effect)),
            Tone::Plain,
        ));
    }
    if together.more > 0 {
        lines.push(line("", format!("and {} more", together.more), Tone::Dim));
    }
    lines
}

/// One line for each set of pending requests that wait together, with the commands that decide them.
pub(crate) fn hints(records: &[Record]) -> Vec<String> {
    let mut sets: Vec<Vec<&Record>> = Vec::new();
    for record in records.iter().filter(|record| record.state == State::Pending && named(record).is_some()) {
        match sets.iter_mut().find(|set| set.first().is_some_and(|first| beside(first, record))) {
            Some(set) => set.push(record),
            None => sets.push(vec![record]),
        }
    }
    let hint = |set: Vec<&Record>| {
        let name = named(set.first().filter(|_| set.len() > 1)?)?;
        let mut ids: Vec<String> = set.iter().take(NAMED).map(|record| short(record.id)).collect();
        if set.len() > NAMED {
            ids.push(format!("{} more", set.len() - NAMED));
        }
        let ids = ids.join(", ");
        Some(format!("asked together: {ids} · placet approve --group {name} · deny --group {name}"))
    };
    sets.into_iter().filter_map(hint).collect()
}

/// Whether two wait together. An agent chooses the name of a group, so their origin counts too.
fn beside(one: &Record, other: &Record) -> bool {
    let of = |record: &Record| {
        (record.agent.clone(), record.source.clone(), record.session.clone(), record.group.clone())
    };
    of(one) == of(other)
}

/// The group's name, if it can be typed on a command line unchanged.
pub(crate) fn named(record: &Record) -> Option<String> {
    let plain = |group: &&String| {
        (1..=100).contains(&group.len())
            && !group.starts_with('-')
            && group.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
    };
    record.group.as_ref().filter(plain).map(|group| show(group))
}

#[cfg(test)]
mod tests {
    use placet_core::{Row, Together};
    use serde_json::json;

    use super::*;
    use crate::output::sample;

    fn grouped(id: u8, change: impl Fn(&mut Record)) -> Record {
        let mut record = sample::action();
        record.id = format!("req_0698d3r3kvtg0i8s0c1g60o3{id}c").parse().expect("an id");
        record.group = Some("turn-1".to_owned());
        record.session = "s".to_owned();
        change(&mut record);
        record
    }

    fn row(record: &Record, effect: &str) -> Row {
        let row = json!({
            "id": record.id, "version": 1, "kind": "action", "state": "pending", "agent": "a", "session": "s",
            "tool": "t", "risk": "medium", "effect": effect, "group": "turn-1", "same": null, "shape": null,
            "digest": record.digest, "votes": {"have": 0, "need": 1}, "needs_step_up": false, "warnings": 0,
            "created_at": "2026-11-15T12:00:00Z", "expires_at": "2026-11-15T12:05:00Z", "decided_at": null,
            "decided_by": [], "decision": null, "lineage": [],
        });
        serde_json::from_value(row).expect("a row")
    }

    #[test]
    fn only_what_one_agent_asked_in_one_session_by_one_door_is_named_together() {
        let one = grouped(0, |_| {});
        let records = [
            one.clone(),
            grouped(1, |_| {}),
            grouped(2, |record| record.agent = "other".to_owned()),
            grouped(3, |record| record.session = "elsewhere".to_owned()),
            grouped(4, |record| record.source = Some("hook-program".to_owned())),
            grouped(5, |record| record.group = None),
            grouped(6, |record| record.state = State::Denied),
        ];
        assert_eq!(
            hints(&records),
            ["asked together: g60o30c, g60o31c · placet approve --group turn-1 · deny --group turn-1"]
        );
        assert!(hints(&[one]).is_empty(), "one alone is not together with anything");
    }

    #[test]
    fn a_name_that_a_shell_would_read_is_never_put_into_a_command() {
        for name in ["a b", "$(x)", "a;b", "-rf", "", "\u{202e}a"] {
            let pair = [0, 1].map(|id| grouped(id, |record| record.group = Some(name.to_owned())));
            let shown = hints(&pair);
            assert!(shown.is_empty(), "{name}: {shown:?}");
        }
    }

    #[test]
    fn each_item_is_listed_with_its_own_effect_and_the_rest_is_counted() {
        let one = grouped(0, |_| {});
        let items =
            vec![row(&one, "Delete 1 file: a"), row(&grouped(1, |_| {}), "Delete 1 file: b\u{001b}[2J")];
        let record = grouped(0, |record| record.together = Some(Together { items: items.clone(), more: 3 }));
        let lines: Vec<String> =
            listed(&record).iter().map(|line| format!("{}|{}", line.label, line.text)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        |Asked together: 5 requests
        g60o30c|medium · Delete 1 file: a (this one)
        g60o31c|medium · Delete 1 file: b\u{001b}[2J
        |and 3 more
        ");
        assert!(listed(&one).is_empty());
    }
}
