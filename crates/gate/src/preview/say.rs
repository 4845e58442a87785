//! Sentences from templates: `delete {resource} {name}[ in the namespace {namespace}]`.
//!
//! `{slot}` is a value that must be there. `{?slot}` says nothing and must be set, `{!slot}` must not be set. A part in
//! `[ ]` is left out if one of its slots does not fit.

use super::text::{middle, quoted};

/// The longest value in a sentence.
const VALUE: usize = 60;

/// Fills a template; none if a slot outside of `[ ]` does not fit.
pub(super) fn fill(template: &str, look: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '[']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(inside) = from.strip_prefix('[') {
            let (part, after) = inside.split_once(']')?;
            if let Some(part) = fill(part, look) {
                out.push_str(&part);
            }
            rest = after;
        } else {
            let (slot, after) = from.get(1..)?.split_once('}')?;
            if let Some(slot) = slot.strip_prefix('?') {
                look(slot)?;
            } else if let Some(slot) = slot.strip_prefix('!') {
                if look(slot).is_some() {
                    return None;
                }
            } else {
                out.push_str(&look(slot)?);
            }
            rest = after;
        }
    }
    out.push_str(rest);
    Some(out)
}

/// The slots of a template, with their signs.
pub(super) fn slots(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(slot, _)| slot))
}

/// Values of a list, as many as fit: `a`, `a and b`, `a, b and 3 more`.
pub(super) fn listed<S: AsRef<str>>(values: &[S], room: usize) -> String {
    let one = |text: &S| word(text.as_ref());
    let (mut out, total) = (String::new(), values.len());
    for (index, text) in values.iter().enumerate() {
        let drawn = one(text);
        let left = total.saturating_sub(index);
        let length = out.chars().count().saturating_add(drawn.chars().count());
        // A last one that is as short as the count of what is left can always be named.
        if index > 0 && length.saturating_add(5) > room {
            return format!("{out} and {left} more");
        }
        out.push_str(match index {
            0 => "",
            _ if left == 1 => " and ",
            _ => ", ",
        });
        out.push_str(&drawn);
    }
    out
}

/// One value, cut in its middle, in quotes where it could be read as part of the sentence.
pub(super) fn word(text: &str) -> String {
    let drawn = middle(text, VALUE);
    if is_plain(&drawn) { drawn } else { quoted(&drawn) }
}

/// Whether drawn text cannot be mistaken for words of the sentence around it.
pub(super) fn is_plain(drawn: &str) -> bool {
    const JOINING: &[&str] = &[
        "a", "all", "and", "as", "at", "by", "every", "for", "from", "if", "in", "into", "is", "more", "of",
        "on", "or", "run", "so", "the", "then", "to", "with", "without",
    ];
    !drawn.is_empty()
        && drawn.trim() == drawn
        && !drawn.contains("  ")
        && !drawn.contains(": ")
        && !drawn.ends_with([':', '.'])
        && !drawn.contains([',', ';', '"', '(', ')', '[', ']', '{', '}'])
        && (!drawn.contains(' ')
            || !drawn.split(' ').any(|word| JOINING.iter().any(|joining| joining.eq_ignore_ascii_case(word))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> Option<String> {
        fill(template, &|slot: &str| match slot {
            "a" => Some("one".to_owned()),
            "b" => Some("two".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_template_is_filled_and_parts_that_do_not_fit_are_left_out() {
        for (template, expected) in [
            ("say {a} to {b}", Some("say one to two")),
            ("say {a}[ to {c}]", Some("say one")),
            ("say {a}[ to {b}][ as {c}]", Some("say one to two")),
            ("say {c}", None),
            ("{?a}say it", Some("say it")),
            ("{?c}say it", None),
            ("{!c}say it", Some("say it")),
            ("{!a}say it", None),
            ("say it[{?a}, loudly][{?c}, softly]", Some("say it, loudly")),
        ] {
            assert_eq!(filled(template).as_deref(), expected, "{template}");
        }
        assert_eq!(slots("{?a}say {b}[ to {c|d}]").collect::<Vec<_>>(), ["?a", "b", "c|d"]);
    }

    #[test]
    fn a_list_names_what_fits_and_counts_the_rest() {
        assert_eq!(listed(&["a"], 50), "a");
        assert_eq!(listed(&["a", "b"], 50), "a and b");
        assert_eq!(listed(&["a", "b", "c"], 50), "a, b and c");
        assert_eq!(listed(&["a and b", "c"], 50), "\"a and b\" and c");
        let many = vec!["abcdefgh"; 30];
        assert_eq!(listed(&many, 40), "abcdefgh, abcdefgh, abcdefgh and 27 more");
    }
}
