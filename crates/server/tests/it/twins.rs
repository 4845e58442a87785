//! Planted bugs, and the tests that must catch them.

#[test]
fn each_planted_bug_is_caught() {
    placet_testkit::each_is_caught(&[
        ("whose-call-is-forgotten", "again::an_approval_for_one_user_is_never_found_by_another"),
        ("cookie-is-enough", "proofs::with_the_cookie_alone_every_route_gives_nothing_and_changes_nothing"),
        ("proofs-work-twice", "proofs::a_copy_of_a_signed_change_does_not_undo_what_came_after::sqlite"),
        ("page-drops-a-value", "pages::found::every_value_is_found_on_the_page"),
        (
            "tickets-work-twice",
            "proofs::a_ticket_opens_one_stream_of_its_own_session_within_thirty_seconds::sqlite",
        ),
    ]);
}
