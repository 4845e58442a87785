//! The strict view: one pass over the text that gives literal simple commands or stops at the first thing that is not.
//!
//! The rule for every character is the same: unless bash, dash and zsh all take it for the same thing, and that is known
//! from the text alone, the text is opaque. That is why there is no recursion here, nothing to balance and nothing to expand.

mod document;
mod printed;

use std::iter::Peekable;
use std::str::CharIndices;

use document::{Document, UNENDED};

use super::{MAX_COMMANDS, MAX_LENGTH, Mode, Opaque, Operator, Redirect, Simple};

pub(super) const TOO_LONG: &str = "the text is longer than 10,000 bytes";
const BROKEN: &str = "a line break in quotes after a here-document was announced";
pub(super) const CONTROL: &str = "there is a control character";

/// Words that begin a compound command or change how the next one is run, when unquoted and in first place.
const RESERVED: [&str; 26] = [
    "if",
    "then",
    "else",
    "elif",
    "fi",
    "do",
    "done",
    "case",
    "esac",
    "while",
    "until",
    "for",
    "select",
    "function",
    "time",
    "in",
    "coproc",
    "foreach",
    "end",
    "repeat",
    "nocorrect",
    "noglob",
    "always",
    "begin",
    "and",
    "or",
];

/// Commands after which the same text may mean something else.
const REREADERS: [&str; 10] =
    ["alias", "unalias", "set", "shopt", "setopt", "unsetopt", "enable", "hash", "emulate", "zmodload"];

/// What a clean reading gives: the commands, and the comments for those who look everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Strict {
    pub(super) commands: Vec<Simple>,
    pub(super) comments: Vec<String>,
}

enum Token {
    Word(Word),
    /// A redirection whose target is the next word.
    Open {
        fd: Option<u8>,
        mode: Mode,
    },
    /// `<<'END'`; its text comes later.
    Document {
        fd: Option<u8>,
    },
    /// `2>&1` and its like: complete, and opens nothing.
    Duplicate,
    Separator(Operator),
}

#[derive(Default)]
struct Word {
    text: String,
    quoted: bool,
    /// Whether an unquoted `=` is part of it.
    equals: bool,
}

struct Lexer<'a> {
    text: &'a str,
    /// Whether a message that `cat` prints may stand here.
    messages: bool,
    chars: Peekable<CharIndices<'a>>,
    comments: Vec<&'a str>,
    /// Here-documents whose text begins after the next line break.
    awaited: Vec<Document>,
    /// The texts that were read, in order.
    documents: Vec<String>,
}

#[derive(Default)]
struct Reader {
    done: Vec<Simple>,
    argv: Vec<String>,
    redirects: Vec<Redirect>,
    operator: Option<Operator>,
}

/// Reads the text as a flat list of literal commands.
pub(super) fn strict(text: &str) -> Result<Strict, Opaque> {
    if text.len() > MAX_LENGTH {
        return Err(Opaque { reason: TOO_LONG, at: text.floor_char_boundary(MAX_LENGTH) });
    }
    if let Some((at, _)) = text.char_indices().find(|(_, c)| is_forbidden(*c)) {
        return Err(Opaque { reason: CONTROL, at });
    }
    let mut lexer = Lexer {
        text,
        messages: false,
        chars: text.char_indices().peekable(),
        comments: Vec::new(),
        awaited: Vec::new(),
        documents: Vec::new(),
    };
    let mut reader = Reader::default();
    loop {
        lexer.skip_blanks();
        let at = lexer.position();
        lexer.messages = printed::is_expected(&reader.argv);
        match lexer.token()? {
            Some(Token::Word(word)) => reader.word(word, at)?,
            Some(Token::Open { fd, mode }) => {
                reader.needs_command(at, "the redirection stands before a command")?;
                let at = lexer.position();
                let Some(Token::Word(Word { text: target, .. })) = lexer.token()? else {
                    return Err(Opaque { reason: "the redirection has no target", at });
                };
                if target.is_empty() {
                    return Err(Opaque { reason: "the redirection has no target", at });
                }
                if target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/") {
                    return Err(Opaque { reason: "the redirection opens a network connection", at });
                }
                reader.redirects.push(Redirect { fd, mode, target });
            }
            Some(Token::Document { fd }) => {
                reader.needs_command(at, "the redirection stands before a command")?;
                reader.redirects.push(Redirect { fd, mode: Mode::Document, target: String::new() });
            }
            Some(Token::Duplicate) => reader.needs_command(at, "the redirection stands before a command")?,
            Some(Token::Separator(Operator::Newline)) if reader.argv.is_empty() => {}
            Some(Token::Separator(operator)) => {
                reader.needs_command(at, "there is no command before the operator")?;
                reader.finish(at)?;
                reader.operator = Some(operator);
            }
            None => {
                if !reader.argv.is_empty() {
                    reader.finish(at)?;
                } else if let Some(Operator::And | Operator::Or | Operator::Pipe) = reader.operator {
                    return Err(Opaque { reason: "the text ends with an operator", at });
                }
                if reader.done.is_empty() {
                    return Err(Opaque { reason: "there is no command", at });
                }
                if let Some(document) = lexer.awaited.first() {
                    return Err(Opaque { reason: UNENDED, at: document.at });
                }
                let mut documents = lexer.documents.into_iter();
                let redirects = reader.done.iter_mut().flat_map(|command| &mut command.redirects);
                for redirect in redirects.filter(|redirect| redirect.mode == Mode::Document) {
                    redirect.target = documents.next().unwrap_or_default();
                }
                return Ok(Strict {
                    commands: reader.done,
                    comments: lexer.comments.into_iter().map(str::to_owned).collect(),
                });
            }
        }
    }
}

