//! Words that the shell replaces by names of files, such as `src/*.rs`: the few that every shell reads alike, and that can stand for
//! no option, no folder elsewhere and no secret.

use crate::files;

/// What such a word may be made of: nothing that some shell gives a meaning of its own.
pub(super) fn is_plain(c: char) -> bool {
    c == '*' || c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/')
}

/// Whether a star may follow this beginning of a word: a plain folder, and perhaps the beginning of a name. Every name that the shell
/// puts there begins with that folder, and so is never read as an option.
pub(super) fn may_be_wild(beginning: &str) -> bool {
    let Some((folder, name)) = beginning.rsplit_once('/') else { return false };
    beginning.chars().all(is_plain)
        && !beginning.starts_with('-')
        && !folder.contains('*')
        && !folder.split('/').any(|part| part == "..")
        && !name.starts_with('.')
}

/// Whether all names that the word stands for are those of source code, in the one folder that it names. Names of secrets end otherwise.
pub(super) fn is_of_source(word: &str) -> bool {
    let name = word.rsplit_once('/').filter(|(folder, _)| !folder.contains('*')).map(|(_, name)| name);
    let end = name.and_then(|name| name.rsplit_once('.')).map(|(_, end)| end);
    // Two stars mean all folders below to some shells.
    !word.contains("**") && end.is_some_and(files::is_source)
}

#[cfg(test)]
mod tests {
    use crate::shell::lexer::{strict, with_names};

    #[test]
    fn a_star_for_source_code_in_a_plain_folder_is_read() {
        for (text, wild) in [
            ("cat src/*.rs", vec![(0, 1)]),
            ("ls; grep -n x /srv/app/src/a*b*.go ./*_test.go", vec![(1, 3), (1, 4)]),
            ("grep x 'a*' src/*.rs | head -5", vec![(0, 3)]),
            ("cat src/a.rs", vec![]),
        ] {
            assert_eq!(with_names(text).map(|read| read.wild), Ok(wild), "{text}");
        }
    }

    #[test]
    fn every_other_pattern_is_opaque_and_a_literal_reading_knows_none() {
        for text in [
            "cat *.rs",
            "cat src/*",
            "cat src/*.env",
            "cat src/*.txt",
            "cat src/*.pem",
            "cat src/.*.rs",
            "cat src/**.rs",
            "cat src/**/*.rs",
            "cat */a.rs",
            "cat src/*/a.rs",
            "cat src/*.rs/x",
            "cat ../*.rs",
            "cat src/../*.rs",
            "cat src/a..*/b.rs",
            "cat src/?.rs",
            "cat src/[a].rs",
            "cat src/*.{rs,env}",
            "cat src/*.r?",
            "cat src/*'.rs'",
            "cat 's'/*.rs",
            "cat s\\rc/*.rs",
            "cat src/*\\.rs",
            "cat src/*.rs\"\"",
            "cat ~/src/*.rs",
            "cat $HOME/*.rs",
            "cat src/*$X.rs",
            "cat src/*(.).rs",
            "cat src/*~a.rs",
            "cat src/a^b*.rs",
            "cat src/*#.rs",
            "cat -x/*.rs",
            "cat --file=src/*.rs",
            "cat a=src/*.rs",
            "cat HEAD:src/*.rs",
            "src/*.rs",
            "ls; ./*.rs x",
            "cat < src/*.rs",
            "cat x > src/*.rs",
            "cat x 2>> src/*.rs",
            "X=src/*.rs cat x",
        ] {
            assert!(with_names(text).is_err(), "{text}");
            assert!(strict(text).is_err(), "{text}");
        }
        assert!(strict("cat src/*.rs").is_err());
    }
}
