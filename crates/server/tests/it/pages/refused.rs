//! Buttons that would be refused are not drawn, and the page says who can approve.

use placet_core::Role;
use placet_testkit::Server;
use serde_json::{Value, json};

use super::{Browser, asked, state_of, with_forms};
use crate::support::action;

const APPROVE: &str = "value=\"approve\"";
const DENY: &str = "value=\"deny\"";

/// The question of an agent of ann, whether it may work in a folder.
async fn folder(server: &Server) -> (String, Value) {
    let agent = server.actor(&server.kit.agent_of("coder", "ann").await).with("placet-door", "hook-program");
    let question = json!({"kind": "confirmation", "message": "?", "session": "s",
        "context": {"open_folder": "/srv/app"}});
    let record = agent.post("/v1/requests", question).await.expect(201);
    (record["url"].as_str().expect("an address").to_owned(), record)
}

#[test]
fn a_folder_is_opened_by_the_owner_of_the_agent_or_an_admin_and_others_read_who_that_is() {
    with_forms(async |server| {
        let (path, record) = folder(server).await;
        let ben = Browser::of(server, "ben", &["reviewer"]).await;
        let page = ben.look(&path).await;
        assert!(page.contains("Only ann, who owns coder, or an admin can approve this."), "{page}");
        assert!(!page.contains(APPROVE) && page.contains(DENY), "{page}");
        assert_eq!(
            ben.decide(&page, &path, &[("decision", "approve")]).await.status,
            403,
            "the rule is the gate's"
        );
        let root = Browser::of(server, "root", &["reviewer", "admin"]).await;
        assert!(root.look(&path).await.contains(APPROVE));
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        let page = ann.look(&path).await;
        assert!(page.contains(APPROVE) && !page.contains("can approve this"), "{page}");
        assert_eq!(ann.decide(&page, &path, &[("decision", "approve")]).await.status, 200);
        assert_eq!(state_of(server, &record).await["state"], "approved");
    });
}

#[test]
fn what_a_person_cannot_approve_has_no_button_for_it_and_says_why() {
    with_forms(async |server| {
        let ann = Browser::of(server, "ann", &["reviewer"]).await;
        server.kit.key(Role::Agent, "bot", Some("ann")).await;
        for (needs, reason) in [
            ("people = 1\nfour_eyes = true", "You own, ordered or edited this"),
            ("people = 1\nteam = \"finance\"", "Other people or teams are asked"),
            ("people = 1\nstep_up = \"code\"", "open the dashboard"),
        ] {
            let policy = format!(
                "version = 1\n[needs.some]\n{needs}\n[[rule]]\nname = \"all\"\neffect = \"hold\"\nneeds = \"some\"\n"
            );
            server.kit.put_policy(&policy).await;
            let (path, _) = asked(server, action()).await;
            let page = ann.look(&path).await;
            assert!(page.contains(reason), "{reason}: {page}");
            assert!(!page.contains(APPROVE) && page.contains(DENY), "{reason}: {page}");
        }
        server.kit.put_policy("version = 1\n[[rule]]\nname = \"all\"\neffect = \"hold\"\n").await;
        let (path, _) = asked(server, action()).await;
        assert!(ann.look(&path).await.contains(APPROVE));
        let freeze = json!({"agent": "bot", "reason": "something is wrong"});
        server.admin().post("/v1/freeze", freeze).await.expect(201);
        let page = ann.look(&path).await;
        assert!(page.contains("something is wrong") && !page.contains(APPROVE), "{page}");
    });
}
