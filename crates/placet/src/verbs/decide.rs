//! `placet approve`, `edit`, `deny` and `answer`: a decision on exactly what was shown.

use placet_client::{BatchItem, Decide, Error, ListQuery};
use placet_core::{DecisionWord, Kind, Record, State, show};
use serde_json::Value;

use super::{
    Context, answer as typed, ask, edit as replacement, find, grants, group, object_argument, preview, said,
    show_all, somebody_there, steps,
};
use crate::{
    cli::{AnswerArgs, ApproveArgs, DenyArgs, EditArgs},
    exit::{self, usage},
    output::{self, describe, headline, paint},
};

/// Yes.
pub(crate) async fn approve(context: &Context, args: ApproveArgs) -> anyhow::Result<u8> {
    if let Some(name) = &args.which.group {
        return group::approve(context, name, args.reason, args.yes).await;
    }
    let Some(mut record) = pending(context, args.which.id()).await? else { return Ok(exit::ERROR) };
    loop {
        let (decide, question) = approval(context, &record, &args)?;
        if args.dry_run {
            return preview::run(context, &record, &decide).await;
        }
        // The scope of a grant is shown before it is given, in the server's words.
        let notes = match args.remember.remember {
            Some(_) => preview::lines(&context.client.preview(record.id, &decide).await?),
            None => Vec::new(),
        };
        if !agreed(&record, &notes, &question, args.yes)? {
            return Ok(exit::ERROR);
        }
        let code = match send(context, &record, &seen(decide, &record, args.yes)).await? {
            Sent::Code(code) => code,
            Sent::Changed(newer) => {
                record = *newer;
                continue;
            }
        };
        if args.yes && !context.json {
            notes.iter().skip(1).for_each(|note| output::to_stderr(note));
        }
        return if args.same && code == 0 { same(context, &record, args.yes).await } else { Ok(code) };
    }
}

/// The approval of a record, and the question before it is sent.
fn approval(context: &Context, record: &Record, args: &ApproveArgs) -> anyhow::Result<(Decide, String)> {
    if record.kind == Kind::Input && record.proposal.is_none() {
        return Err(usage(format!("{} is a question: use `placet answer`", record.id)));
    }
    let chosen = match (&args.steps, &args.only) {
        (None, None) => None,
        _ if record.kind != Kind::Plan => return Err(usage("`--steps` and `--only` are for plans")),
        (Some(text), _) => Some(steps::given(text)?),
        (None, Some(ids)) => Some(steps::only(record, ids)?),
    };
    let question = match (&chosen, &record.proposal) {
        (Some(steps), _) => format!("Approve this plan with: {}?", steps::in_words(steps)),
        (None, Some(proposal)) => format!("Approve exactly this, as {} changed it?", show(&proposal.by)),
        (None, None) => "Approve exactly this?".to_owned(),
    };
    let mut decide = chosen.map_or_else(|| Decide::approve(record), |steps| Decide::steps(record, steps));
    if let Some(remember) = grants::remember(&args.remember)? {
        decide = decide.with_remember(remember);
    }
    Ok((with(context, decide, record, args.reason.clone())?, question))
}

/// Approves the other pending requests with the same call. Each is shown whole first, as it is now.
async fn same(context: &Context, record: &Record, yes: bool) -> anyhow::Result<u8> {
    let query = ListQuery {
        state: Some(State::Pending),
        agent: Some(record.agent.clone()),
        tool: record.tool.clone(),
        limit: Some(200),
        ..ListQuery::default()
    };
    let page = context.client.list(&query).await?;
    let alike = |other: &Record| other.same.is_some() && other.same == record.same;
    let mut twins = Vec::new();
    for other in page.items.iter().filter(|other| other.id != record.id && alike(other)) {
        let other = context.client.get(other.id).await?;
        // It may have been decided or replaced since it was listed.
        if other.state == State::Pending && alike(&other) {
            twins.push(other);
        }
    }
    if twins.is_empty() {
        return Ok(0);
    }
    if !yes {
        output::to_stderr("");
        let question = match twins.as_slice() {
            [_] => "Approve this one too?".to_owned(),
            several => format!("Approve these {} too?", several.len()),
        };
        if !group::shown_whole(&twins)? || !confirmed(&question)? {
            return Ok(exit::ERROR);
        }
    }
    let items: Vec<BatchItem> = twins
        .iter()
        .map(|other| BatchItem { id: other.id, decide: seen(Decide::approve(other), other, yes) })
        .collect();
    let mut code = 0;
    for result in context.client.decide_batch(&items, false).await? {
        match result.result {
            Ok(after) => said(context, &after)?,
            Err(problem) => {
                code = exit::ERROR;
                output::to_stderr(&format!("{}: {}", result.id, output::safe(&problem.to_string())));
            }
        }
    }
    Ok(code)
}

