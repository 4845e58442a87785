//! Reads what strace wrote (`-f -y -xx`) into whole system calls, with the places where each began and ended.

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context as _, Result, bail};

/// The calls the recorder asks strace for: everything that can change a file, make it durable or answer a caller.
pub(super) const TRACED: &str = "open,openat,openat2,creat,lseek,write,pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,\
fsync,fdatasync,sync,syncfs,sync_file_range,ftruncate,truncate,fallocate,rename,renameat,renameat2,unlink,\
unlinkat,mkdir,mkdirat,link,linkat,symlink,symlinkat,copy_file_range,sendfile,io_uring_setup";

/// One finished system call. `start` and `end` are places in the order in which strace saw things happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// When it was entered.
    pub(super) start: usize,
    /// When it returned.
    pub(super) end: usize,
    /// Its name.
    pub(super) name: String,
    /// Its arguments, as strace wrote them.
    pub(super) arguments: Vec<String>,
    /// What it returned.
    pub(super) result: i64,
    /// The file behind a returned descriptor.
    pub(super) opened: Option<Vec<u8>>,
}

/// Reads a whole trace; `base` is the place of its first line, so that several traces follow one another.
pub(super) fn read(trace: impl BufRead, base: usize) -> Result<(Vec<Call>, usize)> {
    let mut calls = Vec::new();
    let mut open: HashMap<u32, (usize, String)> = HashMap::new();
    let mut place = base;
    for line in trace.lines() {
        let line = line.context("read the trace")?;
        let (pid, rest) =
            line.trim_start().split_once(' ').with_context(|| format!("no process id in {line:.80}"))?;
        let pid: u32 = pid.parse().with_context(|| format!("process id in {line:.80}"))?;
        let rest = rest.trim_start();
        if rest.starts_with("+++") || rest.starts_with("---") || rest.starts_with("strace:") {
            place += 1;
            continue;
        }
        if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
            open.insert(pid, (place, begun.to_owned()));
        } else if let Some(resumed) = rest.strip_prefix("<... ") {
            let (start, begun) =
                open.remove(&pid).with_context(|| format!("a call ends that never began: {line:.120}"))?;
            let (_, tail) =
                resumed.split_once("resumed>").with_context(|| format!("`resumed>` in {line:.120}"))?;
            calls.extend(parse(&(begun + tail), start, place)?);
        } else {
            calls.extend(parse(rest, place, place)?);
        }
        place += 1;
    }
    // What was still under way when the process was killed may have happened in part.
    for (start, begun) in open.into_values() {
        let text = format!("{})  = -514", begun.trim_end());
        if let Some(mut call) = parse(&text, start, usize::MAX)? {
            call.result = i64::MAX;
            calls.push(call);
        }
    }
    calls.sort_by_key(|call| (call.end, call.start));
    Ok((calls, place))
}

/// One line without its process id; calls that failed are none.
fn parse(text: &str, start: usize, end: usize) -> Result<Option<Call>> {
    let (head, result) = text.rsplit_once(" = ").with_context(|| format!("no result in {text:.120}"))?;
    let head = head.trim_end();
    let (name, arguments) = head.split_once('(').with_context(|| format!("no arguments in {text:.120}"))?;
    let arguments =
        arguments.strip_suffix(')').with_context(|| format!("no closing bracket in {text:.120}"))?;
    let number = result.split([' ', '<']).next().unwrap_or_default();
    if number == "?" {
        return Ok(None);
    }
    let value = match number.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => number.parse(),
    }
    .with_context(|| format!("result {number:?} of {name}"))?;
    if value < 0 && value != -514 {
        return Ok(None);
    }
    let opened = angle(result).map(unescape).transpose()?;
    Ok(Some(Call { start, end, name: name.to_owned(), arguments: split(arguments), result: value, opened }))
}

/// Splits an argument list at its top-level commas.
fn split(text: &str) -> Vec<String> {
    let (mut depth, mut quoted, mut from, mut parts) = (0_i32, false, 0, Vec::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            // With -xx every byte of a string is written as \xNN, so a quote always ends one.
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(text.get(from..at).unwrap_or_default().trim().to_owned());
                from = at + 1;
            }
            _ => {}
        }
    }
    let last = text.get(from..).unwrap_or_default().trim();
    if !last.is_empty() {
        parts.push(last.to_owned());
    }
    parts
}

/// What stands between `<` and `>`.
fn angle(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('<')?;
    rest.split_once('>').map(|(inner, _)| inner)
}

/// `\x2f\x61` to bytes.
fn unescape(text: &str) -> Result<Vec<u8>> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len() / 4);
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut at = 0;
    while at < bytes.len() {
        if bytes.get(at) == Some(&b'\\') && bytes.get(at + 1) == Some(&b'x') {
            let (Some(high), Some(low)) = (digit(bytes.get(at + 2)), digit(bytes.get(at + 3))) else {
                bail!("bad escape in {text:.60}");
            };
            out.push(u8::try_from(high * 16 + low)?);
            at += 4;
        } else {
            // Names that are plain in spite of -xx, such as pipe:[7] of older versions.
            out.extend(bytes.get(at));
            at += 1;
        }
    }
    Ok(out)
}

