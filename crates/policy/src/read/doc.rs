//! Typed access to a TOML document, with every mismatch reported at its place.

use std::{collections::HashSet, ops::Range, str::FromStr, time::Duration};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{duration_fix, shown};
use crate::{
    PolicyErrors, Problem, durations,
    keys::{self, Key},
};

/// So many problems are reported; a file with more has other troubles.
const PROBLEMS: usize = 100;

/// A document being read, and what was found wrong with it.
pub(super) struct Doc<'t> {
    text: &'t str,
    lines: Vec<usize>,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
    /// The rule being read.
    pub(super) rule: Option<String>,
    /// Memory of all patterns so far.
    pub(super) patterns: usize,
    /// What the file turns on, and what its rules and presets can turn on.
    pub(super) switches: Switches,
}

/// Names of switches.
#[derive(Default)]
pub(super) struct Switches {
    pub(super) on: HashSet<String>,
    pub(super) known: HashSet<String>,
}

/// A table of the document and where it stands.
#[derive(Clone)]
pub(super) struct Field<'d> {
    table: &'d DeTable<'d>,
    span: Range<usize>,
}

impl<'d> Field<'d> {
    pub(super) fn root(table: &'d Spanned<DeTable<'d>>) -> Self {
        Self { table: table.get_ref(), span: table.span() }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'d Spanned<DeValue<'d>>> {
        self.table.get(key)
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Keys with their places, in the order of the file.
    pub(super) fn entries(&self) -> Vec<(&'d str, Range<usize>, &'d Spanned<DeValue<'d>>)> {
        let mut entries: Vec<_> =
            self.table.iter().map(|(key, value)| (&**key.get_ref(), key.span(), value)).collect();
        entries.sort_by_key(|(_, span, _)| span.start);
        entries
    }

    pub(super) fn of(value: &'d Spanned<DeValue<'d>>) -> Option<Self> {
        value.get_ref().as_table().map(|table| Self { table, span: value.span() })
    }
}

impl<'t> Doc<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let lines = std::iter::once(0)
            .chain(
                text.bytes()
                    .enumerate()
                    .filter(|(_, byte)| *byte == b'\n')
                    .map(|(at, _)| at.saturating_add(1)),
            )
            .collect();
        Self {
            text,
            lines,
            problems: Vec::new(),
            warnings: Vec::new(),
            rule: None,
            patterns: 0,
            switches: Switches::default(),
        }
    }

