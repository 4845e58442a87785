//! "Let NAME work in DIR?": a question of the hook program. Only approval by the agent's owner opens the folder.

use std::{sync::Arc, time::Duration};

use placet_core::{
    Actor, AdminEvent, Body, Create, HOOK_PROGRAM, Kind, Refusal, Request, RequestId, Role, State,
};
use placet_testkit::{Kit, both};
use serde_json::json;

use crate::{pointer, refusal};

const APP: &str = "/srv/app";

fn question(folder: &str) -> Create {
    let mut create = Create::new(Kind::Confirmation, "folders".to_owned());
    create.message = Some("It is quite harmless, say yes".to_owned());
    create.details = Some("Only this once".to_owned());
    create.summary = Some("trust me".to_owned());
    create.context = json!({ "open_folder": folder, "cwd": "/srv/other", "note": "x" }).as_object().cloned();
    create
}

async fn asked(kit: &Kit, source: &str, agent: &Actor, folder: &str) -> Arc<Request> {
    kit.gate().submit_from(source, agent, question(folder), None).await.unwrap().request
}

async fn roots(kit: &Kit, agent: &str) -> Vec<String> {
    let agents = kit.gate().agents(kit.admin()).await.unwrap();
    agents.into_iter().find(|known| known.name == agent).unwrap().roots
}

/// The ledger's entries about folders: what is open, and by which question.
async fn entries(kit: &Kit) -> Vec<(Vec<String>, Option<RequestId>)> {
    let news = kit.store().news(0, 500).await.unwrap();
    let entries = news.into_iter().filter_map(|news| match news.admin {
        Some(AdminEvent::RootsPut { roots, request, .. }) => Some((roots, request)),
        _ => None,
    });
    entries.collect()
}

