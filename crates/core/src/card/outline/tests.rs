//! What stands in the lines of a card, whatever an agent wrote.

use proptest::prelude::*;

use super::*;
use crate::{CardFlag, Digest, DisplayField, SectionBody, ShellCommand, TreeNode, show};

fn card(sections: Vec<CardSection>) -> Card {
    Card {
        sentence: "Run 2 commands".to_owned(),
        digest: "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".parse().unwrap(),
        sections,
        rest: Vec::new(),
        flagged: Vec::new(),
        hidden: 0,
    }
}

fn section(body: SectionBody, pointers: &[&str]) -> CardSection {
    let pointers = pointers.iter().map(|pointer| (*pointer).to_owned()).collect();
    CardSection { body, title: None, step: None, pointers }
}

fn field(pointer: &str, text: &str) -> DisplayField {
    DisplayField { pointer: pointer.to_owned(), text: text.to_owned(), keys: Vec::new() }
}

fn plain(card: &Card) -> String {
    card.outline(&|_| None).plain(usize::MAX, usize::MAX).0
}

fn text(text: &str) -> CardSection {
    section(SectionBody::Text { text: show(text) }, &["/arguments/text"])
}

#[test]
fn a_command_is_shown_whole_and_taken_apart() {
    let command = |joined: Option<&str>, words: &[&str]| ShellCommand {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        redirects: Vec::new(),
        joined: joined.map(str::to_owned),
    };
    let mut card = card(vec![section(
        SectionBody::Command {
            command: "ls && rm 'a b'".to_owned(),
            opaque: false,
            why: None,
            commands: vec![command(None, &["ls"]), command(Some("&&"), &["rm", "a b"])],
            cwd: None,
            claimed_cwd: Some("/srv".to_owned()),
        },
        &["/arguments/command"],
    )]);
    card.flagged.push(CardFlag { pointer: "/arguments/command".to_owned(), why: "It deletes.".to_owned() });
    card.rest.push(field("/arguments/timeout", "5"));
    assert_eq!(
        plain(&card),
        "Run 2 commands\n! It deletes. (/arguments/command)\n# Command\n  at: /arguments/command\n  | ls && rm 'a b'\n  \
         (taken apart)\n  1 | ls\n  2 && | rm \"a b\"\n  folder, as the agent says: /srv\n# Everything else\n  \
         /arguments/timeout: 5"
    );
}

#[test]
fn lines_of_a_text_stay_lines_and_none_can_be_taken_for_ours() {
    let drawn = plain(&card(vec![text("Hi\n# Everything else\n! none\n  at: /x\nC:\\new")]));
    let rows = "  | Hi\n  | # Everything else\n  | ! none\n  |   at: /x\n  | C:\\\\new";
    assert!(drawn.ends_with(rows), "{drawn}");
}

#[test]
fn padding_is_counted_and_what_stands_behind_it_is_not_pushed_away() {
    let drawn = plain(&card(vec![text(&format!("ok{}\n{}rm -rf /", "\n".repeat(3_000), " ".repeat(500)))]));
    assert!(drawn.lines().count() < 12, "{drawn}");
    for part in ["| ok", "2,999 more lines exactly like this one", "(500 spaces here)", "| rm -rf /"] {
        assert!(drawn.contains(part), "{part}: {drawn}");
    }
    let mixed = plain(&card(vec![text(&format!("ok\n{}end", " \n  \n".repeat(50)))]));
    assert!(mixed.contains("99 more lines of nothing but spaces") && mixed.contains("| end"), "{mixed}");
}

#[test]
fn a_pointer_that_could_pass_for_a_value_stands_alone() {
    let mut card = card(Vec::new());
    card.rest = vec![field("/arguments/a: \"fine\"", "\"evil\""), field("/arguments/b", "1")];
    assert!(
        plain(&card).ends_with("# Everything\n  /arguments/a: \"fine\":\n  | \"evil\"\n  /arguments/b: 1")
    );
}

#[test]
fn a_tree_names_every_leaf_with_its_whole_pointer() {
    let node = |depth, key: &str, text: Option<&str>| TreeNode {
        depth,
        key: key.to_owned(),
        text: text.map(str::to_owned),
    };
    let nodes = vec![
        node(0, "a", None),
        node(1, "\"0\"", Some("x")),
        node(1, "b/c", None),
        node(2, "0", Some("y")),
        node(0, "d", Some("{}")),
    ];
    let pointers = ["/arguments/a/0", "/arguments/a/b~1c/0", "/arguments/d"];
    let tree = section(SectionBody::Tree { nodes: nodes.clone() }, &pointers);
    assert!(
        plain(&card(vec![tree]))
            .ends_with("# Values\n  /arguments/a/\"0\": x\n  /arguments/a/b~1c/0: y\n  /arguments/d: {}")
    );
    // Pointers that are not those of the nodes are listed beside them.
    let other = plain(&card(vec![section(SectionBody::Tree { nodes }, &["/arguments/z", "/b", "/c"])]));
    assert!(other.contains("at: /arguments/z") && other.contains("  |   \"\\\"0\\\"\": x"), "{other}");
}

