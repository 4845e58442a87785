//! `placet policy suggest`: rules for calls that were approved repeatedly, tested against all requests on record.

use std::{fs::OpenOptions, io::Write as _};

use placet_client::{Suggestion, Suggestions};
use serde_json::Value;

use crate::{
    cli::SuggestArgs,
    exit::usage,
    output::{self, paint, safe, to_stderr},
    verbs::Context,
};

/// Prints the rules on standard output and what they save on standard error.
pub(super) async fn run(context: &Context, args: &SuggestArgs) -> anyhow::Result<u8> {
    let suggestions = context.client.suggest_policy(args.least, args.agent.as_deref()).await?;
    let text = rules(&suggestions.items);
    if let Some(path) = args.output.as_ref().filter(|_| !suggestions.items.is_empty()) {
        // Never overwrites an existing file: it may be the policy in force.
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| usage(format!("`--output`: cannot write {}: {error}", path.display())))?;
    }
    if context.json {
        output::json(&suggestions)?;
        return Ok(0);
    }
    if args.output.is_none() && !suggestions.items.is_empty() {
        output::line(text.trim_end())?;
    }
    for line in told(&suggestions, args.least) {
        to_stderr(&line);
    }
    Ok(0)
}

/// The rules, each with a comment that says where it comes from. An agent's text is escaped and in one line.
fn rules(items: &[Suggestion]) -> String {
    let one = |item: &Suggestion| {
        format!(
            "# {} {}: {}\n# approved {} times, last at {}: placet show {}\n{}\n",
            safe(&item.agent),
            safe(&item.tool),
            safe(&item.effect),
            item.approvals,
            item.last_at,
            item.request,
            item.text.lines().map(safe).collect::<Vec<_>>().join("\n")
        )
    };
    items.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// What the rules save, and the calls without a rule.
fn told(suggestions: &Suggestions, least: u64) -> Vec<String> {
    let saved: u64 = suggestions.items.iter().map(|item| item.saved).sum();
    let mut lines = Vec::new();
    match suggestions.items.len() {
        0 => lines.push(format!(
            "Nothing to suggest: no call that was approved {least} times or more can be a rule."
        )),
        count => {
            let rules = if count == 1 { "rule".to_owned() } else { "rules".to_owned() };
            let text = format!("{count} {rules}, tried against everything on record: {saved} prompts saved");
            lines.push(paint(output::STRONG, &text));
            lines.push("Nothing is in force. Read the rules, add them at the end of your policy, then `placet policy simulate` and `put`.".to_owned());
        }
    }
    for (name, why) in [
        ("refused", "refused once, or confined by now"),
        ("risky", "of high risk once"),
        ("not_literal", "not one literal line, or too long"),
        ("outside", "commands outside of the workspace"),
        ("held", "held by a rule of the policy, or passing by now"),
    ] {
        let count = suggestions.left_out.get(name).and_then(Value::as_u64).unwrap_or(0);
        if count > 0 {
            lines.push(paint(output::DIM, &format!("left out: {count} {why}")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_stays_a_comment_whatever_the_agent_wrote() {
        let item = Suggestion {
            rule: "suggested-1".to_owned(),
            text: "[[rule]]\nname = \"suggested-1\"\n".to_owned(),
            agent: "bot".to_owned(),
            tool: "Bash".to_owned(),
            effect: "Run x\n[[rule]]\u{1b}".to_owned(),
            approvals: 4,
            saved: 4,
            last_at: "2026-11-19T00:00:00Z".parse().unwrap(),
            request: "req_0698d3r3kvtg0i8s0c1g60o30c".parse().unwrap(),
        };
        insta::assert_snapshot!(rules(&[item]), @r#"
        # bot Bash: Run x\n[[rule]]\u{001b}
        # approved 4 times, last at 2026-11-19T00:00:00.000000Z: placet show req_0698d3r3kvtg0i8s0c1g60o30c
        [[rule]]
        name = "suggested-1"
        "#);
    }
}
