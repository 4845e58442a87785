//! The sections of a card as lines, one function for each type.

use std::collections::BTreeSet;

use super::{CardSection, LineKind, Sheet, counted, number, rows};
use crate::{DiffRow, SectionBody, ShellCommand, TreeNode, answer::escape};

/// Widest table that is drawn with columns.
const WIDEST: usize = 100;

impl Sheet {
    /// One section: its title, the places of what it shows, and its content.
    pub(super) fn section(&mut self, section: &CardSection, look: &dyn Fn(&str) -> Option<String>) {
        let leaves = u32::try_from(section.pointers.len()).unwrap_or(u32::MAX);
        self.heading(section);
        let undrawn = self.0.undrawn;
        match &section.body {
            SectionBody::Table { columns, rows } => self.table(columns, rows, &section.pointers),
            SectionBody::Tree { nodes } => self.tree(nodes, &section.pointers),
            SectionBody::Other => self.unknown(&section.pointers, look),
            body => {
                for pointer in &section.pointers {
                    self.fact("at", pointer);
                }
                self.body(body);
            }
        }
        let undrawn = self.0.undrawn.saturating_sub(undrawn);
        self.read(leaves.saturating_sub(undrawn));
    }

    fn heading(&mut self, section: &CardSection) {
        let kind = match &section.body {
            SectionBody::Command { .. } => "Command",
            SectionBody::Diff { .. } => "Change",
            SectionBody::Sql { .. } => "SQL",
            SectionBody::Money { .. } => "Money",
            SectionBody::Message { medium, .. } if medium == "email" => "E-mail",
            SectionBody::Message { .. } => "Message",
            SectionBody::Http { .. } => "HTTP call",
            SectionBody::Kubernetes { .. } => "Kubernetes",
            SectionBody::Table { .. } => "Table",
            SectionBody::Tree { .. } => "Values",
            SectionBody::Text { .. } => "Text",
            SectionBody::Image { .. } => "Picture",
            SectionBody::File { .. } => "File",
            SectionBody::Step { .. } => "",
            SectionBody::Other => "Of a type that this program does not know",
        };
        // A title can be a key that an agent chose: it never stands first.
        let title = match (&section.body, &section.title) {
            (SectionBody::Step { sentence, .. }, _) => sentence.clone(),
            (_, Some(title)) => format!("{kind} · {title}"),
            (_, None) => kind.to_owned(),
        };
        let title = match section.step {
            Some(step) => format!("Step {step} · {title}"),
            None if matches!(section.body, SectionBody::Step { .. }) => format!("Step · {title}"),
            None => title,
        };
        self.named(LineKind::Heading, "", &title);
    }

    fn body(&mut self, body: &SectionBody) {
        match body {
            SectionBody::Command { command, opaque, why, commands, cwd, claimed_cwd } => {
                if *opaque {
                    let why = why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
                    self.add(
                        LineKind::Warning,
                        "",
                        format!("It is not certain what this runs{why}. Read the text itself."),
                    );
                }
                self.text(command);
                self.commands(commands, *opaque);
                self.optional("in folder", cwd.as_deref());
                self.optional("folder, as the agent says", claimed_cwd.as_deref());
            }
            SectionBody::Diff { path, change, lines, truncated } => {
                self.fact(changed(change), path);
                for row in lines {
                    self.diff(row);
                }
                if *truncated {
                    let text = "There are more lines than are shown here. The values below have all of it.";
                    self.add(LineKind::Warning, "", text);
                }
            }
            SectionBody::Sql { statement, kind, tables, filtered, statements } => {
                if !filtered {
                    self.add(LineKind::Warning, "", "A WHERE is missing or always true.");
                }
                self.text(statement);
                self.fact("does", kind);
                self.fact("statements", &statements.to_string());
                for table in tables {
                    self.fact("table", table);
                }
            }
            SectionBody::Money { amount, currency, to, accounts, reference } => {
                self.fact("amount", format!("{amount} {currency}").trim_end());
                self.fact("to", to);
                for (name, value) in accounts {
                    self.value(name, value);
                }
                self.optional("reference", reference.as_deref());
            }
            SectionBody::Message { medium: _, to, cc, bcc, subject, body } => {
                for (label, people) in [("to", to), ("copy to", cc), ("hidden copy to", bcc)] {
                    for person in people {
                        self.fact(label, person);
                    }
                }
                self.optional("subject", subject.as_deref());
                self.text(body);
            }
            SectionBody::Http { method, url, host, headers, body } => {
                self.fact("method", method);
                self.fact("address", url);
                self.fact("host", host);
                for (name, value) in headers {
                    self.value(name, value);
                }
                if let Some(body) = body {
                    self.add(LineKind::Note, "", "sent with it");
                    self.text(body);
                }
            }
            SectionBody::Kubernetes { verb, resource, name, namespace, cluster, manifest } => {
                self.fact("does", verb);
                self.fact("resource", resource);
                self.optional("name", name.as_deref());
                self.optional("namespace", namespace.as_deref());
                self.optional("cluster", cluster.as_deref());
                if let Some(manifest) = manifest {
                    self.text(manifest);
                }
            }
            SectionBody::Text { text } => self.text(text),
            SectionBody::Image { media_type, bytes, data: _ } => {
                self.fact("type", media_type);
                self.fact("size", &counted(u64::from(*bytes), "byte", "bytes"));
                self.elsewhere("a picture");
            }
            SectionBody::File { name, media_type, bytes, data } => {
                self.fact("name", name);
                self.optional("type", media_type.as_deref());
                self.fact("size", &counted(u64::from(*bytes), "byte", "bytes"));
                if rows_bytes(data) == u64::from(*bytes) {
                    self.text(data);
                } else {
                    self.elsewhere("the content of a file");
                }
            }
            SectionBody::Step { id, action, description, sentence: _, optional } => {
                self.fact("step", id);
                self.fact("does", action);
                if !description.is_empty() {
                    self.fact("the agent says", description);
                }
                if *optional {
                    self.add(LineKind::Note, "", "optional: the plan makes sense without it");
                }
            }
            SectionBody::Table { .. } | SectionBody::Tree { .. } | SectionBody::Other => {}
        }
    }