impl Reader {
    fn word(&mut self, word: Word, at: usize) -> Result<(), Opaque> {
        if self.argv.is_empty() {
            let reason = if word.text.is_empty() {
                Some("the command has an empty name")
            } else if word.text.starts_with(['-', '%']) {
                Some("the command begins with a sign that shells and jobs use")
            } else if word.equals {
                Some("the command begins with an assignment")
            } else if !word.quoted && RESERVED.contains(&word.text.as_str()) {
                Some("it is a compound command")
            } else if REREADERS.contains(&word.text.as_str()) {
                Some("the command changes how the rest is read")
            } else {
                None
            };
            if let Some(reason) = reason {
                return Err(Opaque { reason, at });
            }
        }
        self.argv.push(word.text);
        Ok(())
    }

    fn needs_command(&self, at: usize, reason: &'static str) -> Result<(), Opaque> {
        if self.argv.is_empty() { Err(Opaque { reason, at }) } else { Ok(()) }
    }

    fn finish(&mut self, at: usize) -> Result<(), Opaque> {
        if self.done.len() >= MAX_COMMANDS {
            return Err(Opaque { reason: "there are more than 50 commands", at });
        }
        self.done.push(Simple {
            operator: self.operator.take(),
            argv: std::mem::take(&mut self.argv),
            redirects: std::mem::take(&mut self.redirects),
        });
        Ok(())
    }
}

