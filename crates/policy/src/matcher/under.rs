//! Paths below a folder, compared segment by segment; a path that could mean another place is an error.

use crate::{
    WORKSPACE,
    work::{Trouble, WorkBudget},
};

/// Folders, each as its segments.
#[derive(Debug)]
pub(crate) struct Roots {
    folders: Vec<Vec<Box<str>>>,
    any_case: bool,
    /// Also the folders of the agent that calls.
    workspace: bool,
}

/// Longest path, in bytes: what Linux takes.
const LONGEST: usize = 4096;

/// Characters that some program, somewhere, reads as a separator or as a dot.
const LOOKALIKES: [char; 10] = [
    '\u{ff0f}', '\u{2215}', '\u{2044}', '\u{29f8}', '\u{ff3c}', '\u{ff0e}', '\u{2024}', '\u{2025}',
    '\u{2026}', '\u{fe52}',
];

impl Roots {
    /// `any_case`: in a rule that restricts, `/ETC` counts as `/etc`, for the sake of file systems on which it is.
    pub(crate) fn new<'t>(
        roots: impl Iterator<Item = &'t str>,
        any_case: bool,
    ) -> Result<Self, &'static str> {
        let mut workspace = false;
        let folders = roots
            .filter(|root| {
                workspace |= *root == WORKSPACE;
                *root != WORKSPACE
            })
            .map(|root| {
                check(root)?;
                Ok(split(root).map(Into::into).collect())
            })
            .collect::<Result<Vec<_>, &'static str>>()?;
        Ok(Self { folders, any_case, workspace })
    }

    pub(crate) fn hold(&self, path: &str, work: &WorkBudget<'_>) -> Result<bool, Trouble> {
        work.spend(
            path.len().min(LONGEST).saturating_mul(4).saturating_add(self.folders.len().saturating_mul(20)),
        )?;
        let listed = || {
            check(path).map_err(Trouble::Doubtful)?;
            Ok(self.folders.iter().any(|root| {
                let mut path = split(path);
                root.iter().all(|wanted| {
                    path.next().is_some_and(|is| {
                        if self.any_case { is.eq_ignore_ascii_case(wanted) } else { is == &**wanted }
                    })
                })
            }))
        };
        if !self.workspace {
            return listed();
        }
        let inside = work.place().ok_or(Trouble::Unplaced).and_then(|place| place.holds(path, work));
        // What lies in one of the other folders needs nobody to resolve it.
        if inside == Ok(true) || self.folders.is_empty() || listed() != Ok(true) { inside } else { Ok(true) }
    }
}

fn split(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty() && *segment != ".")
}

/// Whether a path is absolute and means the same everywhere, or why it does not.
fn check(path: &str) -> Result<(), &'static str> {
    if path.len() > LONGEST {
        return Err("the path is longer than any system takes");
    }
    if !path.starts_with('/') {
        return Err("the path is not absolute");
    }
    if path.starts_with("//") {
        return Err("the path starts with two slashes");
    }
    let mut before = [0_u8; 2];
    for byte in path.bytes() {
        match byte {
            b'\\' => return Err("the path holds a backslash"),
            b'$' | b'`' | b'{' | b'}' => {
                return Err("the path holds `$`, a backtick or braces, which a shell would expand");
            }
            b'~' if before[1] == b'/' => return Err("the path holds `~` at the start of a segment"),
            byte if byte.is_ascii_control() => return Err("the path holds a control character"),
            byte if before[0] == b'%' && before[1].is_ascii_hexdigit() && byte.is_ascii_hexdigit() => {
                return Err("the path holds a percent escape");
            }
            _ => {}
        }
        before = [before[1], byte];
    }
    if !path.is_ascii()
        && path.chars().any(|letter| {
            letter.is_control() || LOOKALIKES.contains(&letter) || (!letter.is_ascii() && invisible(letter))
        })
    {
        return Err("the path holds a control, invisible or look-alike character");
    }
    for segment in path.split('/') {
        if segment == ".." {
            return Err("the path holds `..`");
        }
        // Windows drops trailing dots and spaces, which can turn a harmless segment into `..`.
        if segment.len() > 1
            && segment.ends_with(['.', ' '])
            && segment.trim_end_matches(['.', ' ']).is_empty()
        {
            return Err("the path holds a segment of dots and spaces");
        }
    }
    Ok(())
}

