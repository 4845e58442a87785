//! Numbered migrations, only ever adding. A database of a newer format is refused.

/// One step: its number and its SQL.
pub(crate) type Migration = (i64, &'static str);

pub(crate) const SQLITE: &[Migration] = &[
    (1, include_str!("../migrations/sqlite/0001_gate.sql")),
    (2, include_str!("../migrations/sqlite/0002_policy.sql")),
    (3, include_str!("../migrations/sqlite/0003_sign_in.sql")),
    (4, include_str!("../migrations/sqlite/0004_reads.sql")),
    (5, include_str!("../migrations/sqlite/0005_events.sql")),
    (6, include_str!("../migrations/sqlite/0006_notes.sql")),
    (7, include_str!("../migrations/sqlite/0007_credentials.sql")),
    (8, include_str!("../migrations/sqlite/0008_freezes.sql")),
    (9, include_str!("../migrations/sqlite/0009_time.sql")),
    (10, include_str!("../migrations/sqlite/0010_bound.sql")),
    (11, include_str!("../migrations/sqlite/0011_folders.sql")),
    (12, include_str!("../migrations/sqlite/0012_lists.sql")),
    (13, include_str!("../migrations/sqlite/0013_levels.sql")),
];
pub(crate) const POSTGRES: &[Migration] = &[
    (1, include_str!("../migrations/postgres/0001_gate.sql")),
    (2, include_str!("../migrations/postgres/0002_policy.sql")),
    (3, include_str!("../migrations/postgres/0003_sign_in.sql")),
    (4, include_str!("../migrations/postgres/0004_reads.sql")),
    (5, include_str!("../migrations/postgres/0005_events.sql")),
    (6, include_str!("../migrations/postgres/0006_notes.sql")),
    (7, include_str!("../migrations/postgres/0007_credentials.sql")),
    (8, include_str!("../migrations/postgres/0008_freezes.sql")),
    (9, include_str!("../migrations/postgres/0009_time.sql")),
    (10, include_str!("../migrations/postgres/0010_bound.sql")),
    (11, include_str!("../migrations/postgres/0011_folders.sql")),
    (12, include_str!("../migrations/postgres/0012_lists.sql")),
    (13, include_str!("../migrations/postgres/0013_levels.sql")),
];

/// The newest format that this program knows; both databases are always at the same.
pub(crate) const KNOWN: i64 = 13;

/// The first format with policies, standing approvals and trust.
pub(crate) const POLICY: i64 = 2;

/// The first format with sessions, one-time links and passwords.
pub(crate) const SIGN_IN: i64 = 3;

/// The first format that knows owners of keys and voided credentials.
pub(crate) const CREDENTIALS: i64 = 7;

/// The first format with freezes.
pub(crate) const FREEZES: i64 = 8;

/// The first format whose sessions are bound to a browser.
pub(crate) const BOUND: i64 = 10;

/// The first format with the door of a request as a column, and a table of the people who decided it.
pub(crate) const LISTS: i64 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_backends_have_the_same_migrations_in_order() {
        for list in [SQLITE, POSTGRES] {
            let numbers: Vec<i64> = list.iter().map(|(number, _)| *number).collect();
            assert_eq!(numbers, (1..=KNOWN).collect::<Vec<_>>());
        }
    }
}
