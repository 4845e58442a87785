//! The words of a tool's own name: `mcp__files__deleteFile` is `delete`, `file`.

use crate::glob::Name;

/// Most words that are read as one: `d_e_l_e_t_e` is `delete`.
const TOGETHER: usize = 12;

/// The words of a name, in lower case, written together, and where each begins.
#[derive(Debug)]
pub(crate) struct Words {
    letters: String,
    /// With the end of the last one.
    starts: Vec<usize>,
}

impl Words {
    /// The words of a tool's name without its server.
    pub(crate) fn of_tool(tool: &str) -> Self {
        let own =
            tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map_or(tool, |(_, own)| own);
        Self::of(own.rsplit(['/', ':']).next().unwrap_or(own))
    }

    /// The words of any name. A word ends at a sign, before an upper-case letter that begins one, and at a number.
    pub(crate) fn of(name: &str) -> Self {
        let (mut letters, mut starts) = (String::new(), Vec::new());
        let mut before = Kind::Sign;
        let mut rest = name.chars().peekable();
        while let Some(letter) = rest.next() {
            let kind = Kind::of(letter);
            let begins = match (before, kind) {
                (_, Kind::Sign) | (Kind::Upper, Kind::Lower) => false,
                (Kind::Upper, Kind::Upper) => rest.peek().is_some_and(|next| Kind::of(*next) == Kind::Lower),
                (before, kind) => before != kind,
            };
            if begins {
                starts.push(letters.len());
            }
            if kind != Kind::Sign {
                letters.push(letter.to_ascii_lowercase());
            }
            before = kind;
        }
        starts.push(letters.len());
        Self { letters, starts }
    }

    /// All of them, written together.
    pub(crate) fn together(&self) -> &str {
        &self.letters
    }

    fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// So many words from one of them on, written together.
    fn run(&self, from: usize, count: usize) -> Option<&str> {
        self.letters.get(*self.starts.get(from)?..*self.starts.get(from.saturating_add(count))?)
    }

    pub(crate) fn first(&self) -> Option<&str> {
        self.run(0, 1)
    }

    pub(crate) fn last(&self) -> Option<&str> {
        self.run(self.count().checked_sub(1)?, 1)
    }

    /// Whether one of its words is one of these.
    pub(crate) fn any_of(&self, words: &[&str]) -> bool {
        (0..self.count()).filter_map(|at| self.run(at, 1)).any(|word| words.contains(&word))
    }

    /// Whether the first word is one of these.
    pub(crate) fn begins(&self, names: &[Name]) -> bool {
        self.first().is_some_and(|word| names.iter().any(|name| name.matches(word)))
    }

    /// Whether one of these is among its words, or several words written together. What begins with a star may begin in
    /// the middle of a single word.
    pub(crate) fn has(&self, names: &[Name]) -> bool {
        let anchored: Vec<Option<Name>> = names
            .iter()
            .map(|name| name.text().strip_prefix('*').and_then(|rest| Name::read(rest).ok()))
            .collect();
        (0..self.count()).any(|from| {
            let single = self.run(from, 1);
            let runs = (1..=TOGETHER).map_while(|count| self.run(from, count));
            let mut runs = runs.collect::<Vec<_>>().into_iter();
            single.is_some_and(|word| names.iter().any(|name| name.matches(word)))
                || runs.any(|run| {
                    names.iter().zip(&anchored).any(|(name, anchored)| match anchored {
                        Some(anchored) => anchored.matches(run),
                        None => name.matches(run),
                    })
                })
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    Sign,
}

impl Kind {
    const fn of(letter: char) -> Self {
        match letter {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            _ => Self::Sign,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(tool: &str) -> Vec<String> {
        let words = Words::of_tool(tool);
        (0..words.count()).filter_map(|at| words.run(at, 1)).map(str::to_owned).collect()
    }

    fn names(list: &[&str]) -> Vec<Name> {
        list.iter().map(|name| Name::read(name).unwrap()).collect()
    }

    #[test]
    fn names_are_taken_apart_at_every_habit_of_writing_them() {
        for tool in [
            "get_user",
            "get-user",
            "getUser",
            "GetUser",
            "GET_USER",
            "x/get.user",
            "mcp__a__getUser",
            "a:b/get_user",
        ] {
            assert_eq!(words(tool), ["get", "user"], "{tool}");
        }
        assert_eq!(words("getURLDrop"), ["get", "url", "drop"]);
        assert_eq!(words("list2drop"), ["list", "2", "drop"]);
        assert_eq!(words("mcp__a__b__get"), ["b", "get"]);
        assert_eq!(words("__"), [""; 0]);
        assert_eq!(words(""), [""; 0]);
    }

    #[test]
    fn a_word_is_found_whole_and_also_where_it_is_torn_apart() {
        let drop = names(&["drop", "rid"]);
        for tool in
            ["drop", "get_and_drop", "getAndDrop", "list-then-DROP", "get_dRoP", "get_d_r_o_p", "get_rid_of"]
        {
            assert!(Words::of_tool(tool).has(&drop), "{tool}");
        }
        for tool in ["dropbox", "get_raindrops", "list_backdrops", "drop/get", "get_grid", "getRidge"] {
            assert!(!Words::of_tool(tool).has(&drop), "{tool}");
        }
        let remove = names(&["*remove*"]);
        for tool in ["get_removed", "getReMove", "get_autoremove", "re_move_it"] {
            assert!(Words::of_tool(tool).has(&remove), "{tool}");
        }
        assert!(!Words::of_tool("list_store_movements").has(&remove), "not across two words");
    }

    #[test]
    fn only_the_first_word_begins_a_name() {
        let get = names(&["get"]);
        assert!(Words::of_tool("srv/getUser").begins(&get) && Words::of_tool("GET").begins(&get));
        for tool in ["getaway", "gets_user", "user_get", "srv.get", "forget_it", ""] {
            assert!(!Words::of_tool(tool).begins(&get), "{tool}");
        }
    }
}
