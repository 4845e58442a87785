//! Against two other parsers of the shell language: what is literal here has the same words there.
//!
//! Both are given flat and bounded texts only; one of them overflows its stack on deep ones.

use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem, IoFileRedirectKind, IoRedirect, Pipeline,
};
use brush_parser::word::{WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};
use tree_sitter::Node;

use crate::bash::{Sandbox, bash_agrees, literal_line};
use crate::compositions::PASSING;
use crate::conformance::ASKED;
use crate::support::{Random, argvs};

/// The words of each command, if the parser finds a flat list of literal commands.
type Parse = fn(&str) -> Option<Vec<Vec<String>>>;

fn pieces(pieces: &[WordPieceWithSource], quoted: bool) -> Option<String> {
    let mut text = String::new();
    for piece in pieces {
        match &piece.piece {
            WordPiece::Text(plain) if quoted || !plain.contains(['*', '?', '[', '{', '}']) => {
                text.push_str(plain);
            }
            WordPiece::SingleQuotedText(plain) => text.push_str(plain),
            WordPiece::DoubleQuotedSequence(inner) => text.push_str(&self::pieces(inner, true)?),
            WordPiece::EscapeSequence(escape) if quoted => text.push_str(&unescaped(escape)),
            WordPiece::EscapeSequence(escape) => text.push_str(&plain(escape)?),
            _ => return None,
        }
    }
    Some(text)
}

/// What is left of backslashes in double quotes.
fn unescaped(text: &str) -> String {
    ["\\", "\"", "$"]
        .iter()
        .fold(text.replace("\\\\", "\0"), |text, sign| text.replace(&format!("\\{sign}"), sign))
        .replace('\0', "\\")
}

/// The same outside quotes, where a backslash makes any sign plain.
fn plain(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().filter(|c| *c != '\n')? } else { c });
    }
    Some(out)
}

fn brush_word(word: &str) -> Option<String> {
    pieces(&brush_parser::word::parse(word, &ParserOptions::default()).ok()?, false)
}

fn brush_pipeline(pipeline: &Pipeline, out: &mut Vec<Vec<String>>) -> Option<()> {
    if pipeline.bang || pipeline.timed.is_some() {
        return None;
    }
    for command in &pipeline.seq {
        let Command::Simple(simple) = command else { return None };
        if simple.prefix.is_some() {
            return None;
        }
        let mut argv = vec![brush_word(&simple.word_or_name.as_ref()?.value)?];
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                CommandPrefixOrSuffixItem::Word(word)
                | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                    argv.push(brush_word(&word.value)?);
                }
                CommandPrefixOrSuffixItem::IoRedirect(IoRedirect::File(_, kind, _))
                    if !matches!(kind, IoFileRedirectKind::ReadAndWrite | IoFileRedirectKind::Clobber) => {}
                _ => return None,
            }
        }
        out.push(argv);
    }
    Some(())
}

/// The words as brush reads them, if it finds a flat list of literal commands.
fn brush(text: &str) -> Option<Vec<Vec<String>>> {
    let mut parser = Parser::new(text.as_bytes(), &ParserOptions::default());
    let program = parser.parse_program().ok()?;
    let mut out = Vec::new();
    for list in &program.complete_commands {
        for item in &list.0 {
            if matches!(item.1, brush_parser::ast::SeparatorOperator::Async) {
                return None;
            }
            brush_pipeline(&item.0.first, &mut out)?;
            for more in &item.0.additional {
                let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = more;
                brush_pipeline(pipeline, &mut out)?;
            }
        }
    }
    Some(out)
}

fn tree_word(node: Node<'_>, text: &str) -> Option<String> {
    let raw = &text[node.byte_range()];
    match node.kind() {
        "word" | "number" => {
            let text = plain(raw)?;
            let signs = |text: &str| text.matches(['*', '?', '[', '{', '}']).count();
            let escaped =
                raw.match_indices('\\').filter(|(at, _)| signs(&raw[*at..(*at + 2).min(raw.len())]) > 0);
            (!raw.starts_with('~') && signs(raw) == escaped.count()).then_some(text)
        }
        "raw_string" => Some(raw[1..raw.len() - 1].to_owned()),
        "string" => {
            let mut cursor = node.walk();
            node.children(&mut cursor)
                .all(|child| matches!(child.kind(), "\"" | "string_content"))
                .then(|| unescaped(&raw[1..raw.len() - 1]))
        }
        "concatenation" | "command_name" => {
            let mut cursor = node.walk();
            node.children(&mut cursor).map(|child| tree_word(child, text)).collect()
        }
        _ => None,
    }
}

