//! Draws the screen: the queue, the selected request in full, and one input line.

use placet_core::{Risk, State, Time, counted, show};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style, Stylize},
    text::{Line, Span, Text},
    widgets::{Block, Borders, List, ListItem, ListState, Paragraph, Wrap},
};

use super::model::{App, Mode, Row, is_whole};
use crate::output::{
    self, Tone, describe, headline,
    layout::{self, ScreenRow},
    oneline, short, until,
};

const KEYS: &str = "j/k move · a approve · d deny · e edit · r respond · o detail · ? help · q quit";
const HELP: &[(&str, &str)] = &[
    ("j k ↓ ↑", "move"),
    ("g G", "first, last"),
    ("a", "approve: y for low and medium risk, type the tool's name for high and critical"),
    ("d", "deny, with a reason that the agent is told"),
    ("e", "edit the arguments in $EDITOR, then approve with the changes"),
    ("r", "respond to a question"),
    ("o enter", "detail alone, and back"),
    ("space J K", "show the rest of the detail: what was not shown is not approved"),
    ("q esc", "quit"),
    ("", "A plan step by step: placet approve ID --only a,b"),
];

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, app: &mut App, url: &str, now: Time) {
    let banner = u16::from(app.lost.is_some());
    let [top, lost, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(banner),
        Constraint::Min(3),
        Constraint::Length(foot_lines(app)),
    ])
    .areas(frame.area());
    let waiting = app.rows.iter().filter(|row| row.record.state == State::Pending).count();
    frame.render_widget(
        Line::from(vec![" placet ".bold().reversed(), format!(" {waiting} waiting · {url}").into()]),
        top,
    );
    if let Some(reason) = &app.lost {
        let text = format!(" connection lost ({}), trying again: what you see may be old ", show(reason));
        frame.render_widget(
            Line::from(text).style(Style::new().fg(Color::Yellow).add_modifier(Modifier::REVERSED)),
            lost,
        );
    }
    if matches!(app.mode, Mode::Help) {
        help(frame, body);
    } else if app.wide {
        detail(frame, app, body, now);
    } else {
        let halves = [Constraint::Percentage(45), Constraint::Percentage(55)];
        let [list, right] = if body.width >= 110 {
            Layout::horizontal(halves).spacing(1).areas(body)
        } else {
            Layout::vertical(halves).areas(body)
        };
        queue(frame, app, list, now);
        detail(frame, app, right, now);
    }
    footer(frame, app, foot);
}

fn queue(frame: &mut Frame<'_>, app: &App, area: Rect, now: Time) {
    let block = Block::new().borders(Borders::TOP).title(" Queue ");
    if app.rows.is_empty() {
        frame.render_widget(Paragraph::new("Nothing is waiting for a decision.".dim()).block(block), area);
        return;
    }
    let width = usize::from(area.width).saturating_sub(2);
    let items = app.rows.iter().map(|row| ListItem::new(entry(row, now, width)));
    let list = List::new(items).block(block).highlight_symbol("▶ ").highlight_style(Style::new().bold());
    let mut state = ListState::default().with_selected(app.place());
    frame.render_stateful_widget(list, area, &mut state);
}

fn entry(row: &Row, now: Time, width: usize) -> Line<'static> {
    let record = &row.record;
    let tool = record.tool.as_deref().map_or_else(|| format!("({})", record.kind), show);
    if record.state != State::Pending {
        return Line::from(format!("{} {tool} {}", short(record.id), headline(record))).dim();
    }
    let risk = match record.risk {
        Risk::Low => Style::new().fg(Color::Green),
        Risk::Medium => Style::new().fg(Color::Yellow),
        Risk::High | Risk::Critical => Style::new().fg(Color::Red).bold(),
    };
    let votes =
        if record.votes.is_empty() { String::new() } else { format!(" {} voted", record.votes.len()) };
    let left = format!(" {:>6} ", until(record.expires_at, now));
    let (who, risk_word) = (output::who(record), format!("{:<8} ", record.risk.as_str()));
    // The end of the sentence is often what it happens to, and the end is kept.
    let before = output::width(&short(record.id)) + output::width(&left) + output::width(&risk_word);
    let room = width.saturating_sub(before);
    let what = if output::card::sentence(record).is_some() {
        output::cut(&format!("{who}{votes}: {}", oneline(record)), room)
    } else {
        output::cut(&format!("{who} {tool} {}{votes}", oneline(record)), room)
    };
    Line::from(vec![
        Span::raw(short(record.id)).cyan(),
        Span::raw(left),
        Span::styled(risk_word, risk),
        Span::raw(what),
    ])
}

