//! Which sections there are for which call, and what they say.

use placet_core::Effect;

use super::*;

/// The types of the sections, in order.
fn kinds(card: &Card) -> Vec<String> {
    let kind = |section: &CardSection| {
        let value = serde_json::to_value(section).unwrap();
        value["type"].as_str().unwrap().to_owned()
    };
    card.sections.iter().map(kind).collect()
}

#[test]
fn each_known_call_has_its_own_section_and_everything_else_is_listed() {
    let png = "iVBORw0KGgoAAAAN";
    for (tool, given, kind, shown) in [
        (
            "Bash",
            json!({"command": "rm x", "cwd": "/srv", "timeout": 5}),
            "command",
            &["/arguments/command", "/arguments/cwd"][..],
        ),
        (
            "write_file",
            json!({"path": "a", "content": "x\ny\n"}),
            "diff",
            &["/arguments/path", "/arguments/content"],
        ),
        ("execute_sql", json!({"query": "DELETE FROM t", "timeout": 1}), "sql", &["/arguments/query"]),
        (
            "pay",
            json!({"amount": 5, "currency": "EUR", "to": "ACME"}),
            "money",
            &["/arguments/amount", "/arguments/currency", "/arguments/to"],
        ),
        (
            "send_email",
            json!({"to": ["a@x.example"], "subject": "Hi", "body": "text"}),
            "message",
            &["/arguments/to/0", "/arguments/subject", "/arguments/body"],
        ),
        (
            "post_message",
            json!({"channel": "#ops", "text": "up"}),
            "message",
            &["/arguments/channel", "/arguments/text"],
        ),
        (
            "http_request",
            json!({"url": "https://a.example/", "method": "PUT", "body": "x"}),
            "http",
            &["/arguments/url", "/arguments/method", "/arguments/body"],
        ),
        (
            "mcp__kubernetes__pods_delete",
            json!({"name": "web-1", "namespace": "shop"}),
            "kubernetes",
            &["/arguments/name", "/arguments/namespace"],
        ),
        (
            "import",
            json!({"rows": [{"id": 1, "name": "a"}, {"id": 2}], "dry": true}),
            "table",
            &["/arguments/rows/0/id", "/arguments/rows/0/name", "/arguments/rows/1/id"],
        ),
        (
            "apply",
            json!({"spec": {"replicas": 3, "labels": ["x"]}}),
            "tree",
            &["/arguments/spec/labels/0", "/arguments/spec/replicas"],
        ),
        ("note", json!({"text": "one\ntwo"}), "text", &["/arguments/text"]),
        ("upload", json!({"image": format!("data:image/png;base64,{png}")}), "image", &["/arguments/image"]),
        (
            "upload",
            json!({"mime_type": "image/png", "data": png}),
            "image",
            &["/arguments/data", "/arguments/mime_type"],
        ),
        (
            "upload",
            json!({"file": {"name": "a.pdf", "media_type": "application/pdf", "content_base64": "aGk="}}),
            "file",
            &["/arguments/file/content_base64", "/arguments/file/name", "/arguments/file/media_type"],
        ),
    ] {
        let card = card(&action(tool, given));
        assert_eq!(kinds(&card), [kind], "{tool}");
        let (mut own, mut shown) = (pointers(&card.sections[0]), shown.to_vec());
        own.sort_unstable();
        shown.sort_unstable();
        assert_eq!(own, shown, "{tool}");
        assert!(listed(&card).contains(&"/tool") && listed(&card).contains(&"/context"), "{tool}");
        assert!(
            !listed(&card)
                .iter()
                .any(|pointer| ["/summary", "/group", "/arguments_schema"].contains(pointer))
        );
    }
}

#[test]
fn what_only_looks_like_a_picture_or_a_table_is_listed_as_text() {
    for given in [
        json!({"image": "data:image/png;base64,aGk="}),
        json!({"image": "data:image/svg+xml;base64,iVBORw0KGgoAAAAN"}),
        json!({"mime_type": "image/gif", "data": "iVBORw0KGgoAAAAN"}),
        json!({"name": "a", "base64": "no base64"}),
    ] {
        assert!(kinds(&card(&action("upload", given.clone()))).is_empty(), "{given}");
    }
    for given in [
        json!({"rows": [{"id": 1}, 2]}),
        json!({"rows": [{"id": 1}]}),
        json!({"rows": [{"id": 1}, {"id": [2]}]}),
        json!({"rows": [{"a": 1}, {"b": 1}, {"c": 1}, {"d": 1}]}),
    ] {
        assert_eq!(kinds(&card(&action("import", given.clone()))), ["tree"], "{given}");
    }
}

