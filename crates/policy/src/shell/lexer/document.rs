//! Here-documents: text that stands in the line itself, as long as nothing in it is expanded.

use super::{Lexer, Opaque, Token};

pub(super) const UNENDED: &str = "a here-document has no end";

/// A here-document that was announced.
pub(super) struct Document {
    pub(super) end: String,
    /// The shell takes its text as it is.
    pub(super) quoted: bool,
    /// `<<-`: tabs at the beginning of lines do not count.
    pub(super) tabs: bool,
    pub(super) at: usize,
}

impl Lexer<'_> {
    /// At the second `<`: the word that will end a text. Only plain ones, so that shells agree on it.
    pub(super) fn document(&mut self, fd: Option<u8>, at: usize) -> Result<Token, Opaque> {
        const ODD: &str = "a here-document with an unusual end, or a here-string";
        self.chars.next();
        let tabs = self.next_is('-');
        while self.chars.next_if(|(_, c)| matches!(c, ' ' | '\t')).is_some() {}
        let quote = self.chars.next_if(|(_, c)| matches!(c, '\'' | '"')).map(|(_, c)| c);
        let mut end = String::new();
        while let Some((_, c)) = self.chars.next_if(|(_, c)| c.is_ascii_alphanumeric() || *c == '_') {
            end.push(c);
        }
        let closed = quote.is_none_or(|quote| self.next_is(quote));
        let over =
            matches!(self.chars.peek(), None | Some((_, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>')));
        if end.is_empty() || !closed || !over {
            return Err(Opaque { reason: ODD, at });
        }
        self.awaited.push(Document { end, quoted: quote.is_some(), tabs, at });
        Ok(Token::Document { fd })
    }

    /// Just after a line break: the texts that were announced before it.
    pub(super) fn read_documents(&mut self) -> Result<(), Opaque> {
        for document in std::mem::take(&mut self.awaited) {
            let mut text = String::new();
            loop {
                if self.chars.peek().is_none() {
                    return Err(Opaque { reason: UNENDED, at: document.at });
                }
                let mut line = String::new();
                while let Some((at, c)) = self.chars.next_if(|(_, c)| *c != '\n') {
                    if !document.quoted && matches!(c, '$' | '`' | '\\') {
                        return Err(Opaque { reason: "a here-document is not literal", at });
                    }
                    line.push(c);
                }
                let bare = if document.tabs { line.trim_start_matches('\t') } else { &line };
                let ended = bare == document.end;
                // The line break after its end is that of the command.
                if ended {
                    self.chars.next();
                    break;
                }
                if self.chars.next().is_none() {
                    return Err(Opaque { reason: UNENDED, at: document.at });
                }
                text.push_str(bare);
                text.push('\n');
            }
            self.documents.push(text);
        }
        Ok(())
    }
}