impl Lexer<'_> {
    fn position(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |(at, _)| *at)
    }

    fn next_is(&mut self, wanted: char) -> bool {
        self.chars.next_if(|(_, c)| *c == wanted).is_some()
    }

    /// Blanks, and line breaks behind a backslash, which are none. Within a word not all who read it agree on that.
    fn skip_blanks(&mut self) {
        loop {
            while self.chars.next_if(|(_, c)| matches!(c, ' ' | '\t')).is_some() {}
            if !self.continues() {
                return;
            }
            self.chars.next();
            self.chars.next();
        }
    }

    /// Whether a backslash and a line break come next. With a here-document to come, shells differ on where it begins.
    fn continues(&mut self) -> bool {
        let at = self.position();
        self.awaited.is_empty() && self.text.get(at..).is_some_and(|rest| rest.starts_with("\\\n"))
    }

    /// What comes next; blanks have been skipped.
    fn token(&mut self) -> Result<Option<Token>, Opaque> {
        let Some(&(at, c)) = self.chars.peek() else { return Ok(None) };
        if c == '#' {
            self.comment(at);
            return self.token_after_comment();
        }
        self.operator_or_word()
    }

    /// After a comment comes a line break or the end, never another comment: no recursion.
    fn token_after_comment(&mut self) -> Result<Option<Token>, Opaque> {
        if self.chars.peek().is_none() { Ok(None) } else { self.operator_or_word() }
    }

    fn comment(&mut self, from: usize) {
        while self.chars.next_if(|(_, c)| *c != '\n').is_some() {}
        let to = self.position();
        self.comments.extend(self.text.get(from..to));
    }

    fn operator_or_word(&mut self) -> Result<Option<Token>, Opaque> {
        let Some(&(at, c)) = self.chars.peek() else { return Ok(None) };
        if !matches!(c, '\n' | ';' | '&' | '|' | '<' | '>') {
            return self.word().map(Some);
        }
        self.chars.next();
        let operator = match c {
            '\n' => {
                self.read_documents()?;
                Operator::Newline
            }
            ';' => Operator::Semicolon,
            '&' if self.next_is('&') => Operator::And,
            '&' => return Err(Opaque { reason: "`&` runs it in the background or joins outputs", at }),
            '|' if self.next_is('|') => Operator::Or,
            '|' if self.next_is('&') => return Err(Opaque { reason: "`|&` joins outputs", at }),
            '|' => Operator::Pipe,
            _ => return self.redirection(c, None, at).map(Some),
        };
        Ok(Some(Token::Separator(operator)))
    }

    /// Just after `<` or `>`.
    fn redirection(&mut self, c: char, fd: Option<u8>, at: usize) -> Result<Token, Opaque> {
        if self.next_is('&') {
            return self.duplicate(at);
        }
        // zsh reads `<1-9>` as a pattern for numbers.
        let at_next = self.position();
        let digits =
            self.text.get(at_next..).unwrap_or_default().trim_start_matches(|c: char| c.is_ascii_digit());
        if c == '<' && digits.starts_with('-') {
            return Err(Opaque { reason: "the redirection is of a special kind", at });
        }
        let mode = match c {
            '<' => Mode::Read,
            _ if self.next_is('>') => Mode::Append,
            _ => Mode::Write,
        };
        match self.chars.peek() {
            Some((_, '<')) if mode == Mode::Read => self.document(fd, at),
            Some((_, '(')) => Err(Opaque { reason: "there is a process substitution", at }),
            Some((_, '<' | '>' | '|' | '&')) => {
                Err(Opaque { reason: "the redirection is of a special kind", at })
            }
            _ => {
                self.skip_blanks();
                Ok(Token::Open { fd, mode })
            }
        }
    }

    /// Just after `>&` or `<&`: one digit and then the end of the word. Anything else means a file to some shell.
    fn duplicate(&mut self, at: usize) -> Result<Token, Opaque> {
        let digit = self.chars.next_if(|(_, c)| c.is_ascii_digit());
        match (digit, self.chars.peek()) {
            (Some(_), None | Some((_, ' ' | '\t' | '\n' | ';' | '&' | '|'))) => Ok(Token::Duplicate),
            _ => Err(Opaque { reason: "the redirection is of a special kind", at }),
        }
    }

    fn word(&mut self) -> Result<Token, Opaque> {
        let mut word = Word::default();
        while let Some(&(at, c)) = self.chars.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' => break,
                '<' | '>' => {
                    if word.quoted || word.text.is_empty() || !word.text.bytes().all(|b| b.is_ascii_digit()) {
                        break;
                    }
                    // Shells agree on descriptors of one digit only; longer ones are words to some of them.
                    let [digit] = word.text.as_bytes() else {
                        return Err(Opaque { reason: "the redirection is of a special kind", at });
                    };
                    let fd = digit.checked_sub(b'0');
                    self.chars.next();
                    return self.redirection(c, fd, at);
                }
                _ => {
                    self.chars.next();
                    self.piece(&mut word, c, at)?;
                }
            }
        }
        Ok(Token::Word(word))
    }

    /// One unquoted character, or one quoted string.
    fn piece(&mut self, word: &mut Word, c: char, at: usize) -> Result<(), Opaque> {
        let first = word.text.is_empty();
        let reason = match c {
            '\'' => return self.single_quoted(word, at),
            '"' => return self.double_quoted(word, at),
            '\\' => match self.chars.next_if(|(_, c)| is_sign(*c)) {
                Some((_, sign)) => {
                    word.quoted = true;
                    word.text.push(sign);
                    return Ok(());
                }
                None => "a backslash outside quotes",
            },
            '$' if matches!(self.chars.peek(), None | Some((_, ' ' | '\t' | '\n'))) => {
                word.text.push(c);
                return Ok(());
            }
            '$' => "the word is not literal: `$`",
            '`' => "the word is not literal: a backtick",
            '*' | '?' | '[' | ']' => "the word is not literal: a pattern for file names",
            '{' | '}' => "the word is not literal: a brace",
            '(' | ')' => "there is a parenthesis outside quotes",
            '!' => "`!` negates or recalls history",
            '~' if first || word.text.ends_with([':', '=']) => "the word is not literal: `~`",
            '=' if first => "the word is not literal: it begins with `=`",
            '^' if first => "the word is not literal: it begins with `^`",
            c if !c.is_ascii() && (c.is_whitespace() || is_invisible(c)) => {
                "there is an invisible character outside quotes"
            }
            // Some shells in some locales split words at bytes of such characters.
            c if !c.is_ascii() => "there is a character outside ASCII and outside quotes",
            c => {
                word.equals |= c == '=';
                word.text.push(c);
                return Ok(());
            }
        };
        Err(Opaque { reason, at })
    }

    fn single_quoted(&mut self, word: &mut Word, at: usize) -> Result<(), Opaque> {
        word.quoted = true;
        let mut last = None;
        for (here, c) in self.chars.by_ref() {
            if c == '\n' && !self.awaited.is_empty() {
                return Err(Opaque { reason: BROKEN, at: here });
            }
            if c == '\'' {
                // fish would take this quote for an escaped one and read on.
                return if last == Some('\\') {
                    Err(Opaque { reason: "a backslash stands before a closing quote", at: here })
                } else {
                    Ok(())
                };
            }
            word.text.push(c);
            last = Some(c);
        }
        Err(Opaque { reason: "a quote is not closed", at })
    }

    /// A message that `cat` prints, if that is all the string holds. The closing quote is read with it.
    fn message(&mut self, word: &mut Word) -> bool {
        let at = self.position();
        let alone = self.messages && self.awaited.is_empty() && word.text.is_empty();
        let rest = self.text.get(at..).filter(|_| alone);
        let Some((text, length)) = rest.and_then(printed::printed) else { return false };
        word.text.push_str(text);
        let end = at.saturating_add(length);
        while self.chars.next_if(|(here, _)| *here < end).is_some() {}
        true
    }

    fn double_quoted(&mut self, word: &mut Word, at: usize) -> Result<(), Opaque> {
        word.quoted = true;
        if self.message(word) {
            return Ok(());
        }
        while let Some((here, c)) = self.chars.next() {
            let reason = match c {
                '"' => return Ok(()),
                '\n' if !self.awaited.is_empty() => BROKEN,
                // Nothing that begins with it has a name.
                '$' if matches!(self.chars.peek(), Some((_, '"' | ' ' | '|' | ')' | '/'))) => {
                    word.text.push(c);
                    continue;
                }
                '$' => "the word is not literal: `$`",
                '`' => "the word is not literal: a backtick",
                '!' => "`!` negates or recalls history",
                '\\' => match self.chars.peek() {
                    Some((_, '"' | '\\' | '$')) => {
                        word.text.extend(self.chars.next().map(|(_, sign)| sign));
                        continue;
                    }
                    Some((_, '`' | '!' | '\n')) => "a backslash that the shell removes",
                    _ => {
                        word.text.push(c);
                        continue;
                    }
                },
                c => {
                    word.text.push(c);
                    continue;
                }
            };
            return Err(Opaque { reason, at: here });
        }
        Err(Opaque { reason: "a quote is not closed", at })
    }
}

