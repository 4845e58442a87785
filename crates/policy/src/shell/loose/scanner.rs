//! The tolerant scanner that understands quotes.
//!
//! Nothing is matched up by recursion. Every opener puts a frame on a stack, every closer takes one off, and what is
//! still open at the end counts as well. Quotes, escapes and simple variables are undone as the shell would undo them.

use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Chars;

use super::{Budget, Mode, Operator, Raw, Token, TooMuch};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Close {
    End,
    Paren,
    Backtick,
}

struct Frame {
    close: Close,
    double: bool,
    /// Open `${`; their `}` ends no command.
    parameters: usize,
    /// Open `{` of a brace expansion, in which commas part words.
    braces: usize,
    word: Option<Token>,
    target: Option<Mode>,
    raw: Raw,
}

struct Scanner<'a> {
    chars: Peekable<Chars<'a>>,
    outer: Vec<Frame>,
    frame: Frame,
    backticks: usize,
    parens: usize,
    variables: HashMap<String, String>,
    comments: Vec<String>,
    budget: &'a mut Budget,
    out: Vec<Raw>,
}

/// Scans with quotes understood. Comments come back as texts of their own.
pub(in crate::shell) fn scan(text: &str, budget: &mut Budget) -> Result<(Vec<Raw>, Vec<String>), TooMuch> {
    if !budget.take(text.len()) {
        return Err(TooMuch);
    }
    budget.statement = budget.statement.saturating_add(1);
    let frame = Frame::new(Close::End, 0, budget);
    let mut scanner = Scanner {
        chars: text.chars().peekable(),
        outer: Vec::new(),
        frame,
        backticks: 0,
        parens: 0,
        variables: HashMap::new(),
        comments: Vec::new(),
        budget,
        out: Vec::new(),
    };
    while let Some(c) = scanner.chars.next() {
        if scanner.frame.double {
            scanner.in_double(c)?;
        } else {
            scanner.plain(c)?;
        }
    }
    while !scanner.outer.is_empty() {
        scanner.pop(None)?;
    }
    scanner.end_command(None)?;
    Ok((scanner.out, scanner.comments))
}

impl Frame {
    fn new(close: Close, depth: usize, budget: &Budget) -> Self {
        Self {
            close,
            double: false,
            parameters: 0,
            braces: 0,
            word: None,
            target: None,
            raw: Raw::new(depth, budget),
        }
    }

    fn token(&mut self) -> &mut Token {
        self.word.get_or_insert_default()
    }
}