#[test]
fn keys_that_read_like_places_and_texts_that_read_like_numbers_are_told_apart() {
    let digest = |given: Value| card(&action("apply", json!({ "a": given }))).digest;
    let all = [
        json!(["x"]),
        json!({"0": "x"}),
        json!({"\"0\"": "x"}),
        json!([["x"]]),
        json!([true]),
        json!(["true"]),
        json!(["\"true\""]),
        json!([{}]),
        json!(["{}"]),
    ];
    for (index, one) in all.iter().enumerate() {
        for other in &all[..index] {
            assert_ne!(digest(one.clone()), digest(other.clone()), "{one} and {other}");
        }
    }
    let card = card(&action("apply", json!({"a": {"0": "x", "b": "5"}})));
    let SectionBody::Tree { nodes } = &card.sections[0].body else { panic!("a tree") };
    let told: Vec<_> =
        nodes.iter().map(|node| (node.depth, node.key.as_str(), node.text.as_deref())).collect();
    assert_eq!(told, [(0, "a", None), (1, "\"0\"", Some("x")), (1, "b", Some("\"5\""))]);
}

#[test]
fn lines_of_a_patch_and_of_a_new_file_are_numbered_and_those_of_an_edit_are_not() {
    let numbers = |tool: &str, given: Value| {
        let card = card(&action(tool, given));
        let SectionBody::Diff { change, lines, .. } = card.sections[0].body.clone() else { panic!("a diff") };
        let row = |row: &DiffRow| (row.line.op.clone(), row.old, row.new);
        (change, lines.iter().map(row).collect::<Vec<_>>())
    };
    let of = |op: &str, old, new| (op.to_owned(), old, new);
    let patch = "--- a/x\n+++ b/x\n@@ -3,2 +7,2 @@\n a\n-b\n+c\n";
    let (change, rows) = numbers("apply_patch", json!({ "patch": patch }));
    assert_eq!(change, "edit");
    assert_eq!(rows[3..], [of(" ", Some(3), Some(7)), of("-", Some(4), None), of("+", None, Some(8))]);
    let (change, rows) = numbers("create_file", json!({"path": "a", "content": "x\ny\n"}));
    assert_eq!((change.as_str(), rows), ("create", vec![of("+", None, Some(1)), of("+", None, Some(2))]));
    assert_eq!(numbers("write_file", json!({"path": "a", "content": "x\n"})).0, "change");
    let (change, rows) = numbers("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"}));
    assert_eq!((change.as_str(), rows), ("edit", vec![of("-", None, None), of("+", None, None)]));
    for (patch, change) in [
        ("--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+3\n", "create"),
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", "delete"),
        ("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Delete File: b\n*** End Patch", "change"),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "change"),
    ] {
        assert_eq!(numbers("apply_patch", json!({ "patch": patch })).0, change, "{patch}");
    }
}

#[test]
fn with_a_replacement_on_the_table_the_card_is_of_the_replacement() {
    let asked = action("pay", json!({"amount": 5, "currency": "EUR", "to": "ACME", "x\u{202e}": 1}));
    let other = json!({"amount": 9999, "currency": "EUR", "to": "Mallory"});
    let on_the_table = proposed(asked.clone(), DecisionWord::Edit, Some(arguments(other.clone())));
    let now = card(&on_the_table);
    assert_eq!(now.sentence, "Pay 9,999 EUR to Mallory");
    assert_eq!(
        pointers(&now.sections[0]),
        ["/proposal/arguments/amount", "/proposal/arguments/currency", "/proposal/arguments/to"]
    );
    assert!(!serde_json::to_string(&now).unwrap().contains("ACME"), "{now:?}");
    assert!(now.flagged.is_empty(), "what was replaced is not flagged: {:?}", now.flagged);
    assert_ne!(now.digest, card(&asked).digest);
    let after = decided(on_the_table.clone(), DecisionWord::Edit, Some(arguments(other)));
    assert_eq!(pointers(&card(&after).sections[0])[0], "/decision/arguments/amount");
    // Nothing of it ran: the card is of what was asked.
    let denied = card(&decided(on_the_table, DecisionWord::Deny, None));
    assert!(listed(&denied).contains(&"/arguments/amount") && denied.sentence.contains("ACME"), "{denied:?}");
}

