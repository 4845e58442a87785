//! Every kind of request from its creation to its end.

use placet_core::{DecisionWord, Refusal, ReportStatus, State, StepDecision};
use placet_gate::{Decision, Until};
use placet_testkit::{Kit, both};
use serde_json::json;

use crate::{pointer, refusal};

/// No wait at all.
const NOW: std::time::Duration = std::time::Duration::ZERO;

both! {
    async fn an_action_is_asked_approved_claimed_and_reported(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let asked = kit.ask(&bot).await;
        assert_eq!((asked.state, asked.version), (State::Pending, 1));
        let waited = kit.gate().wait(&bot, asked.id, Until::Decided, NOW).await.unwrap();
        assert_eq!((waited.met, waited.request.state), (false, State::Pending));
        assert_eq!(refusal(kit.gate().claim(&bot, asked.id, None, None).await), Refusal::NotApproved);
        let approved = kit.approve(&ann, &asked).await.unwrap();
        assert_eq!((approved.state, approved.version), (State::Approved, 2));
        assert!(kit.gate().wait(&bot, asked.id, Until::Decided, NOW).await.unwrap().met);
        let claimed = kit.gate().claim(&bot, asked.id, None, None).await.unwrap();
        assert_eq!(claimed.request.effective_arguments(), json!({"files": ["report.md"]}).as_object());
        assert_eq!(claimed.request.effective_digest(), asked.digest);
        let (gate, id) = (kit.gate(), asked.id);
        let report = async |permit: &str, status| gate.report(&bot, id, permit, status, None, Some("all gone".to_owned()), None).await;
        assert_eq!(refusal(report("prm_wrong", ReportStatus::Succeeded).await), Refusal::WrongPermit);
        let done = report(&claimed.permit, ReportStatus::Succeeded).await.unwrap();
        assert_eq!((done.state, done.version), (State::Succeeded, 4));
        assert_eq!(done.outcome.as_ref().unwrap().note.as_deref(), Some("all gone"));
        // Repeated, it is the same. With other content, it is refused.
        assert_eq!(report(&claimed.permit, ReportStatus::Succeeded).await.unwrap().version, 4);
        assert_eq!(refusal(report(&claimed.permit, ReportStatus::Failed).await), Refusal::AlreadyReported);
    }

    async fn a_failed_action_is_on_record_as_failed(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.approved(&bot, &ann).await;
        let claimed = kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        let done = kit.gate().report(&bot, request.id, &claimed.permit, ReportStatus::Failed, Some("sha256:00".to_owned()), None, None).await.unwrap();
        assert_eq!(done.state, State::Failed);
        assert_eq!(done.outcome.as_ref().unwrap().result_digest.as_deref(), Some("sha256:00"));
    }

    async fn a_denied_action_never_runs(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let request = kit.ask(&bot).await;
        let denied = kit.deny(&ann, &request).await.unwrap();
        assert_eq!(denied.state, State::Denied);
        assert_eq!(denied.decision.as_ref().unwrap().reason.as_deref(), Some("not today"));
        assert_eq!(refusal(kit.gate().claim(&bot, request.id, None, None).await), Refusal::NotApproved);
        assert_eq!(refusal(kit.approve(&ann, &denied).await), Refusal::AlreadyDecided);
    }

    async fn an_action_without_a_permit_is_final_when_approved(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let body = json!({"kind": "action", "session": "s", "tool": "t", "arguments": {}, "permit": false});
        let request = kit.create(&bot, body).await.unwrap().request;
        let approved = kit.approve(&ann, &request).await.unwrap();
        assert!(approved.is_final() && approved.claim_by.is_none());
        assert_eq!(refusal(kit.gate().claim(&bot, request.id, None, None).await), Refusal::NotApproved);
        assert_eq!(refusal(kit.gate().revoke(&ann, request.id, None, None).await), Refusal::NotApproved);
    }

    async fn a_plan_is_decided_step_by_step_in_the_order_given(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let step = |id: &str| json!({"id": id, "action": "run", "description": "do it", "arguments": {"n": 1}});
        let body = json!({"kind": "plan", "session": "s", "title": "move house", "steps": [step("a"), step("b"), step("c")], "can_modify": true});
        let request = kit.create(&bot, body).await.unwrap().request;
        let decide = |steps: Vec<(&str, DecisionWord)>| {
            let steps = steps.into_iter().map(|(id, decision)| {
                let arguments = (decision == DecisionWord::Edit).then(|| json!({"n": 2}).as_object().cloned().unwrap());
                StepDecision { id: id.to_owned(), decision, arguments }
            });
            Decision { steps: Some(steps.collect()), ..Kit::decision(&request, DecisionWord::Approve) }
        };
        use DecisionWord::{Approve, Deny, Edit};
        assert_eq!(pointer(kit.gate().decide(&ann, decide(vec![("a", Approve), ("b", Approve)])).await), "/steps");
        assert_eq!(pointer(kit.gate().decide(&ann, decide(vec![("a", Approve), ("x", Approve), ("c", Deny)])).await), "/steps/1/id");
        let decided = kit.gate().decide(&ann, decide(vec![("c", Approve), ("a", Edit), ("b", Deny)])).await.unwrap();
        assert_eq!(decided.state, State::Approved);
        assert!(decided.is_final());
        let steps = kit.read(request.id).await.decision.unwrap().content.unwrap().steps.clone().unwrap();
        assert_eq!(steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
        assert_eq!(steps[1].arguments, json!({"n": 2}).as_object().cloned());
    }

    async fn a_question_ends_with_an_answer_that_fits(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let cases = [
            (json!({"type": "text"}), json!("blue"), json!(7)),
            (json!({"type": "number", "min": 1, "max": 5}), json!(3), json!(9)),
            (json!({"type": "choice", "options": ["a", "b"]}), json!("b"), json!("c")),
            (json!({"type": "multi_choice", "options": ["a", "b"]}), json!(["b", "a"]), json!(["a", "a"])),
            (json!({"type": "date"}), json!("2026-02-28"), json!("2026-02-30")),
            (
                json!({"type": "file"}),
                json!({"name": "a.txt", "media_type": "text/plain", "content_base64": "aGk="}),
                json!({"name": "a.txt", "media_type": "text/plain", "content_base64": "not base64!"}),
            ),
        ];
        for (input, fits, does_not) in cases {
            let body = json!({"kind": "input", "session": "s", "question": "which?", "input": input});
            let request = kit.create(&bot, body).await.unwrap().request;
            assert!(pointer(kit.answer(&ann, &request, does_not).await).starts_with("/answer"), "{input}");
            assert_eq!(pointer(kit.approve(&ann, &request).await), "/decision");
            let answered = kit.answer(&ann, &request, fits.clone()).await.unwrap();
            assert_eq!(answered.state, State::Answered);
            let read = kit.read(request.id).await;
            assert_eq!(read.decision.unwrap().content.unwrap().answer, Some(fits));
        }
        let required = json!({"kind": "input", "session": "s", "question": "which?", "input": {"type": "text"}});
        let request = kit.create(&bot, required).await.unwrap().request;
        assert_eq!(pointer(kit.answer(&ann, &request, json!(null)).await), "/answer");
    }

    async fn a_confirmation_takes_a_yes_or_a_no_and_nothing_else(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let body = json!({"kind": "confirmation", "session": "s", "message": "sure?", "confirm_label": "Go", "cancel_label": "Stop"});
        let request = kit.create(&bot, body.clone()).await.unwrap().request;
        assert_eq!(pointer(kit.answer(&ann, &request, json!("maybe")).await), "/decision");
        assert_eq!(pointer(kit.edit(&ann, &request, json!({})).await), "/decision");
        let approved = kit.approve(&ann, &request).await.unwrap();
        assert!(approved.state == State::Approved && approved.is_final());
        let request = kit.create(&bot, body).await.unwrap().request;
        assert_eq!(kit.deny(&ann, &request).await.unwrap().state, State::Denied);
    }

    async fn a_request_is_withdrawn_by_its_agent_and_taken_back_by_a_reviewer(kit) {
        let (bot, other, ann) = (kit.agent("bot").await, kit.agent("other").await, kit.reviewer("ann").await);
        let pending = kit.ask(&bot).await;
        assert_eq!(refusal(kit.gate().cancel(&other, pending.id, None, None).await), Refusal::NotFound);
        assert_eq!(kit.gate().cancel(&bot, pending.id, None, None).await.unwrap().state, State::Cancelled);
        assert_eq!(refusal(kit.approve(&ann, &pending).await), Refusal::Cancelled);
        let approved = kit.approved(&bot, &ann).await;
        assert_eq!(kit.gate().cancel(&bot, approved.id, None, None).await.unwrap().state, State::Cancelled);
        let approved = kit.approved(&bot, &ann).await;
        assert_eq!(kit.gate().revoke(&ann, approved.id, Some("second thoughts".to_owned()), None).await.unwrap().state, State::Revoked);
        assert_eq!(refusal(kit.gate().claim(&bot, approved.id, None, None).await), Refusal::NotApproved);
        let claimed = kit.approved(&bot, &ann).await;
        kit.gate().claim(&bot, claimed.id, None, None).await.unwrap();
        assert_eq!(refusal(kit.gate().revoke(&ann, claimed.id, None, None).await), Refusal::AlreadyClaimed);
        assert_eq!(refusal(kit.gate().cancel(&bot, claimed.id, None, None).await), Refusal::AlreadyClaimed);
    }

    async fn what_was_asked_is_read_back_exactly_as_it_was_hashed(kit) {
        let (bot, ann) = (kit.agent("bot").await, kit.reviewer("ann").await);
        let arguments = json!({"\u{202e}x": "\u{0}\u{1f600}", "n": 1e21, "deep": [[{"a": null}]], "z": 9_007_199_254_740_991_i64});
        let body = json!({"kind": "action", "session": "s\u{0}", "tool": "t", "arguments": arguments, "context": {"cwd": "/"}, "group": "g\u{0}"});
        let request = kit.create(&bot, body).await.unwrap().request;
        kit.restart().await;
        let read = kit.read(request.id).await;
        assert_eq!(read, *request);
        kit.approve(&ann, &read).await.unwrap();
        let claimed = kit.gate().claim(&bot, request.id, None, None).await.unwrap();
        assert_eq!(claimed.request.effective_arguments(), arguments.as_object());
    }
}