impl Scanner<'_> {
    fn in_double(&mut self, c: char) -> Result<(), TooMuch> {
        match c {
            '"' => self.frame.double = false,
            '\\' => match self.chars.next() {
                Some('\n') | None => {}
                Some(c @ ('$' | '`' | '"' | '\\')) => self.frame.token().text.push(c),
                Some(c) => {
                    self.frame.token().text.push('\\');
                    self.frame.token().text.push(c);
                }
            },
            '$' => self.dollar()?,
            '`' => self.backtick()?,
            c => self.frame.token().text.push(c),
        }
        Ok(())
    }

    fn plain(&mut self, c: char) -> Result<(), TooMuch> {
        match c {
            ' ' | '\t' => self.end_word()?,
            '\n' => self.end_command(Some(Operator::Newline))?,
            ';' => self.end_command(Some(Operator::Semicolon))?,
            '&' => self.ampersand()?,
            '|' => self.pipe()?,
            '<' | '>' => self.angle(c)?,
            '(' => self.push(Close::Paren)?,
            ')' if self.parens > 0 && self.frame.close == Close::Paren => self.pop(None)?,
            ')' => self.end_command(None)?,
            '{' => self.brace()?,
            '}' if self.frame.parameters > 0 => {
                self.frame.parameters = self.frame.parameters.saturating_sub(1);
            }
            '}' => {
                self.frame.braces = self.frame.braces.saturating_sub(1);
                self.end_command(None)?;
            }
            ',' if self.frame.braces > 0 => self.end_word()?,
            '\'' => {
                self.frame.token();
                while let Some(c) = self.chars.next_if(|c| *c != '\'') {
                    self.frame.token().text.push(c);
                }
                self.chars.next();
            }
            '"' => {
                self.frame.token();
                self.frame.double = true;
            }
            '\\' => match self.chars.next() {
                Some('\n') | None => {}
                Some('`') if self.backticks > 0 => self.end_command(None)?,
                Some(c) => self.frame.token().text.push(c),
            },
            '$' => self.dollar()?,
            '`' => self.backtick()?,
            '#' if self.frame.word.is_none() && self.frame.parameters == 0 => {
                let mut comment = String::new();
                while let Some(c) = self.chars.next_if(|c| *c != '\n') {
                    comment.push(c);
                }
                self.comments.push(comment);
            }
            '*' | '?' | '[' => {
                let token = self.frame.token();
                token.text.push(c);
                token.glob = true;
            }
            // What one shell takes for a letter another takes for a blank, or for the end of a line.
            c if c.is_control() || c.is_whitespace() => {
                self.end_word()?;
                self.frame.raw.restarts.push(self.frame.raw.words.len());
            }
            c => self.frame.token().text.push(c),
        }
        Ok(())
    }

    fn ampersand(&mut self) -> Result<(), TooMuch> {
        match self.chars.peek() {
            Some('&') => {
                self.chars.next();
                self.end_command(Some(Operator::And))
            }
            // `&>file`: the `>` follows as usual, and the command goes on for some shells.
            Some('>') => self.end_word(),
            _ => self.end_command(Some(Operator::Semicolon)),
        }
    }

    fn pipe(&mut self) -> Result<(), TooMuch> {
        if self.chars.next_if_eq(&'|').is_some() {
            return self.end_command(Some(Operator::Or));
        }
        self.chars.next_if_eq(&'&');
        self.end_command(Some(Operator::Pipe))
    }

    fn angle(&mut self, c: char) -> Result<(), TooMuch> {
        // A number before it is a descriptor and no word.
        if self.frame.word.as_ref().is_some_and(|word| word.text.bytes().all(|b| b.is_ascii_digit())) {
            self.frame.word = None;
        }
        self.end_word()?;
        if self.chars.next_if_eq(&'(').is_some() {
            self.frame.token().dynamic = true;
            return self.push(Close::Paren);
        }
        let mut mode = if c == '<' { Mode::Read } else { Mode::Write };
        while let Some(next) = self.chars.next_if(|c| matches!(c, '<' | '>' | '&' | '|' | '!' | '-')) {
            if next == '>' {
                mode = Mode::Append;
            }
        }
        self.frame.target = Some(mode);
        Ok(())
    }

    fn brace(&mut self) -> Result<(), TooMuch> {
        match self.chars.peek() {
            Some('}') => {
                self.chars.next();
                self.frame.token().text.push_str("{}");
            }
            None | Some(' ' | '\t' | '\n') => self.end_command(None)?,
            Some(_) => {
                self.end_command(None)?;
                self.frame.braces = self.frame.braces.saturating_add(1);
            }
        }
        Ok(())
    }

    fn backtick(&mut self) -> Result<(), TooMuch> {
        if self.backticks > 0 {
            while self.frame.close != Close::Backtick && !self.outer.is_empty() {
                self.pop(None)?;
            }
            self.pop(None)
        } else {
            self.frame.token().dynamic = true;
            self.push(Close::Backtick)
        }
    }

    fn dollar(&mut self) -> Result<(), TooMuch> {
        let double = self.frame.double;
        match self.chars.peek().copied() {
            Some('(') => {
                self.chars.next();
                self.unknown();
                self.push(Close::Paren)
            }
            Some('{') => {
                self.chars.next();
                self.chars.next_if(|c| matches!(c, '#' | '!'));
                let name = self.name();
                self.variable(&name)?;
                if self.chars.next_if_eq(&'}').is_none() {
                    while self
                        .chars
                        .next_if(|c| matches!(c, ':' | '-' | '=' | '+' | '?' | '#' | '%' | '^' | ',' | '@'))
                        .is_some()
                    {}
                    if double {
                        // Quotes inside `"${x:-…}"` nest; what is in there is read as plain words.
                        self.frame.token();
                    }
                    self.frame.parameters = self.frame.parameters.saturating_add(1);
                }
                Ok(())
            }
            Some('\'') if !double => {
                self.chars.next();
                self.ansi();
                Ok(())
            }
            Some('"') if !double => Ok(()),
            Some('[') => {
                self.unknown();
                Ok(())
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.name();
                self.variable(&name)
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '@' | '*' | '#' | '?' | '!' | '$' | '-') => {
                self.chars.next();
                self.unknown();
                Ok(())
            }
            _ => {
                self.frame.token().text.push('$');
                Ok(())
            }
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            name.push(c);
        }
        if name.is_empty() {
            self.chars.next_if(|c| matches!(c, '@' | '*'));
        }
        name
    }

    fn unknown(&mut self) {
        let double = self.frame.double;
        let token = self.frame.token();
        token.open |= !double && token.text.is_empty();
        token.dynamic = true;
    }

    /// The value, if the text itself gave one; the blank between words for `IFS`; nothing otherwise.
    fn variable(&mut self, name: &str) -> Result<(), TooMuch> {
        let value = if name == "IFS" { Some(" ".to_owned()) } else { self.variables.get(name).cloned() };
        let Some(value) = value else {
            self.unknown();
            return Ok(());
        };
        if !self.budget.take(value.len()) {
            return Err(TooMuch);
        }
        for c in value.chars() {
            if !self.frame.double && c.is_whitespace() {
                self.end_word()?;
            } else {
                self.frame.token().text.push(c);
            }
        }
        Ok(())
    }

    /// `$'…'` with its escapes undone.
    fn ansi(&mut self) {
        self.frame.token();
        while let Some(c) = self.chars.next() {
            let decoded = match c {
                '\'' => return,
                '\\' => match self.chars.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('x') => self.number(16, 2),
                    Some('u') => self.number(16, 4),
                    Some('U') => self.number(16, 8),
                    Some(c @ '0'..='7') => {
                        let rest = self.digits(8, 2);
                        let text = format!("{c}{rest}");
                        u32::from_str_radix(&text, 8).ok().and_then(char::from_u32).unwrap_or('?')
                    }
                    Some(c) => c,
                    None => return,
                },
                c => c,
            };
            self.frame.token().text.push(decoded);
        }
    }

    fn digits(&mut self, radix: u32, most: usize) -> String {
        let mut digits = String::new();
        while digits.len() < most
            && let Some(c) = self.chars.next_if(|c| c.is_digit(radix))
        {
            digits.push(c);
        }
        digits
    }

    fn number(&mut self, radix: u32, most: usize) -> char {
        let digits = self.digits(radix, most);
        u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32).unwrap_or('?')
    }

    fn push(&mut self, close: Close) -> Result<(), TooMuch> {
        match close {
            Close::Paren => self.parens = self.parens.saturating_add(1),
            Close::Backtick => self.backticks = self.backticks.saturating_add(1),
            Close::End => {}
        }
        // A frame costs memory, so it costs budget.
        if !self.budget.take(8) {
            return Err(TooMuch);
        }
        let depth = self.outer.len().saturating_add(1);
        let inner = Frame::new(close, depth, self.budget);
        let outer = std::mem::replace(&mut self.frame, inner);
        self.outer.push(outer);
        Ok(())
    }

    fn pop(&mut self, operator: Option<Operator>) -> Result<(), TooMuch> {
        self.end_command(operator)?;
        let Some(outer) = self.outer.pop() else { return Ok(()) };
        let inner = std::mem::replace(&mut self.frame, outer);
        match inner.close {
            Close::Paren => self.parens = self.parens.saturating_sub(1),
            Close::Backtick => self.backticks = self.backticks.saturating_sub(1),
            Close::End => {}
        }
        // The closer may have been one of a `case`: what follows may be a command, too.
        let next = self.frame.raw.words.len().saturating_add(usize::from(self.frame.word.is_some()));
        self.frame.raw.restarts.push(next);
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), TooMuch> {
        let Some(token) = self.frame.word.take() else { return Ok(()) };
        self.budget.words = self.budget.words.checked_sub(1).ok_or(TooMuch)?;
        if let Some(mode) = self.frame.target.take() {
            self.frame.raw.redirects.push((mode, token));
            return Ok(());
        }
        if self.frame.raw.words.is_empty()
            && let Some((name, value)) = assignment(&token.text)
        {
            let (name, value) = (name.to_owned(), value.to_owned());
            if !token.dynamic {
                self.variables.insert(name, value.clone());
            }
            self.frame.raw.assigned.push(Token { text: value, ..token });
            return Ok(());
        }
        self.frame.raw.words.push(token);
        Ok(())
    }

    fn end_command(&mut self, operator: Option<Operator>) -> Result<(), TooMuch> {
        self.end_word()?;
        self.frame.target = None;
        let depth = self.outer.len();
        let was_empty = self.frame.raw.is_empty();
        if operator == Some(Operator::Pipe) {
            self.budget.pipes = self.budget.pipes.saturating_add(1);
        } else if operator.is_some() && depth == 0 && !was_empty {
            self.budget.statement = self.budget.statement.saturating_add(1);
        }
        let mut next = Raw::new(depth, self.budget);
        next.operator = if was_empty { self.frame.raw.operator } else { operator };
        let done = std::mem::replace(&mut self.frame.raw, next);
        if was_empty {
            return Ok(());
        }
        // `for x in rm …`: the variable has the first value.
        if let [keyword, name, inside, value, ..] = done.words.as_slice()
            && keyword.text == "for"
            && inside.text == "in"
        {
            self.variables.insert(name.text.clone(), value.text.clone());
        }
        self.out.push(done);
        Ok(())
    }
}

/// `NAME=value` or `NAME+=value`.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut chars = name.chars();
    (chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_'))
    .then_some((name, value))
}
