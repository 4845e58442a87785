//! Pictures and files in arguments. Their Base64 is checked and measured; beyond its first bytes it is never decoded.

use data_encoding::BASE64;
use serde_json::{Map, Value};

/// Longest Base64 that is drawn as a picture or a file. Longer ones are listed as text.
const MOST: usize = 1024 * 1024;
/// Pictures are told by so many bytes.
const HEAD: usize = 12;

const MEDIA_TYPES: &[&str] =
    &["media_type", "mime_type", "content_type", "mediaType", "mimeType", "contentType"];
const NAMES: &[&str] = &["name", "filename", "file_name", "fileName"];
const CONTENTS: &[&str] = &["content_base64", "data_base64", "base64"];

/// A picture: its type, its size in bytes and its Base64.
pub(super) struct Picture<'a> {
    pub(super) media_type: &'a str,
    pub(super) bytes: u32,
    pub(super) data: &'a str,
}

impl<'a> Picture<'a> {
    /// Base64 whose first bytes are those of a picture of this type.
    fn of(media_type: &'a str, data: &'a str) -> Option<Self> {
        let (bytes, head) = measured(data)?;
        let known = match media_type {
            "image/png" => head.starts_with(b"\x89PNG\r\n\x1a\n"),
            "image/jpeg" => head.starts_with(b"\xff\xd8\xff"),
            "image/gif" => head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a"),
            "image/webp" => head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP"),
            _ => false,
        };
        known.then_some(Self { media_type, bytes, data })
    }

    /// A text such as `data:image/png;base64,...`.
    pub(super) fn of_url(text: &'a str) -> Option<Self> {
        let (media_type, data) = text.strip_prefix("data:")?.split_once(";base64,")?;
        Self::of(media_type, data)
    }
}

/// A picture in an object: the keys of its Base64 and of its type.
pub(super) fn picture(map: &Map<String, Value>) -> Option<(&str, &str, Picture<'_>)> {
    let (type_key, media_type) = only(map, MEDIA_TYPES)?;
    let mut found = map
        .iter()
        .filter(|(key, _)| *key != type_key)
        .filter_map(|(key, value)| Some((key.as_str(), type_key, Picture::of(media_type, value.as_str()?)?)));
    // With two pictures and one type, it is unclear which one the type is of.
    found.next().filter(|_| found.next().is_none())
}

/// A file that is handed over.
pub(super) struct File<'a> {
    pub(super) name: (&'a str, &'a str),
    pub(super) media_type: Option<(&'a str, &'a str)>,
    pub(super) data: (&'a str, &'a str),
    pub(super) bytes: u32,
}

/// A file in an object: a name and Base64, each with its key.
pub(super) fn file(map: &Map<String, Value>) -> Option<File<'_>> {
    let (name, data) = (only(map, NAMES)?, only(map, CONTENTS)?);
    let (bytes, _) = measured(data.1)?;
    Some(File { name, media_type: only(map, MEDIA_TYPES), data, bytes })
}

/// The one text under one of these keys.
fn only<'a>(map: &'a Map<String, Value>, keys: &[&str]) -> Option<(&'a str, &'a str)> {
    let mut found = map.iter().filter(|(key, _)| keys.contains(&key.as_str()));
    match (found.next(), found.next()) {
        (Some((key, value)), None) => Some((key.as_str(), value.as_str()?)),
        _ => None,
    }
}

/// The size of what Base64 stands for, and its first bytes.
fn measured(text: &str) -> Option<(u32, Vec<u8>)> {
    let digits = text.trim_end_matches('=');
    let padding = text.len().checked_sub(digits.len())?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    let whole = !digits.is_empty() && text.len() <= MOST && text.len().is_multiple_of(4) && padding <= 2;
    if !whole || !digits.bytes().all(plain) {
        return None;
    }
    let bytes = (text.len() / 4).checked_mul(3)?.checked_sub(padding)?;
    let head = text.get(..text.len().min(HEAD / 3 * 4))?;
    Some((u32::try_from(bytes).ok()?, BASE64.decode(head.as_bytes()).ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_picture_is_what_its_first_bytes_and_its_type_both_say() {
        let of = |media_type: &str, bytes: &[u8]| {
            let data = BASE64.encode(bytes);
            Picture::of(media_type, &data).map(|picture| (picture.media_type.to_owned(), picture.bytes))
        };
        let png = b"\x89PNG\r\n\x1a\n and more of it";
        assert_eq!(of("image/png", png), Some(("image/png".to_owned(), 24)));
        assert_eq!(of("image/gif", b"GIF89a"), Some(("image/gif".to_owned(), 6)));
        assert_eq!(of("image/jpeg", b"\xff\xd8\xff\xe0"), Some(("image/jpeg".to_owned(), 4)));
        assert_eq!(of("image/webp", b"RIFF1234WEBPVP8 "), Some(("image/webp".to_owned(), 16)));
        for (media_type, bytes) in [
            ("image/gif", &png[..]),
            ("image/svg+xml", b"<svg/>"),
            ("image/webp", b"RIFF1234WAVE"),
            ("image/png", b""),
        ] {
            assert!(of(media_type, bytes).is_none(), "{media_type}");
        }
    }

    #[test]
    fn text_that_is_no_base64_is_no_file_and_a_second_name_is_one_too_many() {
        for data in ["aGk", "aGk===", "aG k=", "", "a===", "aGk\u{200b}"] {
            assert!(file(json!({"name": "a", "base64": data}).as_object().unwrap()).is_none(), "{data:?}");
        }
        let both = json!({"name": "a", "filename": "b", "base64": "aGk="});
        assert!(file(both.as_object().unwrap()).is_none());
        let one = json!({"name": "a", "base64": "aGk="});
        assert_eq!(file(one.as_object().unwrap()).map(|file| file.bytes), Some(2));
    }
}