#[test]
fn a_plan_has_each_step_that_will_run_in_its_order_with_its_sections() {
    let steps = vec![
        step("one", "Bash", Some(json!({"command": "ls"}))),
        step("two", "pay", Some(json!({"amount": 5, "currency": "EUR", "to": "ACME"}))),
        step("three", "ask around", None),
    ];
    let asked = request(plan(steps), json!({"cwd": "/srv"}));
    let plain = card(&asked);
    let order = |card: &Card| card.sections.iter().map(|section| section.step).collect::<Vec<_>>();
    assert_eq!(kinds(&plain), ["text", "step", "command", "step", "money", "step"]);
    assert_eq!(order(&plain), [None, Some(1), Some(1), Some(2), Some(2), Some(3)]);
    assert_eq!(pointers(&plain.sections[2]), ["/steps/0/arguments/command", "/context/cwd"]);
    let step = |id: &str, decision, arguments: Option<Value>| StepDecision {
        id: id.into(),
        decision,
        arguments: arguments.map(object),
    };
    let chosen = vec![
        step("two", DecisionWord::Edit, Some(json!({"amount": 4, "currency": "EUR", "to": "ACME"}))),
        step("one", DecisionWord::Deny, None),
        step("three", DecisionWord::Approve, None),
    ];
    let content = ProposalContent { steps: Some(chosen), ..ProposalContent::default() };
    let edited = card(&proposed(asked, DecisionWord::Approve, Some(content)));
    assert_eq!(kinds(&edited), ["text", "step", "money", "step"]);
    let SectionBody::Step { id, sentence, .. } = &edited.sections[1].body else { panic!("a step") };
    assert_eq!((id.as_str(), sentence.as_str()), ("two", "Pay 4 EUR to ACME"));
    assert_eq!(pointers(&edited.sections[2])[0], "/proposal/steps/0/arguments/amount");
    // What does not run is listed with the word that it was given.
    assert!(
        listed(&edited).contains(&"/steps/0/arguments/command")
            && listed(&edited).contains(&"/proposal/steps/1/decision")
    );
    assert!(!serde_json::to_string(&edited).unwrap().contains("/steps/1/arguments/amount\""), "{edited:?}");
}

#[test]
fn questions_and_messages_are_texts_and_an_answer_on_the_table_too() {
    let asked = request(question("Which one?"), json!({}));
    let content = ProposalContent { answer: Some(json!("Red")), ..ProposalContent::default() };
    let answered = card(&proposed(asked.clone(), DecisionWord::Respond, Some(content)));
    let titles: Vec<_> = answered.sections.iter().filter_map(|section| section.title.as_deref()).collect();
    assert_eq!(titles, ["Question", "Answer"]);
    assert!(listed(&card(&asked)).contains(&"/input/options/1"));
    let told = card(&request(confirmation("Go?", Some("Really")), json!({})));
    let titles: Vec<_> = told.sections.iter().filter_map(|section| section.title.as_deref()).collect();
    assert_eq!(titles, ["Message", "Details"]);
}

#[test]
fn what_was_erased_hides_and_the_original_never_stands_in_for_it() {
    let asked = action("pay", json!({"amount": 5, "to": "ACME"}));
    let lost = card(&proposed(asked.clone(), DecisionWord::Edit, None));
    assert_eq!(lost.hidden, 1);
    assert!(!serde_json::to_string(&lost).unwrap().contains("ACME"), "{lost:?}");
    let mut gone = asked;
    gone.content = None;
    let gone = card(&gone);
    assert_eq!((gone.hidden, gone.sections.len(), gone.rest.len()), (1, 0, 0));
}

#[test]
fn a_flag_stands_at_its_leaf_and_the_digest_does_not_cover_it() {
    let mut asked = action("pay", json!({"amount": 5, "deep": {"note": "a\u{202e}b"}}));
    let before = card(&asked);
    asked.verdict.reasons = vec![
        "rule `pay`: moves money".to_owned(),
        "rule `small` does not allow it: argument `deep` is not in the list".to_owned(),
        "rule `cap`: large; it could not be evaluated (argument `amount`: no text), so it applies".to_owned(),
    ];
    let after = card(&asked);
    let flags: Vec<_> = after.flagged.iter().map(|flag| flag.pointer.as_str()).collect();
    assert_eq!(flags, ["/arguments/deep/note", "", "/arguments/deep/note", "/arguments/amount"]);
    assert_eq!(before.digest, after.digest);
    asked.verdict.effect = Effect::Allow;
    assert_eq!(card(&asked).flagged.len(), 1, "reasons to allow are no warning");
    // The summary is not on the card, so its warning has no place there.
    let mut told = action("x", json!({}));
    let mut content = (**told.content.as_ref().unwrap()).clone();
    content.summary = Some("a\u{202e}b".to_owned());
    told.content = Some(Arc::new(content));
    let flags = card(&told).flagged;
    assert!(flags[0].pointer.is_empty() && flags[0].why.starts_with("In the agent's summary: "), "{flags:?}");
}

#[test]
fn a_flag_of_a_replaced_step_stands_at_the_replacement() {
    let asked = request(plan(vec![step("one", "Bash", Some(json!({"command": "ls"})))]), json!({}));
    let chosen = StepDecision {
        id: "one".into(),
        decision: DecisionWord::Edit,
        arguments: Some(object(json!({"command": "eval $x"}))),
    };
    let content = ProposalContent { steps: Some(vec![chosen]), ..ProposalContent::default() };
    let card = card(&proposed(asked, DecisionWord::Approve, Some(content)));
    assert_eq!(card.flagged[0].pointer, "/proposal/steps/0/arguments/command", "{:?}", card.flagged);
}

#[test]
fn the_sentence_of_the_card_is_that_of_the_row() {
    let asked = action("pay", json!({"amount": 5, "currency": "EUR", "to": "ACME"}));
    assert_eq!(card(&asked).sentence, crate::preview::effect(&asked));
}