    /// Line and column of a byte, both counted from 1.
    pub(super) fn place(&self, offset: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count());
        (line, column.saturating_add(1))
    }

    /// The text of the file at a place.
    pub(super) fn source(&self, span: &Range<usize>) -> &'t str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    fn make(&self, span: &Range<usize>, message: String, fix: String) -> Problem {
        let (line, column) = self.place(span.start);
        Problem { line, column, rule: self.rule.clone(), message, fix }
    }

    pub(super) fn problem(&mut self, span: Range<usize>, message: impl Into<String>, fix: impl Into<String>) {
        if !self.full() {
            let problem = self.make(&span, message.into(), fix.into());
            self.problems.push(problem);
        }
    }

    pub(super) fn warning(&mut self, span: Range<usize>, message: impl Into<String>, fix: impl Into<String>) {
        if self.warnings.len() < PROBLEMS {
            let warning = self.make(&span, message.into(), fix.into());
            self.warnings.push(warning);
        }
    }

    pub(super) fn failed(&self) -> bool {
        !self.problems.is_empty()
    }

    pub(super) fn full(&self) -> bool {
        self.problems.len() >= PROBLEMS
    }

    pub(super) fn into_errors(mut self) -> PolicyErrors {
        self.problems.sort_by_key(|problem| (problem.line, problem.column));
        PolicyErrors { problems: self.problems }
    }

    pub(super) fn take_warnings(&mut self) -> Vec<Problem> {
        self.warnings.sort_by_key(|warning| (warning.line, warning.column));
        std::mem::take(&mut self.warnings)
    }

    /// Every key must be in one of the lists.
    pub(super) fn known_keys(&mut self, table: &Field<'_>, place: &str, lists: &[&[Key]]) {
        for (key, span, _) in table.entries() {
            let known = || lists.iter().flat_map(|list| list.iter().map(|(known, ..)| *known));
            if !known().any(|known| known == key) {
                let fix = keys::closest(key, known()).map_or_else(
                    || {
                        format!(
                            "use one of {}",
                            known().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
                        )
                    },
                    |close| format!("did you mean `{close}`?"),
                );
                self.problem(span, format!("unknown key `{}` in {place}", shown(key)), fix);
            }
        }
    }

    fn wrong(&mut self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) {
        let is = kind_of(value.get_ref());
        self.problem(value.span(), format!("`{}` is {is}", shown(key)), format!("write {expected}"));
    }

    pub(super) fn text_at(&mut self, table: &Field<'_>, key: &str) -> Option<(String, Range<usize>)> {
        let value = table.get(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(key, value, "a text in quotes");
            return None;
        };
        Some((text.to_owned(), value.span()))
    }

    pub(super) fn text(&mut self, table: &Field<'_>, key: &str, longest: usize) -> Option<String> {
        let (text, span) = self.text_at(table, key)?;
        if text.chars().count() > longest {
            self.problem(span, format!("`{key}` is longer than {longest} characters"), "shorten it");
            return None;
        }
        if text.chars().any(|letter| letter.is_control() && letter != '\n') {
            self.problem(span, format!("`{key}` holds a control character"), "remove it");
            return None;
        }
        Some(text)
    }

    pub(super) fn integer(&mut self, table: &Field<'_>, key: &str) -> Option<(i64, Range<usize>)> {
        let value = table.get(key)?;
        let Some(number) = integer_of(value.get_ref()) else {
            self.wrong(key, value, "a whole number");
            return None;
        };
        Some((number, value.span()))
    }

    /// A whole number within bounds.
    pub(super) fn count(
        &mut self,
        table: &Field<'_>,
        key: &str,
        within: std::ops::RangeInclusive<u32>,
    ) -> Option<u32> {
        let (number, span) = self.integer(table, key)?;
        let fits = u32::try_from(number).ok().filter(|number| within.contains(number));
        if fits.is_none() {
            let fix = format!("write a whole number from {} to {}", within.start(), within.end());
            self.problem(span, format!("`{key}` is {number}"), fix);
        }
        fits
    }

    pub(super) fn boolean(&mut self, table: &Field<'_>, key: &str) -> Option<bool> {
        let value = table.get(key)?;
        let is = value.get_ref().as_bool();
        if is.is_none() {
            self.wrong(key, value, "`true` or `false`");
        }
        is
    }

    pub(super) fn duration(&mut self, table: &Field<'_>, key: &str) -> Option<Duration> {
        let value = table.get(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(key, value, "a text such as `\"5m\"`");
            return None;
        };
        let read =
            durations::read(text).filter(|long| (durations::SHORTEST..=durations::LONGEST).contains(long));
        if read.is_none() {
            self.problem(
                value.span(),
                format!("`{}` is not a length of time that `{key}` can have", shown(text)),
                duration_fix(),
            );
        }
        read
    }

    /// One of the fixed words of the contract.
    pub(super) fn word<W: FromStr<Err = String>>(
        &mut self,
        table: &Field<'_>,
        key: &str,
    ) -> Option<(W, Range<usize>)> {
        let (text, span) = self.text_at(table, key)?;
        self.read_word(&text, key, span)
    }

    pub(super) fn read_word<W: FromStr<Err = String>>(
        &mut self,
        text: &str,
        key: &str,
        span: Range<usize>,
    ) -> Option<(W, Range<usize>)> {
        match text.parse() {
            Ok(word) => Some((word, span)),
            Err(error) => {
                // "unknown word `x`, expected one of: …"
                let expected = error.split_once("expected ").map_or("", |(_, expected)| expected).to_owned();
                self.problem(
                    span,
                    format!("`{}` is not a value of `{key}`", shown(text)),
                    format!("write {expected}"),
                );
                None
            }
        }
    }

    /// A list of texts, or where `single` a text alone.
    pub(super) fn texts(
        &mut self,
        table: &Field<'_>,
        key: &str,
        single: bool,
    ) -> Vec<(String, Range<usize>)> {
        let Some(value) = table.get(key) else { return Vec::new() };
        self.texts_of(value, key, single)
    }

    pub(super) fn texts_of(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        key: &str,
        single: bool,
    ) -> Vec<(String, Range<usize>)> {
        let expected = if single { "a text or a list of texts" } else { "a list of texts" };
        if let Some(text) = value.get_ref().as_str().filter(|_| single) {
            return vec![(text.to_owned(), value.span())];
        }
        let Some(list) = value.get_ref().as_array() else {
            self.wrong(key, value, expected);
            return Vec::new();
        };
        if list.is_empty() {
            self.problem(
                value.span(),
                format!("`{key}` is an empty list"),
                "remove the key, or list something",
            );
        }
        let mut texts = Vec::new();
        for item in list {
            match item.get_ref().as_str() {
                Some(text) => texts.push((text.to_owned(), item.span())),
                None => self.wrong(key, item, "a text"),
            }
        }
        texts
    }

    pub(super) fn table<'d>(&mut self, table: &Field<'d>, key: &str) -> Option<Field<'d>> {
        let value = table.get(key)?;
        let inner = Field::of(value);
        if inner.is_none() {
            self.wrong(key, value, &format!("a table `[{key}]`"));
        }
        inner
    }

    pub(super) fn tables<'d>(&mut self, table: &Field<'d>, key: &str, expected: &str) -> Vec<Field<'d>> {
        let Some(value) = table.get(key) else { return Vec::new() };
        let Some(list) = value.get_ref().as_array() else {
            self.wrong(key, value, &format!("a list of tables: `{expected}`"));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in list {
            match Field::of(item) {
                Some(field) => tables.push(field),
                None => self.wrong(key, item, &format!("tables: `{expected}`")),
            }
        }
        tables
    }
}

pub(super) fn integer_of(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

pub(super) fn number_of(value: &DeValue<'_>) -> Option<f64> {
    const EXACT: i64 = 9_007_199_254_740_991;
    if let Some(integer) = integer_of(value) {
        return (-EXACT..=EXACT).contains(&integer).then_some(integer as f64);
    }
    value.as_float()?.as_str().parse().ok().filter(|number: &f64| number.is_finite())
}

pub(super) const fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