impl Call {
    /// The raw text of an argument.
    pub(super) fn argument(&self, index: usize) -> Result<&str> {
        self.arguments
            .get(index)
            .map(String::as_str)
            .with_context(|| format!("argument {index} of {}", self.name))
    }

    /// A number argument.
    pub(super) fn number(&self, index: usize) -> Result<u64> {
        let text = self.argument(index)?;
        text.parse().with_context(|| format!("number {text:?} in {}", self.name))
    }

    /// A descriptor argument: its number, and the file or socket behind it.
    pub(super) fn descriptor(&self, index: usize) -> Result<(String, Vec<u8>)> {
        let text = self.argument(index)?;
        let (number, _) =
            text.split_once('<').with_context(|| format!("no file behind {text:?} in {}", self.name))?;
        let name = angle(text).with_context(|| format!("no file behind {text:?} in {}", self.name))?;
        Ok((number.to_owned(), unescape(name)?))
    }

    /// A path argument.
    pub(super) fn path(&self, index: usize) -> Result<Vec<u8>> {
        let text = self.argument(index)?;
        let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        unescape(inner.with_context(|| format!("path {text:.80} in {}", self.name))?)
    }

    /// The bytes of a buffer, an I/O vector or a message, cut to what was really written.
    pub(super) fn data(&self, index: usize) -> Result<Vec<u8>> {
        let text = self.argument(index)?;
        if text.contains("\"...") {
            bail!("strace cut a buffer short in {}: record with a larger -s", self.name);
        }
        let mut out = Vec::new();
        // Every odd part of a text split at quotes is inside them.
        for inner in text.split('"').skip(1).step_by(2) {
            out.extend(unescape(inner)?);
        }
        out.truncate(usize::try_from(self.result).unwrap_or(usize::MAX));
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, read};

    fn calls(text: &str) -> Vec<Call> {
        read(text.as_bytes(), 0).unwrap().0
    }

    #[test]
    fn a_call_on_one_line_has_its_file_offset_and_bytes() {
        let found = calls("7 pwrite64(9<\\x2f\\x64>, \"\\x61\\x00\\x22\", 3, 4096) = 3\n");
        assert_eq!((found[0].start, found[0].end, found[0].result), (0, 0, 3));
        assert_eq!(found[0].descriptor(0).unwrap(), ("9".to_owned(), b"/d".to_vec()));
        assert_eq!(found[0].data(1).unwrap(), b"a\0\"");
        assert_eq!(found[0].number(3).unwrap(), 4096);
    }

    #[test]
    fn an_interleaved_call_keeps_both_its_places() {
        let found = calls(
            "7 fdatasync(9<\\x2f\\x64> <unfinished ...>\n8 sendto(3<\\x73>, \"\\x41\\x42\", 2, MSG_NOSIGNAL, NULL, 0) = 2\n7 <... fdatasync resumed>) = 0\n",
        );
        assert_eq!(found.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["sendto", "fdatasync"]);
        assert_eq!((found[1].start, found[1].end), (0, 2));
    }

    #[test]
    fn a_partial_write_carries_only_the_bytes_that_went_out() {
        let found = calls("7 write(9<\\x2f\\x64>, \"\\x61\\x62\\x63\", 3) = 2\n");
        assert_eq!(found[0].data(1).unwrap(), b"ab");
    }

    #[test]
    fn vectors_and_messages_are_joined() {
        let found = calls(
            "7 writev(9<\\x73>, [{iov_base=\"\\x61\", iov_len=1}, {iov_base=\"\\x62\\x63\", iov_len=2}], 2) = 3\n7 sendmsg(9<\\x73>, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"\\x64\", iov_len=1}], msg_iovlen=1, msg_flags=0}, 0) = 1\n",
        );
        assert_eq!(found[0].data(1).unwrap(), b"abc");
        assert_eq!(found[1].data(1).unwrap(), b"d");
    }

    #[test]
    fn failed_calls_are_left_out_and_an_opened_file_is_named() {
        let found = calls(
            "7 openat(AT_FDCWD<\\x2f>, \"\\x2f\\x78\", O_RDWR) = -1 ENOENT (No such file or directory)\n7 openat(AT_FDCWD<\\x2f>, \"\\x2f\\x79\", O_RDWR|O_CREAT, 0644) = 4<\\x2f\\x79>\n7 +++ killed by SIGKILL +++\n",
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].opened.as_deref(), Some(&b"/y"[..]));
    }

    #[test]
    fn a_write_under_way_at_the_kill_is_a_write_that_never_ended() {
        let found = calls(
            "7 pwrite64(9<\\x2f\\x64>, \"\\x61\", 1, 0 <unfinished ...>\n7 +++ killed by SIGKILL +++\n",
        );
        assert_eq!((found[0].start, found[0].end), (0, usize::MAX));
        assert_eq!(found[0].data(1).unwrap(), b"a");
    }

    #[test]
    fn a_buffer_cut_short_by_strace_is_an_error() {
        let found = calls("7 write(9<\\x2f\\x64>, \"\\x61\\x62\"..., 3000) = 3000\n");
        assert!(found[0].data(1).is_err());
    }
}
