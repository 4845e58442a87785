//! Shows what a decision would do before it is sent: whether it decides, what policy says, and which votes it voids.

use placet_client::{Decide, GrantPreview, Preview};
use placet_core::{Record, State, counted, show};

use super::Context;
use crate::output::{self, headline, needs, paint};

/// `--dry-run`: asks the server what would happen. Nothing is written.
pub(super) async fn run(context: &Context, record: &Record, decide: &Decide) -> anyhow::Result<u8> {
    let preview = context.client.preview(record.id, decide).await?;
    if context.json {
        output::json(&preview)?;
        return Ok(0);
    }
    for line in lines(&preview) {
        output::line(&line)?;
    }
    output::to_stderr(&paint(output::DIM, "Nothing was sent."));
    Ok(0)
}

/// The preview for people, the verdict first.
pub(crate) fn lines(preview: &Preview) -> Vec<String> {
    let record = &preview.record;
    let mut lines = Vec::new();
    lines.push(if preview.decides {
        format!("it would be {}", paint(output::state_style(record.state), &headline(record)))
    } else {
        format!("it would still wait; it needs {}", paint(output::WARN, &needs(&record.needs)))
    });
    if let Some(ruling) = &preview.ruling {
        let stricter =
            if preview.stricter { paint(output::WARN, " (stricter than now)") } else { String::new() };
        lines.push(format!(
            "policy says {} of it, by rule {}, risk {}{stricter}",
            ruling.verdict.effect,
            show(&ruling.verdict.rule),
            ruling.risk
        ));
        lines.extend(ruling.verdict.reasons.iter().map(|reason| format!("  {}", show(reason))));
    }
    if !preview.voided.is_empty() {
        let names = preview.voided.iter().map(|name| show(name)).collect::<Vec<_>>().join(", ");
        lines.push(format!("{} of {names}", paint(output::WARN, "it would void the votes")));
    }
    if let (Some(grant), Some(covers)) = (&preview.grant, &preview.covers) {
        let left = output::until(grant.expires_at, grant.created_at);
        lines.push(format!(
            "from then on, for {left} and up to {}, for the agent {}:",
            counted(u64::from(grant.uses), "time", "times"),
            show(&grant.agent)
        ));
        lines.push(format!("  {}", paint(output::WARN, &output::safe(covers))));
    }
    if let Some(would) = &preview.would {
        lines.extend(would_cover(would));
    }
    if record.state == State::Pending && preview.grant.is_some() {
        lines.push("  (once it is approved)".to_owned());
    }
    lines
}

/// The calls that a remembered command would have let pass, shown before it is remembered.
fn would_cover(would: &GrantPreview) -> Vec<String> {
    let GrantPreview { looked_at, covered, denied, examples } = would;
    let mut lines = vec![format!("  of the last {looked_at} calls it would have let {covered} pass")];
    if *denied > 0 {
        let were = if *denied == 1 { "was" } else { "were" };
        let warning = format!("  {denied} of them {were} denied by a person");
        lines.push(paint(output::BAD, &warning));
    }
    lines.extend(examples.iter().map(|line| format!("    {}", output::safe(line))));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::output::sample;

    #[test]
    fn a_stricter_edit_says_who_must_agree_and_whose_votes_are_void() {
        let record = sample::action();
        let ruling = json!({"verdict": {"effect": "hold", "rule": "big", "policy": "p", "reasons": ["rule `big`: much"]},
            "risk": "high", "needs": record.needs});
        let preview = Preview {
            ruling: serde_json::from_value(ruling).unwrap(),
            decides: false,
            stricter: true,
            voided: vec!["ben".to_owned()],
            grant: None,
            covers: None,
            would: None,
            record,
        };
        let text = anstream::adapter::strip_str(&lines(&preview).join("\n")).to_string();
        insta::assert_snapshot!(text, @r"
        it would still wait; it needs one reviewer
        policy says hold of it, by rule big, risk high (stricter than now)
          rule `big`: much
        it would void the votes of ben
        ");
    }
}