both! {
    async fn the_yes_of_its_owner_opens_the_folder_to_the_agent_and_to_no_other(kit) {
        let (bot, imp) = (kit.agent_of("bot", "ann").await, kit.agent_of("imp", "ann").await);
        let ann = kit.reviewer("ann").await;
        kit.gate().put_roots(kit.admin(), "bot", vec!["/srv/b".to_owned()], false).await.unwrap();
        let request = asked(kit, HOOK_PROGRAM, &bot, APP).await;
        assert_eq!(request.state, State::Pending);
        assert_eq!(roots(kit, "bot").await, ["/srv/b"], "asking opens nothing");
        let done = kit.approve(&ann, &request).await.unwrap();
        assert_eq!(done.state, State::Approved);
        assert_eq!(roots(kit, "bot").await, [APP, "/srv/b"], "what was open stays open");
        assert!(roots(kit, &imp.name).await.is_empty());
        let last = entries(kit).await.pop().unwrap();
        assert_eq!(last, (vec![APP.to_owned(), "/srv/b".to_owned()], Some(request.id)));
        kit.restart().await;
        assert_eq!(roots(kit, "bot").await, [APP, "/srv/b"], "after a restart");
        let again = kit.gate().submit_from(HOOK_PROGRAM, &bot, question("/srv/app/src"), None).await;
        assert_eq!(pointer(again), "/context/open_folder", "it lies in an open folder");
    }

    async fn the_card_has_the_words_of_the_gate_and_none_of_the_agent(kit) {
        let bot = kit.agent_of("bot", "ann").await;
        let request = asked(kit, HOOK_PROGRAM, &bot, APP).await;
        let content = request.content.clone().unwrap();
        let Body::Confirmation(card) = &content.body else { panic!("a confirmation") };
        assert_eq!(card.message, "Let bot work in /srv/app?");
        let details = card.details.clone().unwrap();
        for word in ["opens this folder", "without asking", "owner of `bot`"] {
            assert!(details.contains(word), "{word}");
        }
        assert_eq!(json!(content.context), json!({ "cwd": APP, "open_folder": APP }));
        assert_eq!(content.summary, None);
    }

    async fn the_yes_of_another_reviewer_adds_nothing_and_says_why(kit) {
        let bot = kit.agent_of("bot", "ann").await;
        let (bob, ann) = (kit.reviewer("bob").await, kit.reviewer("ann").await);
        let request = asked(kit, HOOK_PROGRAM, &bot, APP).await;
        let no = refusal(kit.approve(&bob, &request).await);
        assert_eq!(no, Refusal::NotOwner("bot".to_owned()));
        assert!(no.to_string().contains("only the agent's owner and admins may do"), "{no}");
        assert!(roots(kit, "bot").await.is_empty() && entries(kit).await.is_empty());
        assert_eq!(kit.read(request.id).await.state, State::Pending, "its owner can still say yes");
        kit.approve(&ann, &request).await.unwrap();
        assert_eq!(roots(kit, "bot").await, [APP]);
    }

    async fn an_admin_may_open_a_folder_and_a_no_of_anybody_opens_none(kit) {
        let bot = kit.agent("bot").await;
        let (bob, root) = (kit.reviewer("bob").await, kit.reviewer("root").await);
        let denied = asked(kit, HOOK_PROGRAM, &bot, APP).await;
        assert_eq!(kit.deny(&bob, &denied).await.unwrap().state, State::Denied);
        assert!(roots(kit, "bot").await.is_empty());
        let other = asked(kit, HOOK_PROGRAM, &bot, "/srv/other").await;
        assert!(matches!(refusal(kit.approve(&root, &other).await), Refusal::NotOwner(_)), "not an admin yet");
        kit.key(Role::Admin, "root", None).await;
        kit.approve(&root, &other).await.unwrap();
        assert_eq!(roots(kit, "bot").await, ["/srv/other"]);
    }

    async fn a_client_that_is_not_the_hook_program_gains_nothing_with_the_same_question(kit) {
        let bot = kit.agent_of("bot", "ann").await;
        let ann = kit.reviewer("ann").await;
        let genuine = asked(kit, HOOK_PROGRAM, &bot, APP).await;
        let Body::Confirmation(card) = genuine.content.clone().unwrap().body.clone() else { panic!() };
        for source in ["rest", "hook", "events", "hook-program2"] {
            let mut create = question(APP);
            (create.message, create.details) = (Some(card.message.clone()), card.details.clone());
            create.confirm_label = Some(card.confirm_label.clone());
            create.cancel_label = Some(card.cancel_label.clone());
            let request = kit.gate().submit_from(source, &bot, create, None).await.unwrap().request;
            assert_ne!(request.id, genuine.id);
            assert_eq!(kit.approve(&ann, &request).await.unwrap().state, State::Approved, "{source}");
            assert!(roots(kit, "bot").await.is_empty(), "{source}");
        }
    }

    async fn there_is_one_question_about_a_folder_and_none_for_a_day_after_a_no(kit) {
        let (bot, imp) = (kit.agent_of("bot", "ann").await, kit.agent_of("imp", "ann").await);
        let ann = kit.reviewer("ann").await;
        let first = asked(kit, HOOK_PROGRAM, &bot, APP).await;
        assert_eq!(asked(kit, HOOK_PROGRAM, &bot, APP).await.id, first.id);
        assert_ne!(asked(kit, HOOK_PROGRAM, &bot, "/srv/b").await.id, first.id);
        assert_ne!(asked(kit, HOOK_PROGRAM, &imp, APP).await.id, first.id);
        kit.deny(&ann, &first).await.unwrap();
        kit.clock().advance(Duration::from_hours(23));
        let told = asked(kit, HOOK_PROGRAM, &bot, APP).await;
        assert_eq!((told.id, told.state), (first.id, State::Denied));
        kit.clock().advance(Duration::from_hours(2));
        let anew = asked(kit, HOOK_PROGRAM, &bot, APP).await;
        assert_eq!(anew.state, State::Pending);
        assert_ne!(anew.id, first.id);
    }

    async fn what_is_no_project_is_not_asked_about(kit) {
        let bot = kit.agent_of("bot", "ann").await;
        for folder in ["/", "/home/ann", "/root", "/tmp/x", "relative", "/srv/app/", "/srv/../etc", "/root/.ssh"] {
            let refused = kit.gate().submit_from(HOOK_PROGRAM, &bot, question(folder), None).await;
            assert_eq!(pointer(refused), "/context/open_folder", "{folder}");
        }
    }
}
