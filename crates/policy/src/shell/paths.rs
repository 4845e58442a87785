//! Which paths and words a pattern accepts: exact comparison of normalised segments and of simple globs.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// A rule for operands and redirection targets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PathRule {
    /// Nothing is accepted.
    #[default]
    None,
    /// Every literal word is accepted.
    Any,
    /// A path below one of the roots, or a word like one of the globs.
    Listed {
        /// Absolute roots take absolute paths, relative roots (`.`, `src`) take relative ones.
        under: Vec<Root>,
        /// `*` stands for any run of characters, `?` for one.
        like: Vec<Glob>,
    },
}

/// The normalised segments of a root directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    absolute: bool,
    segments: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawListed {
    #[serde(default)]
    under: Vec<String>,
    #[serde(default)]
    like: Vec<String>,
}

// By hand, because the derived reader of such types cannot say what was wrong.
impl<'de> Deserialize<'de> for PathRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rule;
        impl<'de> Visitor<'de> for Rule {
            type Value = PathRule;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(
                    "a path rule: \"none\", \"any\", { under = [\"/srv\"] } or { like = [\"*.rs\"] }",
                )
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<PathRule, E> {
                match word {
                    "none" => Ok(PathRule::None),
                    "any" => Ok(PathRule::Any),
                    _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PathRule, A::Error> {
                let listed = RawListed::deserialize(MapAccessDeserializer::new(map))?;
                PathRule::listed(&listed.under, &listed.like).map_err(serde::de::Error::custom)
            }
        }
        deserializer.deserialize_any(Rule)
    }
}

impl PathRule {
    fn listed(under: &[String], like: &[String]) -> Result<Self, String> {
        if under.is_empty() && like.is_empty() {
            return Err("a path rule without `under` and `like` accepts nothing; write \"none\"".to_owned());
        }
        if let Some(bad) = like.iter().find(|glob| glob.is_empty() || glob.len() > 256) {
            return Err(format!("`like` has a glob that is empty or over 256 bytes: `{bad}`"));
        }
        if under.iter().any(|root| root.starts_with('@')) {
            return Err("`@workspace` is about the whole call; write `under = \"@workspace\"` beside `tool`, not in a shell pattern".to_owned());
        }
        let root = |text: &String| {
            normalised(text).ok_or_else(|| {
                format!(
                    "`under` has `{text}`, which is not a plain path; write it without `..`, `~`, `$`, `%` and backslashes"
                )
            })
        };
        Ok(Self::Listed {
            under: under.iter().map(root).collect::<Result<_, _>>()?,
            like: like.iter().map(|glob| Glob::new(glob)).collect(),
        })
    }

    /// Whether a literal word fits.
    pub fn accepts(&self, word: &str) -> bool {
        match self {
            Self::None => false,
            Self::Any => true,
            Self::Listed { under, like } => {
                if word.split(['/', '\\']).any(|segment| segment == "..") {
                    return false;
                }
                let path = normalised(word);
                path.is_some_and(|path| under.iter().any(|root| root.holds(&path)))
                    || like.iter().any(|glob| glob.matches(word))
            }
        }
    }
}

impl Root {
    fn holds(&self, path: &Self) -> bool {
        self.absolute == path.absolute && path.segments.starts_with(&self.segments)
    }
}

/// The segments of a path, or nothing if a program could take it for another path than it seems to be.
fn normalised(path: &str) -> Option<Root> {
    if path.is_empty() || path.starts_with('~') || path.contains(['\\', '$', '%', '\n', '\0']) {
        return None;
    }
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => return None,
            name => segments.push(name.to_owned()),
        }
    }
    Some(Root { absolute: path.starts_with('/'), segments })
}

/// A glob, sorted by what it takes to compare it: most are a plain word or have one star at an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Glob {
    /// Without wildcards.
    Exact(String),
    /// `word*`
    Prefix(String),
    /// `*word`
    Suffix(String),
    /// Anything else: `*` any run of characters, `?` exactly one.
    Full(String),
}

impl Glob {
    pub(crate) fn new(text: &str) -> Self {
        let plain = |text: &str| !text.contains(['*', '?']);
        match (text.strip_suffix('*'), text.strip_prefix('*')) {
            _ if plain(text) => Self::Exact(text.to_owned()),
            (Some(start), _) if plain(start) => Self::Prefix(start.to_owned()),
            (_, Some(end)) if plain(end) => Self::Suffix(end.to_owned()),
            _ => Self::Full(text.to_owned()),
        }
    }

    /// The letters that every match begins with.
    pub(super) fn start(&self) -> &str {
        match self {
            Self::Exact(start) | Self::Prefix(start) => start,
            Self::Suffix(_) => "",
            Self::Full(glob) => glob.split(['*', '?']).next().unwrap_or_default(),
        }
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(word) => word == text,
            Self::Prefix(start) => text.starts_with(start.as_str()),
            Self::Suffix(end) => text.ends_with(end.as_str()),
            Self::Full(glob) => glob_matches(glob, text),
        }
    }
}

/// `*` any run of characters, `?` exactly one; linear in practice, at worst the product of both lengths.
pub(super) fn glob_matches(glob: &str, text: &str) -> bool {
    let mut glob_rest = glob.chars();
    let mut text_rest = text.chars();
    let mut retry: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let mut glob_next = glob_rest.clone();
        let mut text_next = text_rest.clone();
        match (glob_next.next(), text_next.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                glob_rest = glob_next;
                retry = Some((glob_rest.clone(), text_rest.clone()));
                continue;
            }
            (Some('?'), Some(_)) => {
                glob_rest = glob_next;
                text_rest = text_next;
                continue;
            }
            (Some(g), Some(t)) if g == t => {
                glob_rest = glob_next;
                text_rest = text_next;
                continue;
            }
            _ => {}
        }
        // A dead end: let the last star take one character more.
        let Some((after_star, mut from)) = retry.take() else { return false };
        if from.next().is_none() {
            return false;
        }
        glob_rest = after_star.clone();
        text_rest = from.clone();
        retry = Some((after_star, from));
    }
}