/// Characters without a picture of their own: zero-width, direction-changing, tags, variation selectors.
fn invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        || (letter.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn under(root: &str, path: &str) -> Result<bool, Trouble> {
        Roots::new([root].into_iter(), false).unwrap().hold(path, &WorkBudget::new())
    }

    #[test]
    fn whole_segments_are_compared() {
        assert_eq!(under("/srv/app", "/srv/app"), Ok(true));
        assert_eq!(under("/srv/app", "/srv/app/x.txt"), Ok(true));
        assert_eq!(under("/srv/app/", "/srv//app/./x"), Ok(true));
        assert_eq!(under("/srv/app", "/srv/application"), Ok(false));
        assert_eq!(under("/srv/app", "/srv"), Ok(false));
        assert_eq!(under("/srv/app", "/SRV/app"), Ok(false));
        assert_eq!(under("/", "/etc/passwd"), Ok(true));
        assert_eq!(under("/srv", "/srv/a~b/file~ (1).txt"), Ok(true));
        assert_eq!(under("/srv", "/srv/[id]/größe.rs"), Ok(true));
    }

    #[test]
    fn no_path_trick_is_under_anything() {
        for path in [
            "/srv/app/../../etc/passwd",
            "/srv/app/..",
            "/srv/app/%2e%2e/x",
            "/srv/app/%2E./x",
            "/srv/app/..\\x",
            "\\srv\\app",
            "/srv/app/$HOME",
            "/srv/app/${x}",
            "/srv/app/`id`",
            "/srv/app/~root/x",
            "~/x",
            "srv/app",
            "./srv/app",
            "",
            ".",
            "/srv/app/\0x",
            "/srv/app/x\n",
            "//srv/app/x",
            "C:/srv/app",
            "file:///srv/app",
            "/srv/app/\u{ff0e}\u{ff0e}/x",
            "/srv/app\u{2215}..\u{2215}x",
            "/srv/app/\u{2025}/x",
            "/srv/app/.\u{200b}./x",
            "/srv/app/.. /x",
            "/srv/app/.../x",
            "/srv/app/. ./x",
            "/srv/app/{.,}{.,}/x",
            "/srv/app/%5c..%5cx",
            "/srv/app/%252e%252e/x",
            " /srv/app/x",
            "\u{feff}/srv/app/x",
            "/srv/app/\u{202e}x",
            "/srv/app/..;/x/../../..",
            "/srv/app/\u{e002e}/x",
            "/srv/app/.\u{ad}./x",
            &format!("/srv/app/{}", "x".repeat(5_000)),
        ] {
            let said = under("/srv/app", path);
            assert!(said.is_err(), "{path:?} gave {said:?}");
        }
    }

    #[test]
    fn the_error_says_what_is_doubtful_about_a_path() {
        for (path, why) in [
            ("/srv/../x", "`..`"),
            ("/srv/~x", "`~`"),
            ("/srv/%41", "percent"),
            ("/srv/.. /x", "dots and spaces"),
            ("srv", "absolute"),
        ] {
            assert!(under("/srv", path).unwrap_err().to_string().contains(why), "{path}");
        }
    }

    #[test]
    fn where_it_restricts_upper_and_lower_case_are_one() {
        let etc = Roots::new(["/etc"].into_iter(), true).unwrap();
        assert_eq!(etc.hold("/ETC/passwd", &WorkBudget::new()), Ok(true));
        assert_eq!(etc.hold("/etcetera", &WorkBudget::new()), Ok(false));
    }

    #[test]
    fn a_doubtful_root_is_refused() {
        for root in ["srv", "/srv/..", "~", "/a$b"] {
            assert!(Roots::new([root].into_iter(), false).is_err(), "{root}");
        }
    }

    #[test]
    fn a_path_may_have_4096_bytes() {
        let roots = Roots::new(["/a"].into_iter(), false).unwrap();
        let path = |length: usize| format!("/a/{}", "x".repeat(length - 3));
        assert_eq!(roots.hold(&path(LONGEST), &WorkBudget::new()), Ok(true));
        assert!(roots.hold(&path(LONGEST + 1), &WorkBudget::new()).is_err());
    }
}
