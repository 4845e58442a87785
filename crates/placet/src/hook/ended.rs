//! At the end of a session: a short text about what passed without a person, what was confined, and what was asked.

use std::time::Duration;

use placet_client::{Client, SessionSummary};
use placet_hooks::Output;
use serde_json::json;

use crate::output::safe;

/// The timeout: the session is over, so this must be quick.
const OUTAGE: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(3);

/// Adds the text to the hook's output. Without it the hook says nothing about the session.
pub(super) async fn told(client: &Client, session: &str, output: Output) -> Output {
    let client = client.clone().with_outage_budget(OUTAGE);
    let asked = tokio::time::timeout(PATIENCE, client.session_summary(Some(session), None)).await;
    match asked {
        Ok(Ok(summary)) => {
            Output { stdout: json!({ "systemMessage": text(&summary) }).to_string(), ..output }
        }
        Ok(Err(_)) | Err(_) => output,
    }
}

fn text(summary: &SessionSummary) -> String {
    let counts = &summary.attention;
    let mut parts = vec![format!("{} passed without a person", counts.passed)];
    for (count, what) in [
        (counts.confined, "ran confined"),
        (counts.remembered, "passed by a remembered approval"),
        (counts.refused, "were refused"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    parts.push(format!("{} were asked", counts.asked));
    let calls = if counts.calls == 1 { "1 call".to_owned() } else { format!("{} calls", counts.calls) };
    let mut lines = vec![format!("Placet: of {calls}, {}.", parts.join(", "))];
    let repeated =
        summary.lines.iter().any(|line| line.part == "asked" && line.approved > 1 && line.denied == 0);
    if repeated {
        lines.push("Make rules of what was approved again and again: placet policy suggest".to_owned());
    }
    lines.extend(summary.grants.iter().filter(|grant| grant.stands).take(3).map(|grant| {
        let tool = safe(&grant.tool);
        format!("Take the remembered approval for {tool} back: placet grant revoke {}", grant.id)
    }));
    lines.push("All of it: placet session summary".to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use placet_client::{Attention, SummaryGrant, SummaryLine};

    use super::*;

    #[test]
    fn the_text_counts_each_part_and_names_the_commands_that_change_it() {
        let line = SummaryLine {
            part: "asked".to_owned(),
            tool: "Bash".to_owned(),
            effect: None,
            count: 3,
            approved: 3,
            denied: 0,
            request: "req_0698d3r3kvtg0i8s0c1g60o30c".parse().unwrap(),
        };
        let grant = SummaryGrant {
            id: "grt_0698d3r3kvtg0i8s0c1g60o30c".parse().unwrap(),
            by: None,
            tool: "Edit\u{1b}".to_owned(),
            count: 2,
            stands: true,
        };
        let mut summary = SessionSummary {
            agent: "claude".to_owned(),
            session: "s".to_owned(),
            from: "2026-11-19T00:00:00Z".parse().unwrap(),
            to: "2026-11-19T01:00:00Z".parse().unwrap(),
            whole: true,
            attention: Attention {
                calls: 12,
                passed: 5,
                confined: 2,
                remembered: 2,
                asked: 3,
                ..Attention::default()
            },
            lines: vec![line],
            grants: vec![grant],
        };
        insta::assert_snapshot!(text(&summary), @r"
        Placet: of 12 calls, 5 passed without a person, 2 ran confined, 2 passed by a remembered approval, 3 were asked.
        Make rules of what was approved again and again: placet policy suggest
        Take the remembered approval for Edit\u{001b} back: placet grant revoke grt_0698d3r3kvtg0i8s0c1g60o30c
        All of it: placet session summary
        ");
        summary.lines[0].denied = 1;
        summary.grants[0].stands = false;
        let quiet = text(&summary);
        assert!(!quiet.contains("suggest") && !quiet.contains("revoke"), "{quiet}");
    }
}