fn tree_walk(node: Node<'_>, text: &str, out: &mut Vec<Vec<String>>) -> Option<()> {
    let mut cursor = node.walk();
    match node.kind() {
        "program" | "list" | "pipeline" | "redirected_statement" => {
            for child in node.children(&mut cursor) {
                match child.kind() {
                    ";" | "\n" | "&&" | "||" | "|" | "comment" => {}
                    "file_redirect" => tree_redirect(child, text, out)?,
                    _ => tree_walk(child, text, out)?,
                }
            }
            Some(())
        }
        "command" => {
            out.push(Vec::new());
            for child in node.children(&mut cursor) {
                if child.kind() == "file_redirect" {
                    tree_redirect(child, text, out)?;
                } else {
                    let word = tree_word(child, text)?;
                    out.last_mut()?.push(word);
                }
            }
            Some(())
        }
        _ => None,
    }
}

/// The grammar takes words after a redirection's target for further targets; bash takes them for arguments.
fn tree_redirect(node: Node<'_>, text: &str, out: &mut [Vec<String>]) -> Option<()> {
    let mut cursor = node.walk();
    let mut target = false;
    for child in node.children(&mut cursor) {
        match child.kind() {
            ">" | ">>" | "<" | ">&" | "<&" | "file_descriptor" => {}
            _ if target => out.last_mut()?.push(tree_word(child, text)?),
            _ => {
                tree_word(child, text)?;
                target = true;
            }
        }
    }
    Some(())
}

/// The words as tree-sitter reads them, if it finds a flat list of literal commands.
fn tree(text: &str) -> Option<Vec<Vec<String>>> {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("the grammar fits");
    let tree = parser.parse(text, None)?;
    let mut out = Vec::new();
    if tree.root_node().has_error() {
        return None;
    }
    tree_walk(tree.root_node(), text, &mut out)?;
    Some(out)
}

#[test]
fn the_other_parsers_read_the_same_words_or_bash_is_on_our_side() {
    let mut random = Random(99);
    let programs = ["git", "ls", "echo", "x", "a-b"];
    let mut texts: Vec<String> = PASSING.iter().map(|text| (*text).to_owned()).collect();
    texts.extend((0..3_000).map(|_| literal_line(&mut random, &programs).0));
    // Their trees for here-documents are shaped too differently; bash and dash run those.
    texts.retain(|text| !text.contains("<<"));
    let sandbox = Sandbox::new();
    let parsers: [(&str, Parse); 2] = [("brush", brush), ("tree-sitter", tree)];
    for (name, parse) in parsers {
        let (mut same, mut unread, mut wrong) = (0, 0, Vec::new());
        // The grammar of tree-sitter often takes an escaped sign for the end of a word.
        let texts: Vec<&String> =
            texts.iter().filter(|text| name != "tree-sitter" || !text.contains('\\')).collect();
        assert!(texts.len() > 300, "{name}: {}", texts.len());
        for text in &texts {
            let ours = argvs(text).unwrap_or_else(|| panic!("literal: {text:?}"));
            match parse(text) {
                Some(theirs) if theirs == ours => same += 1,
                Some(theirs) => {
                    assert!(
                        bash_agrees(&sandbox, text),
                        "{name} says {theirs:?} to {text:?}, and bash cannot be asked"
                    );
                    wrong.push((text, theirs));
                }
                None => unread += 1,
            }
        }
        println!(
            "{name}: {} texts, {same} with the same words, {unread} not read, {} wrong by bash",
            texts.len(),
            wrong.len()
        );
        for (text, theirs) in wrong.iter().take(3) {
            println!("    {text:?} -> {theirs:?}");
        }
        assert!(same * 100 > texts.len() * 90, "{name} had the same words only {same} times");
        assert!(wrong.len() * 100 < texts.len() * 5, "{name} differs {} times", wrong.len());
    }
}

/// On hostile forms the others may read more than we do, but where we read, all three agree.
#[test]
fn where_we_read_a_hostile_form_the_others_agree() {
    for text in ASKED {
        let Some(ours) = argvs(text) else { continue };
        if let Some(theirs) = brush(text) {
            assert_eq!(theirs, ours, "brush on {text:?}");
        }
        if let Some(theirs) = tree(text) {
            assert_eq!(theirs, ours, "tree-sitter on {text:?}");
        }
    }
}
