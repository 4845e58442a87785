//! Parses git's configuration files as git does: byte by byte, in the order of `config.c`.

/// One setting of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// `section.subsection.name`, as `git config --list` prints it.
    pub(super) key: Vec<u8>,
    /// None for a name without `=`, which git reads as true.
    pub(super) value: Option<Vec<u8>>,
}

/// All settings of a file, or the line at which git would stop.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Setting>, usize> {
    let bytes = match bytes.strip_prefix(b"\xEF\xBB\xBF") {
        Some(rest) => rest,
        None => bytes,
    };
    let mut reader = Reader { bytes, at: 0, eof: false, line: 1 };
    // Git keeps values as C strings, which end at a zero byte. Files that contain one are refused.
    if let Some(zero) = bytes.iter().position(|byte| *byte == 0) {
        return Err(1 + bytes.iter().take(zero).filter(|byte| **byte == b'\n').count());
    }
    reader.settings().ok_or(reader.line)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    eof: bool,
    line: usize,
}

/// Git's own definition of a space: no form feed, no vertical tab.
fn space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

impl Reader<'_> {
    /// The next byte. A line end of DOS is one byte, and the end of the file is one more line end.
    fn next(&mut self) -> u8 {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        match byte {
            None => {
                self.eof = true;
                b'\n'
            }
            Some(b'\r') if self.bytes.get(self.at) == Some(&b'\n') => {
                self.at += 1;
                self.line += 1;
                b'\n'
            }
            Some(byte) => {
                self.line += usize::from(byte == b'\n');
                byte
            }
        }
    }

    fn settings(&mut self) -> Option<Vec<Setting>> {
        let mut settings = Vec::new();
        let mut section = Vec::new();
        let mut comment = false;
        loop {
            match self.next() {
                b'\n' if self.eof => return Some(settings),
                b'\n' => comment = false,
                _ if comment => {}
                byte if space(byte) => {}
                b'#' | b';' => comment = true,
                b'[' => {
                    section = self.section().filter(|section| !section.is_empty())?;
                    section.push(b'.');
                }
                byte if byte.is_ascii_alphabetic() => {
                    let mut key = section.clone();
                    key.push(byte.to_ascii_lowercase());
                    settings.push(self.setting(key)?);
                }
                _ => return None,
            }
        }
    }

    fn section(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            let byte = self.next();
            match byte {
                _ if self.eof => return None,
                b']' => return Some(name),
                byte if space(byte) => return self.subsection(name, byte),
                byte if key_byte(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return None,
            }
        }
    }

    fn subsection(&mut self, mut name: Vec<u8>, mut byte: u8) -> Option<Vec<u8>> {
        while space(byte) {
            if byte == b'\n' {
                return None;
            }
            byte = self.next();
        }
        if byte != b'"' {
            return None;
        }
        name.push(b'.');
        loop {
            match self.next() {
                b'\n' => return None,
                b'"' => break,
                b'\\' => match self.next() {
                    b'\n' => return None,
                    escaped => name.push(escaped),
                },
                byte => name.push(byte),
            }
        }
        (self.next() == b']').then_some(name)
    }

    fn setting(&mut self, mut key: Vec<u8>) -> Option<Setting> {
        let mut byte = self.next();
        while !self.eof && key_byte(byte) {
            key.push(byte.to_ascii_lowercase());
            byte = self.next();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        match byte {
            b'\n' => Some(Setting { key, value: None }),
            b'=' => Some(Setting { key, value: Some(self.value()?) }),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let (mut quoted, mut comment) = (false, false);
        // The start of trailing spaces, which are cut off.
        let mut trim = 0;
        loop {
            let byte = self.next();
            if byte == b'\n' {
                if quoted {
                    return None;
                }
                if trim > 0 {
                    value.truncate(trim);
                }
                return Some(value);
            }
            if comment {
                continue;
            }
            if space(byte) && !quoted {
                if trim == 0 {
                    trim = value.len();
                }
                if !value.is_empty() {
                    value.push(byte);
                }
                continue;
            }
            if !quoted && matches!(byte, b';' | b'#') {
                comment = true;
                continue;
            }
            trim = 0;
            match byte {
                b'\\' => match self.next() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    escaped @ (b'\\' | b'"') => value.push(escaped),
                    _ => return None,
                },
                b'"' => quoted = !quoted,
                byte => value.push(byte),
            }
        }
    }
}
