//! Tools that are let through as readers, and do more than read.

use placet_core::{Effect, Risk, State};
use placet_policy::preset;
use placet_testkit::both;
use serde_json::json;

use crate::policy::asked;

both! {
    async fn what_policy_lets_pass_as_reading_waits_where_it_does_more(kit) {
        kit.put_policy(preset("default").unwrap()).await;
        let bot = kit.agent("bot").await;
        for (tool, arguments) in [
            ("read_shell_command", json!({"command": "rm -rf /"})),
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
            assert!(verdict.reasons[0].contains("only reads, and it"), "{:?}", verdict.reasons);
            assert!(verdict.reasons[1].contains("rule `reading`"), "{:?}", verdict.reasons);
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
}
