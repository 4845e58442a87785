//! Words that mix scripts: a Cyrillic `а` among Latin letters looks Latin, but is another letter.

/// The script of a letter, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    /// A letter that can be mistaken for a Latin one.
    Alike,
    Other,
}

fn script(letter: char) -> Script {
    match u32::from(letter) {
        0x41..=0x5a | 0x61..=0x7a | 0xaa | 0xba | 0xc0..=0x24f | 0x1e00..=0x1eff => Script::Latin,
        0x250..=0x2af // phonetic letters
        | 0x370..=0x3ff | 0x1f00..=0x1fff // Greek
        | 0x400..=0x52f | 0x1c80..=0x1c8f | 0x2de0..=0x2dff | 0xa640..=0xa69f // Cyrillic
        | 0x531..=0x58f // Armenian
        | 0x13a0..=0x13ff | 0xab70..=0xabbf // Cherokee
        | 0xa4d0..=0xa4ff // Lisu
        | 0x2c80..=0x2cff // Coptic
        | 0x2100..=0x214f | 0x2160..=0x2188 // letter-like signs, Roman numbers
        | 0x24b6..=0x24e9 // letters in circles
        | 0xff21..=0xff3a | 0xff41..=0xff5a // wide letters
        | 0x1_d400..=0x1_d7ff // mathematical letters
        | 0x1_f130..=0x1_f149 => Script::Alike,
        _ => Script::Other,
    }
}

/// Letters that cannot be told from Latin ones by their shape.
const TWINS: &str = "аеорсухіјѕһԁӏԛԝАВЕКМНОРСТУХІЈЅԌԚԜοναρικΑΒΕΖΗΙΚΜΝΟΡΤΥΧ";

/// The Latin letters that those look like, in the same order.
const LATIN: &str = "aeopcyxijshdlqwabekmhopctyxijsgqwovapikabezhikmnoptyx";

/// Words of two or more letters that consist only of look-alikes, each with the Latin word that it looks like.
pub(super) fn twins(text: &str) -> impl Iterator<Item = (&str, String)> {
    let words = if text.is_ascii() { "" } else { text }.split(|letter: char| !letter.is_alphanumeric());
    words.filter_map(|word| {
        let latin = |letter: char| TWINS.chars().zip(LATIN.chars()).find(|(twin, _)| *twin == letter);
        let alike: Option<String> =
            word.chars().map(|letter| latin(letter).map(|(_, alike)| alike)).collect();
        alike.filter(|alike| alike.len() >= 2).map(|alike| (word, alike))
    })
}

/// The first character that is drawn over the one before it, or over something that is no letter.
pub(super) fn overlay(text: &str) -> Option<char> {
    if text.is_ascii() {
        return None;
    }
    let combines = |code: u32| matches!(code, 0x300..=0x36f | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe20..=0xfe2f);
    let (mut before, mut row) = (' ', 0_u32);
    for letter in text.chars() {
        let code = u32::from(letter);
        row = if combines(code) { row.saturating_add(1) } else { 0 };
        let strikes = matches!(code, 0x334..=0x338 | 0x20d2 | 0x20d3 | 0x20d8..=0x20e0 | 0x20e2..=0x20eb);
        let base = u32::from(before);
        if strikes || row > 2 || (row == 1 && !before.is_alphabetic() && !combines(base)) {
            // The sign that makes an emoji of a digit stands after one.
            let keycap = code == 0x20e3 && (before.is_ascii_digit() || before == '\u{fe0f}');
            if !keycap {
                return Some(letter);
            }
        }
        before = letter;
    }
    None
}

/// The first word that mixes Latin letters with look-alikes.
pub(super) fn mixed(text: &str) -> Option<&str> {
    // Nearly all of what agents write.
    if text.is_ascii() {
        return None;
    }
    let joins = |letter: char| letter.is_alphanumeric() || "._-@/:".contains(letter);
    text.split(|letter: char| !joins(letter)).find(|chunk| !chunk.is_ascii() && imitates(chunk))
}

/// A chunk such as `pay_now` or `mail.example.com`: one of its words mixes scripts, or consists only of look-alikes
/// beside Latin words.
fn imitates(chunk: &str) -> bool {
    let mut latin_word = false;
    let mut twin_word = false;
    for word in chunk.split(|letter: char| !letter.is_alphanumeric()) {
        let mut letters = 0;
        let (mut latin, mut alike, mut twins) = (false, false, true);
        for letter in word.chars().filter(|letter| letter.is_alphabetic()) {
            letters += 1;
            latin |= script(letter) == Script::Latin;
            alike |= script(letter) == Script::Alike;
            twins &= TWINS.contains(letter);
        }
        // Units of measure: μs, μm, Ωm.
        let unit = letters <= 3 && word.starts_with(['μ', 'Ω', 'Ω', 'Å']);
        if latin && alike && !unit {
            return true;
        }
        latin_word |= latin;
        twin_word |= letters >= 2 && twins;
    }
    latin_word && twin_word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_letters_beside_their_twins_are_found() {
        for text in [
            "pаypal",             // Cyrillic a
            "send to раypal.com", // Cyrillic p and a
            "аррӏе.com",          // all Cyrillic, under a Latin domain
            "ann@ехаmple.com",
            "αdmin",
            "ｒm",
            "ｄelete",
            "𝐫m",
            "deletе_user",
            "/home/аnn/x",
        ] {
            assert!(mixed(text).is_some(), "{text}");
        }
        assert_eq!(mixed("ok pаypal no"), Some("pаypal"));
    }

    #[test]
    fn words_of_nothing_but_twins_are_found_with_what_they_look_like() {
        assert_eq!(TWINS.chars().count(), LATIN.chars().count());
        assert_eq!(
            twins("сс: раура").collect::<Vec<_>>(),
            [("сс", "cc".to_owned()), ("раура", "paypa".to_owned())]
        );
        assert_eq!(twins("привет, cc").count(), 0);
    }

    #[test]
    fn signs_that_are_drawn_over_others_are_found() {
        for text in
            ["a\u{338}b", "1\u{335}000", "=\u{338}", "\u{301}x", "e\u{301}\u{302}\u{303}", "x\u{20dd}"]
        {
            assert!(overlay(text).is_some(), "{text:?}");
        }
        for text in ["cafe\u{301}", "n\u{303}", "Việt Nam", "plain"] {
            assert_eq!(overlay(text), None, "{text:?}");
        }
    }

    #[test]
    fn ordinary_text_of_any_script_is_left_alone() {
        for text in [
            "grün und weiß",
            "файл.txt",
            "привет world",
            "Αθήνα",
            "漢字 and kana カナ",
            "5 μs, 3 μm",
            "naïve café",
            "отчёт_2026.pdf",
            "",
        ] {
            assert_eq!(mixed(text), None, "{text}");
        }
    }
}
