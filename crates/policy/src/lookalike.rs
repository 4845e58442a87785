//! Names that some file system takes for another one: letters that fold to plain ones, signs that do not count, short names.

use std::borrow::Cow;

use crate::shell::{is_invisible, lower};

/// The text in lower case, as a file system that ignores case and invisible signs compares it.
pub(crate) fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return lower(text);
    }
    let mut out = String::with_capacity(text.len());
    for sign in text.chars().filter(|sign| !is_invisible(*sign)) {
        match sign {
            // The only letters beside ASCII that fold to ASCII.
            '\u{17f}' => out.push('s'),
            '\u{212a}' => out.push('k'),
            '\u{df}' | '\u{1e9e}' => out.push_str("ss"),
            '\u{fb00}' => out.push_str("ff"),
            '\u{fb01}' => out.push_str("fi"),
            '\u{fb02}' => out.push_str("fl"),
            '\u{fb03}' => out.push_str("ffi"),
            '\u{fb04}' => out.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => out.push_str("st"),
            // Full width.
            '\u{ff01}'..='\u{ff5e}' => {
                let plain = u32::from(sign).saturating_sub(0xfee0);
                out.extend(char::from_u32(plain).map(|plain| plain.to_ascii_lowercase()));
            }
            sign => out.push(sign.to_ascii_lowercase()),
        }
    }
    Cow::Owned(out)
}

/// Whether a name such as `git~1` is what Windows calls the other one for old programs.
pub(crate) fn is_short_for(short: &str, name: &str) -> bool {
    let Some((stem, rest)) = short.split_once('~') else { return false };
    let (number, end) = rest.split_once('.').unwrap_or((rest, ""));
    let name = name.trim_start_matches('.');
    let (base, whole_end) = name.rsplit_once('.').unwrap_or((name, ""));
    let base: String = base.chars().filter(|sign| *sign != '.').take(6).collect();
    let is_number = !number.is_empty() && number.bytes().all(|sign| sign.is_ascii_digit());
    is_number && !stem.is_empty() && stem == base && whole_end.chars().take(3).eq(end.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_some_file_system_takes_for_others_are_those() {
        for name in [".GIT", ".g\u{200c}it", "\u{feff}.git", "\u{ff0e}git"] {
            assert_eq!(folded(name), ".git", "{name:?}");
        }
        assert_eq!(folded(".\u{17f}\u{17f}h"), ".ssh");
        assert_eq!(folded(".\u{df}h"), ".ssh");
        assert_eq!(folded("Ma\u{212a}eﬁle"), "makefile");
        assert_eq!(folded(".gıt"), ".gıt");
    }

    #[test]
    fn short_names_are_those_of_their_files() {
        for (short, name) in [
            ("git~1", ".git"),
            ("env~2", ".env"),
            ("gitatt~1", ".gitattributes"),
            ("env~1.loc", ".env.local"),
        ] {
            assert!(is_short_for(short, name), "{short} {name}");
        }
        for (short, name) in [
            ("head~1", ".git"),
            ("git", ".git"),
            ("git~", ".git"),
            ("git~x", ".git"),
            ("gi~1", ".git"),
            ("env~1", ".env.local"),
        ] {
            assert!(!is_short_for(short, name), "{short} {name}");
        }
    }
}
