//! What a message says about requests that wait: their cards as text, within a bound. What is not in it is counted.

use placet_core::{Card, Request, State as Life, Time, counted, show};

/// Most that all cards of one message have, in bytes.
const BYTES: usize = 16 * 1024;
/// Most that one card has.
const EACH: usize = 4 * 1024;
/// Least that one card has: its sentence fits.
const LEAST: usize = 300;
/// Most lines of one card.
const LINES: usize = 80;

/// Makes the card of a request.
pub(super) type Cards<'a> = &'a (dyn Fn(&Request) -> Option<Card> + Sync);

/// What waits for people, as text: a card for each.
pub(super) fn told<'a>(requests: impl Iterator<Item = &'a Request>, cards: Cards<'_>, now: Time) -> String {
    let waiting: Vec<&Request> = requests.filter(|request| request.state_at(now) == Life::Pending).collect();
    let each = (BYTES / waiting.len().max(1)).clamp(LEAST, EACH);
    let told = waiting.iter().map(|request| {
        let replaced_by = request.proposal.as_ref().map(|proposal| proposal.by.as_str());
        one(&format!("/r/{}", request.id), replaced_by, cards(request).as_ref(), each)
    });
    told.collect::<Vec<_>>().join("\n\n")
}

fn one(place: &str, replaced_by: Option<&str>, card: Option<&Card>, bytes: usize) -> String {
    let Some(card) = card else {
        return format!("What was asked cannot be shown: look at {place}");
    };
    let before = replaced_by.map_or_else(String::new, |by| {
        format!("{} put this in place of what was asked: a yes is a yes to this.\n", show(by))
    });
    let (text, left) = card.outline(&|_| None).plain(LINES, bytes);
    let after = match left {
        0 => String::new(),
        left => {
            let values = counted(u64::from(left), "value is", "values are");
            format!("\n! {values} not in this message: look at {place} before you decide.")
        }
    };
    format!("{before}{text}{after}")
}

#[cfg(test)]
mod tests {
    use placet_core::{CardSection, DisplayField, SectionBody};

    use super::*;

    fn card(values: usize) -> Card {
        let field = |at: usize| DisplayField {
            pointer: format!("/arguments/{at}"),
            text: "\"x\"".to_owned(),
            keys: Vec::new(),
        };
        Card {
            sentence: "Call pay: 5 EUR, ACME".to_owned(),
            digest: format!("sha256:{}", "a".repeat(64)).parse().expect("a digest"),
            sections: vec![CardSection {
                body: SectionBody::Text { text: "one\\n# two".to_owned() },
                title: None,
                step: None,
                pointers: vec!["/arguments/note".to_owned()],
            }],
            rest: (0..values).map(field).collect(),
            flagged: Vec::new(),
            hidden: 0,
        }
    }

    fn text(card: &Card, bytes: usize) -> String {
        one("/r/req_1", None, Some(card), bytes)
    }

    #[test]
    fn a_message_has_the_sentence_and_every_value_of_a_small_card() {
        let text = text(&card(1), EACH);
        let expected = "Call pay: 5 EUR, ACME\n# Text\n  at: /arguments/note\n  | one\n  | # two\n# Everything else\n  /arguments/0: \"x\"";
        assert_eq!(text, expected);
        let replaced = one("/r/req_1", Some("bob"), Some(&card(1)), EACH);
        assert!(replaced.starts_with("bob put this in place of what was asked"), "{replaced}");
        assert!(one("/r/req_1", None, None, EACH).contains("/r/req_1"));
    }

    #[test]
    fn what_is_too_much_for_a_message_is_counted_and_points_to_its_page() {
        for bytes in [LEAST, EACH] {
            let text = text(&card(500), bytes);
            let shown = text.lines().filter(|line| line.starts_with("  /arguments/")).count();
            assert!(shown < 500 && text.len() < bytes + 200, "{text}");
            assert!(
                text.contains(&format!(
                    "! {} values are not in this message: look at /r/req_1 before",
                    500 - shown
                )),
                "{text}"
            );
        }
    }
}
