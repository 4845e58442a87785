//! `placet stats` and `placet session summary`: how often people were asked, and what happened to the rest.

use std::time::Duration;

use placet_client::{Attention, SessionSummary, Stats, SummaryGrant, SummaryLine};

use super::{Context, sheet};
use crate::{
    cli::{StatsArgs, SummaryArgs},
    output::{self, Line, Tone, paint, safe, span},
};

/// Figures about the last days.
pub(crate) async fn stats(context: &Context, args: &StatsArgs) -> anyhow::Result<u8> {
    let stats = context.client.stats(args.days).await?;
    if context.json {
        output::json(&stats)?;
    } else {
        output::line(&figures(&stats))?;
    }
    Ok(0)
}

/// What happened in a session.
pub(crate) async fn summary(context: &Context, args: &SummaryArgs) -> anyhow::Result<u8> {
    let (session, agent) = (args.session.as_deref(), args.agent.as_deref());
    let summary = context.client.session_summary(session, agent).await?;
    if context.json {
        output::json(&summary)?;
    } else {
        output::line(&told(&summary))?;
    }
    Ok(0)
}

fn line(tone: Tone, label: &str, text: String) -> Line {
    if label.is_empty() { Line::sentence(text, tone) } else { Line::labelled(label, text, tone) }
}

/// The figures of one period or session, as lines.
fn attention(attention: &Attention) -> Vec<Line> {
    let plain = |label: &str, text: String| line(Tone::Plain, label, text);
    let share =
        attention.asked_percent.map_or_else(String::new, |percent| format!(", {percent:.1} % of the calls"));
    let hour = attention.prompts_per_active_hour.map_or_else(
        || "not known: less than a minute of activity".to_owned(),
        |prompts| {
            let active = Duration::try_from_secs_f64(attention.active_seconds).unwrap_or_default();
            format!("{prompts:.1} in {} of activity", span(active))
        },
    );
    vec![
        plain("calls", attention.calls.to_string()),
        line(Tone::Strong, "asked", format!("{}{share}", attention.asked)),
        line(Tone::Strong, "prompts per hour", hour),
        plain("passed", attention.passed.to_string()),
        plain("confined", attention.confined.to_string()),
        plain("remembered", attention.remembered.to_string()),
        plain("refused", attention.refused.to_string()),
    ]
}

fn figures(stats: &Stats) -> String {
    let mut lines = vec![line(Tone::Strong, "", format!("{} to {}", stats.from, stats.to))];
    lines.extend(attention(&stats.attention));
    sheet(&lines, None)
}

/// A session's summary for people: first what was asked, then how to reduce it.
fn told(summary: &SessionSummary) -> String {
    let whole = if summary.whole { "" } else { ", its newest requests" };
    let head = format!("session {} of {}{whole}", safe(&summary.session), safe(&summary.agent));
    let mut lines = vec![line(Tone::Strong, "", head)];
    lines.extend(attention(&summary.attention));
    for (part, title) in [
        ("asked", "Asked"),
        ("remembered", "Passed by a remembered approval"),
        ("confined", "Confined"),
        ("refused", "Refused"),
        ("passed", "Passed"),
    ] {
        let mut of_part = summary.lines.iter().filter(|one| one.part == part).peekable();
        if of_part.peek().is_some() {
            lines.push(line(Tone::Heading, "", title.to_owned()));
            lines.extend(of_part.map(|one| line(Tone::Plain, &format!("{}×", one.count), kind(one))));
        }
    }
    let standing: Vec<&SummaryGrant> = summary.grants.iter().filter(|grant| grant.stands).collect();
    let repeated = summary.lines.iter().any(|one| one.part == "asked" && one.approved > 1 && one.denied == 0);
    if repeated || !standing.is_empty() {
        lines.push(line(Tone::Heading, "", "To change that".to_owned()));
    }
    if repeated {
        let text = "placet policy suggest: rules for what was approved again and again".to_owned();
        lines.push(line(Tone::Dim, "", format!("  {text}")));
    }
    for grant in standing {
        let text = format!(
            "  placet grant revoke {}: {} was let through {} {}",
            grant.id,
            safe(&grant.tool),
            grant.count,
            if grant.count == 1 { "time" } else { "times" }
        );
        lines.push(line(Tone::Dim, "", text));
    }
    sheet(&lines, None)
}

