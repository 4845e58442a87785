//! The submodules named by a repository's index: `git status` starts git in each of them.

/// A larger index is not read.
pub(super) const LARGEST: u64 = 64 << 20;

const HEADER: usize = 12;
/// The bytes before the object id of an entry: times, device, inode, mode, owner, size.
const STAT: usize = 40;
const MODE: usize = 24;
/// `EOIE`, its length, and the offset in it; the hash follows.
const END_OF_ENTRIES: usize = 12;

/// A block of entries that git may read on its own thread.
struct Block {
    offset: usize,
    entries: usize,
}

/// The paths of all gitlinks. `hash` is the length of an object id. The error says what is not understood.
pub(super) fn gitlinks(bytes: &[u8], hash: usize) -> Result<Vec<Vec<u8>>, &'static str> {
    if bytes.len() < HEADER + hash || !bytes.starts_with(b"DIRC") {
        return Err("not an index");
    }
    let version = word(bytes, 4)?;
    let count = word(bytes, 8)?;
    if !(2..=4).contains(&version) {
        return Err("unknown version of the index");
    }
    let body = bytes.get(..bytes.len() - hash).ok_or(SHORT)?;
    // With many entries git starts at the offsets of a table. A wrong table could hide entries from us.
    let end = end_of_entries(bytes, hash)?;
    let blocks = end.map(|end| extensions(body, end)).transpose()?.flatten().unwrap_or_default();
    let mut blocks = blocks.into_iter().peekable();
    let mut block_at = 0;
    let mut links = Vec::new();
    let mut name = Vec::new();
    let mut at = HEADER;
    for number in 0..count {
        let mut fresh = false;
        if blocks.peek().is_some_and(|_| number == block_at) {
            let block = blocks.next().ok_or(TABLE)?;
            if block.offset != at || block.entries == 0 {
                return Err(TABLE);
            }
            block_at += block.entries;
            fresh = true;
        }
        let link = word(body, at + MODE)? & 0o170_000 == 0o160_000;
        let sparse = word(body, at + MODE)? & 0o170_000 == 0o040_000;
        if sparse {
            return Err(SPARSE);
        }
        let flags = half(body, at + STAT + hash)?;
        let extended = flags & 0x4000 != 0;
        let start = at + STAT + hash + if extended { 4 } else { 2 };
        let length = usize::from(flags & 0x0FFF);
        if version == 4 {
            let (strip, start) = varint(body, start)?;
            let keep = name.len().checked_sub(strip).ok_or("a name of the index is cut too short")?;
            if fresh && keep != 0 {
                return Err(TABLE);
            }
            let rest = if length == 0x0FFF {
                zero(body, start)?
            } else {
                length.checked_sub(keep).ok_or("a name of the index is too short")?
            };
            name.truncate(keep);
            name.extend_from_slice(body.get(start..start + rest).ok_or(SHORT)?);
            at = start + rest + 1;
        } else {
            let length = if length == 0x0FFF { zero(body, start)? } else { length };
            if link {
                name = body.get(start..start + length).ok_or(SHORT)?.to_vec();
            }
            at += (start - at + length + 8) & !7;
        }
        if link {
            links.push(name.clone());
        }
    }
    if blocks.next().is_some() || (block_at != 0 && block_at != count) || end.is_some_and(|end| end != at) {
        return Err(TABLE);
    }
    extensions(body, at)?;
    Ok(links)
}

const SHORT: &str = "the index is cut off";
const TABLE: &str = "the tables of the index disagree with it";
const SPARSE: &str = "a sparse index is not read";

/// The end of the entries, if the index gives it at the place where git looks.
fn end_of_entries(bytes: &[u8], hash: usize) -> Result<Option<usize>, &'static str> {
    let Some(at) = bytes.len().checked_sub(hash + END_OF_ENTRIES + hash).filter(|at| *at >= HEADER) else {
        return Ok(None);
    };
    if bytes.get(at..at + 4) != Some(b"EOIE") {
        return Ok(None);
    }
    word(bytes, at + 8).map(Some)
}

/// Walks the extensions from an offset, and returns the table of blocks if there is one.
fn extensions(body: &[u8], mut at: usize) -> Result<Option<Vec<Block>>, &'static str> {
    let mut blocks = None;
    while at + 8 <= body.len() {
        let name = body.get(at..at + 4).ok_or(SHORT)?;
        let length = word(body, at + 4)?;
        let data = body.get(at + 8..at + 8 + length).ok_or(SHORT)?;
        match name {
            b"IEOT" if blocks.is_some() => return Err(TABLE),
            b"IEOT" => blocks = Some(table(data)?),
            b"link" => return Err("a split index is not read"),
            b"sdir" => return Err(SPARSE),
            // Git skips unknown extensions only if their name begins with a capital letter.
            _ if name.first().is_some_and(u8::is_ascii_uppercase) => {}
            _ => return Err("unknown extension of the index"),
        }
        at += 8 + length;
    }
    Ok(blocks)
}

fn table(data: &[u8]) -> Result<Vec<Block>, &'static str> {
    if word(data, 0)? != 1 || data.len() % 8 != 4 {
        return Err(TABLE);
    }
    (4..data.len())
        .step_by(8)
        .map(|at| Ok(Block { offset: word(data, at)?, entries: word(data, at + 4)? }))
        .collect()
}

fn word(bytes: &[u8], at: usize) -> Result<usize, &'static str> {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).ok_or(SHORT)?;
    Ok(u32::from_be_bytes(four) as usize)
}

fn half(bytes: &[u8], at: usize) -> Result<u16, &'static str> {
    let two = bytes.get(at..at + 2).and_then(|two| two.try_into().ok()).ok_or(SHORT)?;
    Ok(u16::from_be_bytes(two))
}

/// The distance to the next zero byte.
fn zero(bytes: &[u8], at: usize) -> Result<usize, &'static str> {
    bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == 0)).ok_or(SHORT)
}

/// A number in the format of pack offsets, and where it ends.
fn varint(bytes: &[u8], mut at: usize) -> Result<(usize, usize), &'static str> {
    let mut byte = *bytes.get(at).ok_or(SHORT)?;
    let mut number = usize::from(byte & 0x7F);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at).ok_or(SHORT)?;
        number = number
            .checked_add(1)
            .and_then(|number| number.checked_mul(128))
            .and_then(|number| number.checked_add(usize::from(byte & 0x7F)))
            .ok_or(SHORT)?;
    }
    Ok((number, at + 1))
}
