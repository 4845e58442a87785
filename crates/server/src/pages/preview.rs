//! What will happen, drawn in the form that suits it. It adds to the exact values below and never replaces them.

use maud::{Markup, html};
use placet_core::{Preview, ShellCommand, Warning};

/// The preview; nothing when the values themselves say it best.
pub(super) fn draw(preview: &Preview) -> Markup {
    match preview {
        Preview::Shell { command, opaque, why, commands, cwd, claimed_cwd } => html! {
            @if *opaque {
                div.note.warn { "Nobody can say for sure what this line runs" @if let Some(why) = why { ": " (why) } ". Read the text itself." }
            }
            pre { (command) }
            @if commands.len() > 1 || *opaque { ol { @for command in commands { li.exact { (line(command)) } } } }
            @if let Some(cwd) = cwd { p { "In " code { (cwd) } } }
            @if let Some(cwd) = claimed_cwd { p.soft { "Folder, as the agent says: " code { (cwd) } } }
        },
        Preview::Sql { statement, kind, tables, filtered, statements } => html! {
            @if !filtered { div.note.warn { "A WHERE is missing or always true." } }
            pre { (statement) }
            dl {
                dt { "Kind" } dd.exact { (kind) }
                dt { "Statements" } dd { (statements) }
                dt { "Tables" } dd.exact { (tables.join(", ")) }
            }
        },
        Preview::Diff { path, lines, truncated } => html! {
            p { code { (path) } }
            pre {
                @for line in lines {
                    span.add[line.op == "+"].del[line.op == "-"] { (line.op) (line.text) } "\n"
                }
            }
            @if *truncated { div.note.warn { "There are more lines than are shown here; the values below have all of it." } }
        },
        Preview::Http { method, url, host, headers, body } => html! {
            pre { (method) " " (url) }
            dl {
                dt { "Host" } dd.exact { (host) }
                @for (name, value) in headers { dt.exact { (name) } dd.exact { (value) } }
            }
            @if let Some(body) = body { pre { (body) } }
        },
        Preview::Email { to, cc, bcc, subject, body } => html! {
            dl {
                @for (name, people) in [("To", to), ("Copy to", cc), ("Hidden copy to", bcc)] {
                    @if !people.is_empty() { dt { (name) } @for person in people { dd.exact { (person) } } }
                }
                dt { "Subject" } dd.exact { (subject) }
            }
            pre { (body) }
        },
        Preview::Money { amount, currency, to, accounts, reference } => html! {
            p.amount.exact { (amount) " " (currency) }
            dl {
                dt { "To" } dd.exact { (to) }
                @for (name, account) in accounts { dt.exact { (name) } dd.exact { (account) } }
                @if let Some(reference) = reference { dt { "Reference" } dd.exact { (reference) } }
            }
        },
        Preview::Plan { steps } => html! {
            ol {
                @for step in steps {
                    li {
                        span.exact { (step.effect) }
                        @if step.optional { " " span.badge { "optional" } }
                        @if !step.description.is_empty() { br; span.soft.exact { "The agent says: " (step.description) } }
                    }
                }
            }
        },
        Preview::Question { question } => html! { p.exact { (question) } },
        Preview::Confirmation { message, details } => html! {
            p.exact { (message) }
            @if let Some(details) = details { p.exact { (details) } }
        },
        Preview::Json => html! {},
    }
}

fn line(command: &ShellCommand) -> String {
    let words = command.words.iter().cloned();
    let redirects = command.redirects.iter().map(|redirect| format!("{} {}", redirect.op, redirect.target));
    command.joined.iter().cloned().chain(words).chain(redirects).collect::<Vec<_>>().join(" ")
}

/// What to look at twice.
pub(super) fn warnings(warnings: &[Warning]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            div.note.warn {
                strong { "Look twice" }
                ul { @for warning in warnings {
                    li { span.exact { (warning.text) } @if !warning.pointer.is_empty() { " (" span.exact { (warning.pointer) } ")" } }
                } }
            }
        }
    }
}