    /// The commands of a line, one by one. A single plain one is not repeated.
    fn commands(&mut self, commands: &[ShellCommand], opaque: bool) {
        let plain = commands.len() <= 1 && commands.iter().all(|command| command.redirects.is_empty());
        if commands.is_empty() || (plain && !opaque) {
            return;
        }
        let how = if opaque { "taken apart as far as possible" } else { "taken apart" };
        self.add(LineKind::Note, "", how);
        for (at, command) in commands.iter().enumerate() {
            let joined = command.joined.as_deref().map(|joined| format!(" {joined}")).unwrap_or_default();
            let words = command.words.iter().map(|word| quoted(word));
            let files = command.redirects.iter().map(|file| format!("{} {}", file.op, quoted(&file.target)));
            let text = words.chain(files).collect::<Vec<_>>().join(" ");
            let label = format!("{}{joined} ", at.saturating_add(1));
            self.named(LineKind::Row, &label, &text);
        }
    }

    fn diff(&mut self, row: &DiffRow) {
        let number = |of: Option<u32>| of.map(|of| of.to_string()).unwrap_or_default();
        let kind = match row.line.op.as_str() {
            "+" => LineKind::Added,
            "-" => LineKind::Removed,
            _ => LineKind::Row,
        };
        let label = format!("{:>5} {:>5} {:1} ", number(row.old), number(row.new), row.line.op);
        self.named(kind, &label, &row.line.text);
    }

    /// What text cannot show.
    fn elsewhere(&mut self, what: &str) {
        self.0.undrawn = self.0.undrawn.saturating_add(1);
        let text = format!("{what} cannot be shown as text: look at it in the dashboard");
        self.add(LineKind::Note, "", text);
    }

    /// Cells by columns where that is exact, else one by one.
    fn table(&mut self, columns: &[String], cells: &[Vec<Option<String>>], pointers: &[String]) {
        let places = places(columns, cells, pointers);
        if let (Some(below), Some(widths)) = (&places, widths(columns, cells)) {
            self.named(LineKind::Place, "", below);
            self.add(LineKind::Note, "", "each row has its place in the list before it, from 0");
            let line = |cells: &mut dyn Iterator<Item = &str>| {
                let cells = cells.zip(widths.iter().copied()).map(|(cell, width)| format!("{cell:width$}"));
                cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
            };
            let digits = cells.len().to_string().len();
            let head = line(&mut columns.iter().map(String::as_str));
            self.add(LineKind::Row, &format!("{:digits$} ", ""), head);
            for (at, row) in cells.iter().enumerate() {
                let text = line(&mut row.iter().map(|cell| cell.as_deref().unwrap_or("-")));
                self.add(LineKind::Row, &format!("{at:digits$} "), text);
            }
            return;
        }
        if places.is_none() {
            for pointer in pointers {
                self.fact("at", pointer);
            }
        }
        let below = places.unwrap_or_else(|| "row".to_owned());
        for (at, row) in cells.iter().enumerate() {
            for (column, cell) in columns.iter().zip(row) {
                if let Some(cell) = cell {
                    self.value(&format!("{below}/{at}/{}", escape(column)), cell);
                }
            }
        }
    }