fn kind(one: &SummaryLine) -> String {
    let what = match &one.effect {
        Some(effect) => format!("{}  {}", safe(&one.tool), safe(effect)),
        None => safe(&one.tool),
    };
    match (one.part.as_str(), one.approved, one.denied) {
        ("asked", 0, 0) => format!("{what} (not decided)"),
        ("asked", approved, 0) => format!("{what} ({approved} approved)"),
        ("asked", 0, denied) => format!("{what} ({denied} denied)"),
        ("asked", approved, denied) => format!("{what} ({approved} approved, {denied} denied)"),
        _ => what,
    }
}

/// The warning about the caller's own pace, if there is one. Older servers and keys of other roles have none.
pub(crate) async fn pace(context: &Context) -> Option<String> {
    let pace = context.client.pace().await.ok()?;
    let text = pace.text.filter(|_| pace.warned)?;
    Some(paint(output::WARN, &safe(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn counted() -> Attention {
        Attention {
            calls: 120,
            passed: 60,
            confined: 30,
            remembered: 8,
            refused: 2,
            asked: 20,
            asked_percent: Some(16.666),
            active_seconds: 3_600.0,
            prompts_per_active_hour: Some(20.0),
        }
    }

    #[test]
    fn figures_tell_prompts_and_their_share_first() {
        let stats = Stats {
            from: "2026-11-12T00:00:00Z".parse().unwrap(),
            to: "2026-11-19T00:00:00Z".parse().unwrap(),
            attention: counted(),
            rest: serde_json::Map::new(),
        };
        insta::assert_snapshot!(text(&figures(&stats)), @"
        2026-11-12T00:00:00.000000Z to 2026-11-19T00:00:00.000000Z
          calls             120
          asked             20, 16.7 % of the calls
          prompts per hour  20.0 in 1h00m of activity
          passed            60
          confined          30
          remembered        8
          refused           2
        ");
        let stats = Stats { attention: Attention::default(), ..stats };
        let nothing = text(&figures(&stats));
        assert!(nothing.contains("asked             0\n"), "{nothing}");
        assert!(nothing.contains("prompts per hour  not known: less than a minute of activity"), "{nothing}");
    }

    #[test]
    fn a_summary_names_the_commands_that_change_it_and_escapes_what_agents_wrote() {
        let one = |part: &str, effect: Option<&str>, count, approved, denied| SummaryLine {
            part: part.to_owned(),
            tool: "Bash".to_owned(),
            effect: effect.map(str::to_owned),
            count,
            approved,
            denied,
            request: "req_0698d3r3kvtg0i8s0c1g60o30c".parse().unwrap(),
        };
        let grant = |stands| SummaryGrant {
            id: "grt_0698d3r3kvtg0i8s0c1g60o30c".parse().unwrap(),
            by: Some("ann".to_owned()),
            tool: "Edit".to_owned(),
            count: 8,
            stands,
        };
        let mut summary = SessionSummary {
            agent: "claude".to_owned(),
            session: "s\u{1b}[1m".to_owned(),
            from: "2026-11-19T00:00:00Z".parse().unwrap(),
            to: "2026-11-19T01:00:00Z".parse().unwrap(),
            whole: true,
            attention: counted(),
            lines: vec![
                one("asked", Some("Run npm run lint"), 4, 4, 0),
                one("asked", Some("Run git push"), 2, 1, 1),
                one("asked", Some("Run x\u{202e}"), 1, 0, 0),
                one("confined", Some("Run cargo test"), 30, 0, 0),
                one("passed", None, 60, 0, 0),
            ],
            grants: vec![grant(true)],
        };
        insta::assert_snapshot!(text(&told(&summary)), @r"
        session s\u{001b}[1m of claude
          calls             120
          asked             20, 16.7 % of the calls
          prompts per hour  20.0 in 1h00m of activity
          passed            60
          confined          30
          remembered        8
          refused           2

        Asked
          4×  Bash  Run npm run lint (4 approved)
          2×  Bash  Run git push (1 approved, 1 denied)
          1×  Bash  Run x\u{202e} (not decided)

        Confined
          30×  Bash  Run cargo test

        Passed
          60×  Bash

        To change that
          placet policy suggest: rules for what was approved again and again
          placet grant revoke grt_0698d3r3kvtg0i8s0c1g60o30c: Edit was let through 8 times
        ");
        summary.lines.truncate(0);
        summary.grants = vec![grant(false)];
        assert!(!told(&summary).contains("To change that"));
    }
}
