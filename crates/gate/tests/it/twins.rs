//! Planted bugs, and the tests that must catch them.

#[test]
fn each_planted_bug_is_caught() {
    placet_testkit::each_is_caught(&[
        (
            "agent-skips-a-tier",
            "escalating::an_agents_own_deadline_does_not_shorten_the_time_of_the_first_tier::sqlite",
        ),
        (
            "stolen-votes-count",
            "stolen::a_vote_of_a_revoked_key_counts_no_more_unless_the_admin_keeps_it::sqlite",
        ),
        (
            "grant-forgets-the-folder",
            "standing::a_yes_to_a_call_counts_in_the_folder_that_it_was_given_in::sqlite",
        ),
        ("trust-forgets-the-folder", "standing::trust_is_earned_in_one_folder_and_lost_in_all::sqlite"),
        ("batch-earns-trust", "standing::three_that_were_looked_at_once_earn_trust_once::sqlite"),
        (
            "time-runs-back",
            "clocks::what_had_expired_is_not_approved_after_a_restart_with_the_clock_set_back::sqlite",
        ),
        ("history-is-not-compared", "histories::a_database_that_went_back_gives_no_second_permit::sqlite"),
        (
            "freeze-is-ignored",
            "freezing::while_everything_is_frozen_nothing_passes_and_everything_can_be_read_and_denied::sqlite",
        ),
        (
            "every-door-resolves-paths",
            "workspace::what_happens_in_an_open_folder_passes_from_the_hook_program_alone::sqlite",
        ),
        (
            "anybody-confines",
            "confine::what_is_allowed_confined_passes_for_the_marked_hook_program_alone::sqlite",
        ),
        ("closed-folder-stays-open", "workspace::a_folder_that_is_closed_is_closed_on_every_node_at_once"),
        ("old-report-counts", "coverage::a_report_counts_on_every_node_at_once"),
        ("keys-step-up", "rules::a_step_up_needs_the_code_of_exactly_this_request::sqlite"),
        (
            "readers-may-write",
            "readers::what_the_sentence_says_is_held_against_a_rule_that_says_less::sqlite",
        ),
        (
            "view-drops-a-pointer",
            "viewing::the_card_has_every_leaf_and_the_record_of_a_restarted_server_has_the_same::sqlite",
        ),
        (
            "any-view-will-do",
            "viewing::a_yes_made_from_another_card_is_refused_with_the_record_and_changes_nothing::sqlite",
        ),
    ]);
}