    /// Every value with its whole pointer where nodes and pointers agree, else as a tree beside the pointers.
    fn tree(&mut self, nodes: &[TreeNode], pointers: &[String]) {
        if let Some(leaves) = tree_leaves(nodes, pointers) {
            for (place, text) in leaves {
                self.value(&place, text);
            }
            return;
        }
        for pointer in pointers {
            self.fact("at", pointer);
        }
        for node in nodes {
            let indent = "  ".repeat(usize::try_from(node.depth.min(15)).unwrap_or(0));
            let key = quoted(&node.key);
            match &node.text {
                Some(text) => self.row(&format!("{indent}{key}: {text}")),
                None => self.row(&format!("{indent}{key}:")),
            }
        }
    }

    fn unknown(&mut self, pointers: &[String], look: &dyn Fn(&str) -> Option<String>) {
        for pointer in pointers {
            if let Some(text) = look(pointer) {
                self.value(pointer, &text);
            } else {
                self.fact("at", pointer);
                self.elsewhere("this value");
            }
        }
    }
}

/// The leaves of a tree with their places. A key that reads like a number in a list keeps its quotes. None if the
/// pointers are not those of the nodes, in their order.
fn tree_leaves<'a>(nodes: &'a [TreeNode], pointers: &[String]) -> Option<Vec<(String, &'a str)>> {
    let mut way: Vec<&str> = Vec::new();
    let mut left = pointers.iter();
    let mut out = Vec::new();
    for node in nodes {
        way.truncate(usize::try_from(node.depth).ok()?);
        way.push(&node.key);
        let Some(text) = node.text.as_deref() else { continue };
        let pointer = left.next()?;
        let mut parts: Vec<&str> = pointer.rsplitn(way.len().saturating_add(1), '/').collect();
        let mut place = parts.pop().filter(|_| parts.len() == way.len())?.to_owned();
        for (key, part) in way.iter().zip(parts.into_iter().rev()) {
            let bare = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
            let bare = bare.map(|bare| escape(&bare.replace("\\\"", "\"")));
            if part != escape(key) && bare.as_deref() != Some(part) {
                return None;
            }
            place.push('/');
            place.push_str(&escape(key));
        }
        out.push((place, text));
    }
    left.next().is_none().then_some(out)
}

/// What happens to a file, as a word before its path.
fn changed(change: &str) -> &str {
    match change {
        "create" => "new file",
        "overwrite" => "overwrites",
        "edit" => "edits",
        "delete" => "deletes",
        "change" => "changes",
        other => other,
    }
}

/// A word of a command line, in quotes where its ends could be mistaken.
fn quoted(word: &str) -> String {
    let plain = |character: char| !character.is_whitespace() && !"\"'\\|&;<>():".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("\"{}\"", word.replace('"', "\\\""))
}

/// The bytes of a drawn text that is itself text.
fn rows_bytes(data: &str) -> u64 {
    let rows = rows(data);
    let bytes: usize = rows.iter().map(|row| row.replace("\\\\", "\\").len()).sum();
    number(bytes.saturating_add(rows.len().saturating_sub(1)))
}

/// The pointer of the list, if every cell that is there is exactly one leaf below it.
fn places(columns: &[String], cells: &[Vec<Option<String>>], pointers: &[String]) -> Option<String> {
    let last = |text: &str| text.rsplit_once('/').map(|(before, _)| before.to_owned());
    let below = last(&last(pointers.first()?)?)?;
    let there = cells.iter().enumerate().flat_map(|(at, row)| {
        let cells = columns.iter().zip(row).filter(|(_, cell)| cell.is_some());
        cells.map(move |(column, _)| (at, column))
    });
    let there: BTreeSet<String> =
        there.map(|(at, column)| format!("{below}/{at}/{}", escape(column))).collect();
    let wanted: BTreeSet<String> = pointers.iter().cloned().collect();
    (there == wanted && there.len() == pointers.len()).then_some(below)
}

/// The widths of the columns, if a table with them is exact: plain characters, no gaps that look like a column's end.
fn widths(columns: &[String], cells: &[Vec<Option<String>>]) -> Option<Vec<usize>> {
    let exact = |text: &str| {
        text.is_ascii() && !text.is_empty() && text != "-" && !text.contains("  ") && text.trim() == text
    };
    let mut widths = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let texts = cells.iter().filter_map(|row| row.get(at)?.as_deref()).chain([column.as_str()]);
        let mut width = 1;
        for text in texts {
            if !exact(text) {
                return None;
            }
            width = width.max(text.len());
        }
        widths.push(width);
    }
    let gaps = columns.len().saturating_mul(2);
    let even = cells.iter().all(|row| row.len() == columns.len());
    (even && widths.iter().sum::<usize>().saturating_add(gaps) <= WIDEST).then_some(widths)
}