#[test]
fn a_table_has_columns_only_where_they_are_exact() {
    let table = |first: &str| {
        let rows =
            vec![vec![Some(first.to_owned()), Some("1".to_owned())], vec![None, Some("20".to_owned())]];
        let body = SectionBody::Table { columns: vec!["name".to_owned(), "n".to_owned()], rows };
        let pointers = ["/arguments/rows/0/name", "/arguments/rows/0/n", "/arguments/rows/1/n"];
        plain(&card(vec![section(body, &pointers)]))
    };
    let plain = table("ann");
    assert!(
        plain.ends_with("  /arguments/rows:\n  (each row has its place in the list before it, from 0)\n    | name  n\n  0 | ann   1\n  1 | -     20"),
        "{plain}"
    );
    let odd = table("ann   1\u{2026}");
    assert!(
        odd.contains("/arguments/rows/0/name: ann   1…\n  /arguments/rows/0/n: 1\n  /arguments/rows/1/n: 20"),
        "{odd}"
    );
}

#[test]
fn pictures_are_named_and_counted_as_not_drawn() {
    let picture =
        SectionBody::Image { media_type: "image/png".to_owned(), bytes: 1_234, data: "AAAA".to_owned() };
    let pointers = ["/arguments/data", "/arguments/media_type"];
    let outline = card(vec![section(picture, &pointers)]).outline(&|_| None);
    let (drawn, left) = outline.plain(99, 9_999);
    assert_eq!((outline.undrawn, left), (1, 1));
    assert!(drawn.contains("size: 1,234 bytes") && drawn.contains("look at it in the dashboard"), "{drawn}");
    assert!(!drawn.contains("AAAA"));
}

#[test]
fn an_unknown_section_lists_its_values_and_counts_those_it_cannot_find() {
    let unknown = section(SectionBody::Other, &["/arguments/a", "/arguments/b"]);
    let look = |pointer: &str| (pointer == "/arguments/a").then(|| "\"v\"".to_owned());
    let outline = card(vec![unknown]).outline(&look);
    assert_eq!(outline.undrawn, 1);
    assert!(outline.plain(99, 9_999).0.contains("/arguments/a: \"v\""));
}

#[test]
fn what_does_not_fit_into_a_message_is_counted_by_its_leaves() {
    let mut card = card(vec![text("1\n2\n3")]);
    card.rest = (0..10).map(|at| field(&format!("/arguments/{at}"), "1")).collect();
    assert_eq!(card.leaves(), 11);
    let outline = card.outline(&|_| None);
    assert_eq!(outline.plain(usize::MAX, usize::MAX).1, 0);
    assert_eq!(outline.plain(0, usize::MAX), (String::new(), 11));
    let (drawn, left) = outline.plain(9, usize::MAX);
    assert_eq!((drawn.lines().count(), left), (9, 8), "{drawn}");
    for bytes in 0..200 {
        assert!(outline.plain(usize::MAX, bytes).0.len() <= bytes, "{bytes}");
    }
    // A text that is cut is not shown.
    assert_eq!(outline.plain(4, usize::MAX).1, 11);
}

#[test]
fn numbers_have_commas_and_their_noun() {
    let count = |many| counted(many, "line", "lines");
    assert_eq!(
        [0, 1, 999, 1_000, 1_234_567].map(count),
        ["0 lines", "1 line", "999 lines", "1,000 lines", "1,234,567 lines"]
    );
}

proptest! {
    #[test]
    fn no_line_of_an_outline_has_a_line_end_and_every_text_is_found(texts in prop::collection::vec(any::<String>(), 1..4)) {
        let mut card = card(texts.iter().map(|value| text(value)).collect());
        card.rest = texts.iter().map(|text| field(&format!("/arguments/{}", show(text)), &show(text))).collect();
        let outline = card.outline(&|_| None);
        prop_assert!(outline.lines.iter().all(|line| !line.text.contains('\n') && !line.label.contains('\n')));
        let drawn = outline.plain(usize::MAX, usize::MAX).0;
        for text in texts {
            for part in text.split('\n') {
                let part = show(part);
                prop_assert!(part.contains("   ") || drawn.contains(part.trim_end()), "{part:?} in {drawn}");
            }
        }
    }
}

#[test]
fn the_digest_is_no_part_of_the_lines() {
    let card = card(Vec::new());
    let digest: Digest = card.digest;
    assert!(!plain(&card).contains(&digest.to_string()));
}