/// Yes, with other arguments.
pub(crate) async fn edit(context: &Context, args: EditArgs) -> anyhow::Result<u8> {
    let Some(mut record) = pending(context, &args.id).await? else { return Ok(exit::ERROR) };
    replacement::current(&record)?;
    let after = match &args.args {
        Some(text) => object_argument("--args", text)?,
        None if somebody_there() => match replacement::in_editor(&record)? {
            Some(after) => after,
            None => anyhow::bail!("nothing was changed, so nothing was sent"),
        },
        None => {
            return Err(usage("`--args` is missing: give the whole new arguments as a JSON object or @FILE"));
        }
    };
    loop {
        let changes = replacement::changes(replacement::current(&record)?, &after);
        let decide = with(context, Decide::edit(&record, after.clone()), &record, args.reason.clone())?;
        if args.dry_run {
            return preview::run(context, &record, &decide).await;
        }
        // Shows what the edit would do before it is sent: it may need more people, or void votes.
        let mut notes: Vec<String> = changes.iter().map(|change| paint(output::WARN, change)).collect();
        if !args.yes && somebody_there() {
            notes.extend(preview::lines(&context.client.preview(record.id, &decide).await?));
        }
        if !agreed(&record, &notes, "Approve with these changes?", args.yes)? {
            return Ok(exit::ERROR);
        }
        match send(context, &record, &seen(decide, &record, args.yes)).await? {
            Sent::Code(code) => return Ok(code),
            Sent::Changed(newer) => record = *newer,
        }
    }
}

/// Marks the decision with what was shown. With `--yes` nothing was.
fn seen(decide: Decide, record: &Record, yes: bool) -> Decide {
    if yes { decide } else { decide.as_shown(record) }
}

/// No.
pub(crate) async fn deny(context: &Context, args: DenyArgs) -> anyhow::Result<u8> {
    if let Some(name) = &args.which.group {
        return group::deny(context, name, args.reason).await;
    }
    let Some(record) = pending(context, args.which.id()).await? else { return Ok(exit::ERROR) };
    let reason = match args.reason {
        Some(reason) => reason,
        None if somebody_there() && !context.json => {
            output::to_stderr(&paint(output::STRONG, &output::effect(&record)));
            ask("Why not? The agent is told; empty for no reason:")?
        }
        None => String::new(),
    };
    send(context, &record, &Decide::deny(&record, reason)).await.map(Sent::code)
}

/// An answer; a confirmation takes yes, no, or its labels.
pub(crate) async fn answer(context: &Context, args: AnswerArgs) -> anyhow::Result<u8> {
    let Some(record) = pending(context, &args.id).await? else { return Ok(exit::ERROR) };
    let decide = match record.kind {
        Kind::Input if args.nothing => Decide::respond(&record, Value::Null),
        Kind::Input => Decide::respond(&record, typed::parse(&record, &args.values)?),
        Kind::Confirmation => {
            let said = args.values.join(" ");
            let is = |label: &Option<String>, word: &str| {
                said.eq_ignore_ascii_case(word) || label.as_deref() == Some(said.as_str())
            };
            match (is(&record.confirm_label, "yes"), is(&record.cancel_label, "no")) {
                (true, false) => Decide::approve(&record),
                (false, true) => Decide::deny(&record, String::new()),
                _ => return Err(usage(format!("`{said}` is neither yes nor no, nor one of the labels"))),
            }
        }
        Kind::Action if record.allowed.contains(&DecisionWord::Respond) => {
            Decide::respond(&record, Value::String(args.values.join(" ")))
        }
        Kind::Action | Kind::Plan => {
            return Err(usage(format!(
                "{} is no question: use `placet approve` or `placet deny`",
                record.id
            )));
        }
    };
    let mut decide = with(context, decide, &record, args.reason)?;
    if decide.word() != DecisionWord::Deny {
        // The answer was typed before this was shown. So it is printed, and the server checks that it was this.
        if !drawn(&record, "")? {
            output::to_stderr("Nothing was sent.");
            return Ok(exit::ERROR);
        }
        decide = decide.as_shown(&record);
    }
    send(context, &record, &decide).await.map(Sent::code)
}

