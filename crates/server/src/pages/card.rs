//! The card of a request as HTML: the same lines as everywhere, and pictures.

use maud::{Markup, html};
use placet_core::{Card, CardSection, LineKind, OutlineLine, SectionBody, counted};
use placet_gate::planted;

/// Types of pictures that a browser draws without running anything.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A drawn card.
pub(super) struct DrawnCard {
    /// What to look at twice. It stands above all else.
    pub(super) flags: Markup,
    /// All sections and everything else.
    pub(super) content: Markup,
    /// Why nothing can be approved from this page: a part of the card is not on it.
    pub(super) refused: Option<String>,
}

/// Draws a card. `look` finds the drawn value of a leaf, for types of section that this version does not know.
pub(super) fn draw(card: &Card, look: &dyn Fn(&str) -> Option<String>) -> DrawnCard {
    let mut outline = card.outline(look);
    if planted("page-drops-a-value") {
        let last = outline.lines.iter().rposition(|line| line.leaves > 0);
        outline.lines.truncate(last.unwrap_or_default());
    }
    let mut blocks = outline.lines.chunk_by(|_, next| next.kind != LineKind::Heading).peekable();
    let top = blocks.next_if(|block| block.first().is_some_and(|line| line.kind != LineKind::Heading));
    let sections = card.sections.iter().map(Some).chain(std::iter::repeat(None));
    let content = html! {
        @for (block, section) in blocks.zip(sections) {
            section {
                (lines(block))
                @if let Some(picture) = section.and_then(picture) { (picture) }
            }
        }
        @if card.sections.is_empty() && card.rest.is_empty() { section { p { "It has no values." } } }
    };
    let pictures = card.sections.iter().filter(|section| picture(section).is_some()).count();
    let undrawn = outline.undrawn.saturating_sub(u32::try_from(pictures).unwrap_or(u32::MAX));
    DrawnCard { flags: flags(top.unwrap_or_default()), content, refused: refused(card.hidden, undrawn) }
}

fn refused(hidden: u32, undrawn: u32) -> Option<String> {
    let (many, place) = match (hidden, undrawn) {
        (0, 0) => return None,
        (0, undrawn) => (undrawn, "on this page"),
        (hidden, _) => (hidden, "on its card"),
    };
    let values = counted(u64::from(many), "value of it is", "values of it are");
    Some(format!("{values} not {place}, so it cannot be approved here."))
}

/// The lines above the first heading, without the sentence, which is the title of the page.
fn flags(top: &[OutlineLine]) -> Markup {
    let careful = |line: &&OutlineLine| matches!(line.kind, LineKind::Flag | LineKind::Warning);
    let rest: Vec<OutlineLine> =
        top.iter().filter(|line| !careful(line) && line.kind != LineKind::Sentence).cloned().collect();
    html! {
        @if !rest.is_empty() { (lines(&rest)) }
        @if top.iter().any(|line| careful(&line)) {
            div.note.warn {
                strong { "Look twice" }
                ul { @for line in top.iter().filter(careful) {
                    li {
                        span.exact { (line.text) }
                        @if !line.label.is_empty() { " (" span.exact { (line.label) } ")" }
                    }
                } }
            }
        }
    }
}

