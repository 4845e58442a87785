//! Tools that are allowed as readers, and do more than read.

use placet_core::{Effect, Risk, State};
use placet_policy::preset;
use placet_testkit::{Kit, both};
use serde_json::json;

use crate::policy::{asked, call};

/// A policy that trusts names, and one rule with a false statement about itself.
const TRUSTING: &str = r#"version = 1

[[rule]]
name = "names"
effect = "allow"
tool = ["get_*", "read_*"]

[[rule]]
name = "harmless"
effect = "allow"
reads_only = true
tool = ["delete_file", "tidy"]
"#;

both! {
    async fn what_policy_lets_pass_as_reading_waits_where_it_does_more(kit) {
        kit.put_policy(preset("default").unwrap()).await;
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        for (tool, arguments) in [
            ("read_thing", json!({"command": "ls"})),
            ("get_sql", json!({"query": "DROP TABLE users"})),
            ("search_db", json!({"query": "DELETE FROM users"})),
            ("get_sql", json!({"query": "SELECT 1 DROP TABLE users"})),
            ("get_url", json!({"url": "https://a.example", "body": "secret"})),
            ("get_url", json!({"url": "https://a.example", "method": "POST"})),
        ] {
            let request = asked(kit, &bot, tool, arguments.clone()).await;
            let verdict = &request.verdict;
            assert_eq!((request.state, verdict.effect), (State::Pending, Effect::Hold), "{tool} {arguments}");
            assert_eq!((verdict.rule.as_str(), request.risk), ("contradiction", Risk::High), "{tool} {arguments}");
            let reasons = &verdict.reasons;
            assert!(reasons[0].starts_with("rule `reading` says that it only reads, but the call"), "{reasons:?}");
            assert!(reasons[1].starts_with("the call says: "), "{reasons:?}");
            let create = Kit::body(call(tool, arguments));
            let explained = kit.gate().explain_create(&ann, "bot", "rest", create).await.unwrap();
            assert_eq!(&explained.outcome.reasons, reasons, "explained as it was judged");
        }
        for (tool, arguments) in [
            ("get_sql", json!({"query": "SELECT * FROM users"})),
            ("search_db", json!({"query": "cheap flights"})),
            ("get_url", json!({"url": "https://a.example", "method": "GET"})),
            ("read_file", json!({"path": "/a"})),
        ] {
            let request = asked(kit, &bot, tool, arguments.clone()).await;
            assert_eq!(request.verdict.effect, Effect::Allow, "{tool} {arguments}");
        }
    }

    async fn what_the_sentence_says_is_held_against_a_rule_that_says_less(kit) {
        kit.put_policy(TRUSTING).await;
        let bot = kit.agent("bot").await;
        for (tool, arguments, says) in [
            ("get_sql", json!({"sql": "DROP TABLE users"}), "its name says that it only reads, and it changes a database"),
            ("read_thing", json!({"a": [{"cmd": "id"}]}), "its name says that it only reads, and it runs a command"),
            ("delete_file", json!({"path": "/a"}), "rule `harmless` says that it only reads, but the call says: Delete 1 file"),
            ("tidy", json!({"script": "id"}), "rule `harmless` says that it only reads, but the call runs a command"),
        ] {
            let request = asked(kit, &bot, tool, arguments.clone()).await;
            let verdict = &request.verdict;
            assert_eq!((verdict.effect, verdict.rule.as_str()), (Effect::Hold, "contradiction"), "{tool} {arguments}");
            assert_eq!(request.risk, Risk::High, "{tool}");
            assert!(verdict.reasons[0].starts_with(says), "{:?}", verdict.reasons);
        }
        for (tool, arguments) in [("tidy", json!({"room": 5})), ("get_user", json!({"id": 5}))] {
            assert_eq!(asked(kit, &bot, tool, arguments).await.verdict.effect, Effect::Allow, "{tool}");
        }
    }
}