/// Signs that a backslash makes plain in every shell. Letters are not among them: to some shells they become others.
fn is_sign(c: char) -> bool {
    c == ' ' || (c.is_ascii_punctuation() && c != '`')
}

/// Characters no command line needs, in quotes or out: what a person sees is not what a terminal or shell gets.
pub(super) fn is_forbidden(c: char) -> bool {
    c.is_control() && c != '\t' && c != '\n'
}

/// Characters of format, direction and filling, which do not show or change what shows around them.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(
        u32::from(c),
        0xAD | 0x34F
            | 0x600..=0x605
            | 0x61C
            | 0x6DD
            | 0x70F
            | 0x890..=0x891
            | 0x8E2
            | 0x115F..=0x1160
            | 0x17B4..=0x17B5
            | 0x180B..=0x180F
            | 0x200B..=0x200F
            | 0x2028..=0x202E
            | 0x2060..=0x206F
            | 0x2800
            | 0x3164
            | 0xFE00..=0xFE0F
            | 0xFEFF
            | 0xFFA0
            | 0xFFF0..=0xFFFB
            | 0x110BD
            | 0x110CD
            | 0x13430..=0x1343F
            | 0x1BCA0..=0x1BCA3
            | 0x1D173..=0x1D17A
            | 0xE0000..=0xE0FFF
    )
}