fn detail(frame: &mut Frame<'_>, app: &mut App, area: Rect, now: Time) {
    let block = Block::new().borders(Borders::TOP | Borders::BOTTOM).title(" Request ");
    let Some(row) = app.current() else {
        frame.render_widget(block, area);
        return;
    };
    let width = usize::from(area.width);
    let lines = layout::rows(&describe(&row.record, now), Some(width));
    let all = lines.len();
    let inside = usize::from(area.height.saturating_sub(2));
    let first = app.scroll.min(all.saturating_sub(inside));
    let last = first.saturating_add(inside).min(all);
    if is_whole(&row.record) {
        let record = row.record.clone();
        app.read.on_screen(&record, width, all, (first, last));
    }
    (app.scroll, app.page) = (first, inside);
    // The person must see that there is more text below.
    let block = if last < all {
        let more = counted(u64::try_from(all - last).unwrap_or(u64::MAX), "more line", "more lines");
        block.title_bottom(format!(" {more} below: space "))
    } else {
        block
    };
    let visible: Vec<Line<'static>> = lines.into_iter().skip(first).take(inside).map(painted).collect();
    frame.render_widget(Paragraph::new(Text::from(visible)).block(block), area);
}

fn painted(row: ScreenRow) -> Line<'static> {
    Line::from(vec![Span::raw(row.margin).dim(), Span::styled(row.text, style(row.tone))])
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Strong | Tone::Heading => Style::new().bold(),
        Tone::Plain => Style::new(),
        Tone::Dim => Style::new().dim(),
        Tone::Good => Style::new().fg(Color::Green),
        Tone::Bad => Style::new().fg(Color::Red).bold(),
        Tone::Warn => Style::new().fg(Color::Yellow),
    }
}

fn help(frame: &mut Frame<'_>, area: Rect) {
    let lines =
        HELP.iter().map(|(keys, what)| Line::from(vec![format!("  {keys:<10}  ").cyan(), (*what).into()]));
    let block = Block::new().borders(Borders::TOP).title(" Keys: any key goes back ");
    frame.render_widget(
        Paragraph::new(lines.collect::<Vec<_>>()).block(block).wrap(Wrap { trim: false }),
        area,
    );
}

fn foot_lines(app: &App) -> u16 {
    match &app.mode {
        Mode::Change { lines, .. } => u16::try_from(lines.len()).unwrap_or(12).min(12) + 2,
        _ => 2,
    }
}

fn footer(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let (question, typed) = match &app.mode {
        Mode::Browse | Mode::Help => {
            let notice = app.notice.as_ref().map(|(text, tone, _)| Line::styled(text.clone(), style(*tone)));
            frame.render_widget(Text::from(vec![notice.unwrap_or_default(), Line::from(KEYS).dim()]), area);
            return;
        }
        Mode::Approve { shown, word: None, .. } => {
            (format!("Approve {} exactly as shown? y or esc", short(shown.id)), "")
        }
        Mode::Approve { shown, word: Some(word), typed } => (
            format!("Risk {}. To approve {}, type the name `{}`:", shown.risk, short(shown.id), show(word)),
            typed.as_str(),
        ),
        Mode::Change { shown, .. } => {
            (format!("Approve {} with these changes? y or esc", short(shown.id)), "")
        }
        Mode::Deny { shown, typed } => {
            (format!("Deny {}. Why? (enter to send, esc to leave)", short(shown.id)), typed.as_str())
        }
        Mode::Answer { shown, typed } => {
            (format!("Answer {} (enter to send, esc to leave)", short(shown.id)), typed.as_str())
        }
    };
    let mut lines = Vec::new();
    if let Mode::Change { lines: changes, .. } = &app.mode {
        lines.extend(changes.iter().take(12).map(|change| Line::from(change.clone()).yellow()));
    }
    let error = app.notice.as_ref().filter(|(_, tone, _)| *tone == Tone::Bad);
    let question = error.map_or(question.clone(), |(text, _, _)| format!("{question}  [{text}]"));
    lines.push(Line::from(question).bold());
    lines.push(Line::from(format!("> {}█", show(typed))));
    frame.render_widget(Text::from(lines), area);
}

#[cfg(test)]
mod tests;