/// Lines of one part. Facts stand in a list, rows of a text in a box.
fn lines(block: &[OutlineLine]) -> Markup {
    let alike = |one: &OutlineLine, next: &OutlineLine| shape(one.kind) == shape(next.kind);
    html! {
        @for run in block.chunk_by(alike) {
            @match run.first().map(|line| shape(line.kind)) {
                Some(Shape::List) => dl {
                    @for line in run { dt.exact { (line.label) } dd.exact { (line.text) } }
                },
                Some(Shape::Box) => pre {
                    @for line in run {
                        span.add[line.kind == LineKind::Added].del[line.kind == LineKind::Removed] {
                            @if !line.label.is_empty() { span.soft { (line.label) } }
                            (line.text)
                        }
                        "\n"
                    }
                },
                Some(Shape::Alone) | None => @for line in run { (alone(line)) },
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum Shape {
    List,
    Box,
    Alone,
}

fn shape(kind: LineKind) -> Shape {
    match kind {
        LineKind::Fact | LineKind::Value => Shape::List,
        kind if kind.is_row() => Shape::Box,
        _ => Shape::Alone,
    }
}

fn alone(line: &OutlineLine) -> Markup {
    html! {
        @match line.kind {
            LineKind::Heading => h3.exact { (line.text) },
            LineKind::Place => p.place.exact { (line.text) },
            LineKind::Warning | LineKind::Flag => div.note.warn.exact { (line.text) },
            LineKind::Note => p.soft { "(" (line.text) ")" },
            _ => p.exact { (line.text) },
        }
    }
}

/// The picture of a section, from the bytes in the arguments. Only Base64 goes into the address, so nothing is loaded.
fn picture(section: &CardSection) -> Option<Markup> {
    let SectionBody::Image { media_type, data, .. } = &section.body else { return None };
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let known = PICTURES.contains(&media_type.as_str()) && data.bytes().all(base64);
    known.then(|| html! { img.picture src=(format!("data:{media_type};base64,{data}")) alt="The picture in the arguments"; })
}

#[cfg(test)]
mod tests {
    use placet_core::{CardFlag, DisplayField};

    use super::*;

    fn card(sections: Vec<CardSection>) -> Card {
        Card {
            sentence: "Send a picture".to_owned(),
            digest: format!("sha256:{}", "a".repeat(64)).parse().expect("a digest"),
            sections,
            rest: vec![DisplayField {
                pointer: "/arguments/to".to_owned(),
                text: "\"<b>ann</b>\"".to_owned(),
                keys: Vec::new(),
            }],
            flagged: vec![CardFlag { pointer: "/arguments/to".to_owned(), why: "Odd.".to_owned() }],
            hidden: 0,
        }
    }

    fn image(media_type: &str, data: &str) -> CardSection {
        let body = SectionBody::Image { media_type: media_type.to_owned(), bytes: 3, data: data.to_owned() };
        CardSection { body, title: None, step: None, pointers: vec!["/arguments/data".to_owned()] }
    }

    #[test]
    fn a_picture_is_drawn_from_its_bytes_and_nothing_else_is_put_into_an_address() {
        let drawn = draw(&card(vec![image("image/png", "iVBO+/==")]), &|_| None);
        let page = drawn.content.into_string();
        assert!(page.contains("src=\"data:image/png;base64,iVBO+/==\""), "{page}");
        assert_eq!(drawn.refused, None);
        for (media_type, data) in [
            ("image/svg+xml", "iVBO"),
            ("text/html", "iVBO"),
            ("image/png", "\" onerror=\"alert(1)"),
            ("image/png", "iVBO&x"),
        ] {
            let drawn = draw(&card(vec![image(media_type, data)]), &|_| None);
            assert!(!drawn.content.into_string().contains("<img"), "{media_type} {data}");
            let why = "1 value of it is not on this page, so it cannot be approved here.";
            assert_eq!(drawn.refused.as_deref(), Some(why));
        }
    }

    #[test]
    fn values_are_text_and_flags_stand_apart() {
        let drawn = draw(&card(Vec::new()), &|_| None);
        let page = drawn.content.into_string();
        let row = "<dt class=\"exact\">/arguments/to</dt><dd class=\"exact\">&quot;&lt;b&gt;ann&lt;/b&gt;&quot;</dd>";
        assert!(page.contains(row), "{page}");
        assert!(drawn.flags.into_string().contains("Odd."));
    }

    #[test]
    fn a_card_that_lacks_values_is_not_approved() {
        let card = Card { hidden: 2, ..card(Vec::new()) };
        let why = draw(&card, &|_| None).refused;
        assert_eq!(
            why.as_deref(),
            Some("2 values of it are not on its card, so it cannot be approved here.")
        );
    }
}