/// The request, if it can still be decided. Otherwise prints its state.
async fn pending(context: &Context, text: &str) -> anyhow::Result<Option<Record>> {
    let id = find::id(&context.client, text).await?;
    let record = context.client.get(id).await?;
    if record.state == State::Pending {
        return Ok(Some(record));
    }
    too_late(context, &record)?;
    Ok(None)
}

fn too_late(context: &Context, record: &Record) -> std::io::Result<()> {
    output::to_stderr(&format!(
        "{}: {} can no longer be decided: it is {}",
        paint(output::BAD, "too late"),
        record.id,
        headline(record)
    ));
    if context.json { output::json(record) } else { Ok(()) }
}

/// Adds the reason. A step-up cannot be given on a terminal, because a program could type it.
fn with(
    context: &Context,
    decide: Decide,
    record: &Record,
    reason: Option<String>,
) -> anyhow::Result<Decide> {
    if let Some(step_up) = record.needs.step_up.as_deref().filter(|_| decide.word() != DecisionWord::Deny) {
        let page = format!("{}{}", context.client.url(), record.url);
        anyhow::bail!("this needs the step-up `{}`, which only a browser gives: open {page}", show(step_up));
    }
    Ok(match reason {
        Some(reason) => decide.with_reason(reason),
        None => decide,
    })
}

/// Shows what will be approved, and asks if there is a terminal. Without one, what was printed is approved.
fn agreed(record: &Record, notes: &[String], question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !drawn(record, "; `--yes` approves without a look")? {
        output::to_stderr("Nothing was sent.");
        return Ok(false);
    }
    if !notes.is_empty() {
        output::to_stderr(&format!("\n{}", paint(output::STRONG, "What you decide")));
        for note in notes {
            output::to_stderr(&format!("  {note}"));
        }
    }
    confirmed(question)
}

/// Prints the whole request. False if the person stopped. An error if a part of it cannot be printed.
fn drawn(record: &Record, otherwise: &str) -> anyhow::Result<bool> {
    let all = show_all(&describe(record, output::now()))?;
    match output::card::refused(record) {
        Some(why) => {
            let url = output::safe(&record.url);
            anyhow::bail!("{why}, so nothing was sent: look at {url} and decide there{otherwise}")
        }
        None => Ok(all),
    }
}

/// Asks. Without a terminal it is a yes: the command was one.
pub(super) fn confirmed(question: &str) -> anyhow::Result<bool> {
    if !somebody_there() {
        return Ok(true);
    }
    let said = ask(&format!("\n{} [y/N]", paint(output::STRONG, question)))?;
    if matches!(said.as_str(), "y" | "Y" | "yes" | "Yes") {
        return Ok(true);
    }
    output::to_stderr("Nothing was sent.");
    Ok(false)
}

/// What came of sending a decision.
enum Sent {
    /// It is over, with this exit code.
    Code(u8),
    /// What was shown is no longer what a yes would run. This is it now; ask again.
    Changed(Box<Record>),
}

impl Sent {
    /// The exit code. Nothing was sent where the request has changed.
    fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Changed(_) => exit::ERROR,
        }
    }
}

/// Refusals that say that the person saw something else than what is there now.
const STALE: [&str; 3] = ["stale_display", "stale_digest", "stale_version"];

/// Sends the decision. If somebody was faster, names that person.
async fn send(context: &Context, record: &Record, decide: &Decide) -> anyhow::Result<Sent> {
    let problem = match context.client.decide(record.id, decide).await {
        Ok(after) => {
            said(context, &after)?;
            if after.state == State::Pending && !context.json {
                output::to_stderr("Your vote is counted; it waits for more people.");
            }
            return Ok(Sent::Code(0));
        }
        Err(Error::Problem(problem)) if problem.status == 409 => problem,
        Err(error) => return Err(error.into()),
    };
    if let Some(after) = problem.record.as_deref().filter(|after| after.state != State::Pending) {
        too_late(context, after)?;
        return Ok(Sent::Code(exit::ERROR));
    }
    if !STALE.contains(&problem.code.as_str()) {
        return Err(Error::Problem(problem).into());
    }
    let now = context.client.get(record.id).await?;
    if now.state != State::Pending {
        too_late(context, &now)?;
        return Ok(Sent::Code(exit::ERROR));
    }
    let id = record.id;
    if context.json || !somebody_there() {
        anyhow::bail!(
            "{id} has changed since it was shown, so nothing was sent: look at it with `placet show {id}`"
        );
    }
    output::to_stderr(&format!(
        "\n{}: {id} has changed since it was shown. This is what it is now.\n",
        paint(output::WARN, "nothing was sent")
    ));
    Ok(Sent::Changed(Box::new(now)))
}
