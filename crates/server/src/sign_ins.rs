//! Tries to sign in. Wrong passwords make the next tries slower, by address and by name; none locks anybody out.
//!
//! A try that comes too soon is not refused: it waits, and is then looked at like any other. So the right password gets in
//! whatever others try. Only so many tries wait at a time. An address from which a name signed in before has an
//! allowance of its own for that name: what others do with the name elsewhere does not slow it down.

use std::{
    collections::HashMap,
    hash::Hash,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::StatusCode;
use placet_core::valid_name;
use tokio::time::Instant;

use crate::{problem::Problem, shares::household};

/// Wrong tries that cost nothing yet.
const FREE: u32 = 5;
/// Wrong tries that are counted at most.
const MOST: u32 = 40;
/// How long one wrong try is held against an address or a name.
const FORGIVEN: Duration = Duration::from_secs(10);
/// Addresses, names and pairs that are remembered at most.
const REMEMBERED: usize = 10_000;
/// Tries under way: of one name from one address, from one address, and in all.
const PAIR_SEATS: usize = 4;
const ADDRESS_SEATS: usize = 32;
const ALL_SEATS: usize = 512;

/// How long the next try waits after so many wrong ones, in steps: 1, 2, 4, 8 for a while, and then up to 32.
fn steps(wrong: u32) -> u32 {
    match wrong.saturating_sub(FREE - 1) {
        0 => 0,
        few @ 1..=3 => 1 << (few - 1),
        many => (many.saturating_sub(4)).clamp(8, 32),
    }
}

/// Wrong tries, which are forgiven with time.
#[derive(Debug)]
struct Counts<K>(HashMap<K, (u32, Instant)>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

fn left(count: (u32, Instant), now: Instant) -> u32 {
    let forgiven = now.saturating_duration_since(count.1).as_secs() / FORGIVEN.as_secs();
    count.0.saturating_sub(u32::try_from(forgiven).unwrap_or(u32::MAX))
}

impl<K: Hash + Eq + Clone> Counts<K> {
    /// Counts one more, and says how many there were before.
    fn add(&mut self, key: &K, now: Instant) -> u32 {
        let before = self.0.get(key).map_or(0, |count| left(*count, now));
        self.set(key, before.saturating_add(1).min(MOST), now);
        before
    }

    /// Takes one back.
    fn forgive(&mut self, key: &K, now: Instant) {
        if let Some(count) = self.0.get_mut(key) {
            *count = (left(*count, now).saturating_sub(1), now);
        }
    }

    fn set(&mut self, key: &K, count: u32, now: Instant) {
        if self.0.len() >= REMEMBERED && !self.0.contains_key(key) {
            self.tidy(now);
            // Still full: any one makes room.
            if self.0.len() >= REMEMBERED
                && let Some(any) = self.0.keys().next().cloned()
            {
                self.0.remove(&any);
            }
        }
        self.0.insert(key.clone(), (count, now));
    }

    fn tidy(&mut self, now: Instant) {
        self.0.retain(|_, count| left(*count, now) > 0);
    }
}

type Pair = (String, Option<IpAddr>);

#[derive(Debug, Default)]
struct Tables {
    addresses: Counts<Option<IpAddr>>,
    names: Counts<String>,
    // Only of pairs that signed in before; kept at zero, too.
    pairs: Counts<Pair>,
    pair_seats: HashMap<Pair, usize>,
    address_seats: HashMap<Option<IpAddr>, usize>,
    all_seats: usize,
}

/// Everything that is remembered of tries to sign in.
#[derive(Debug)]
pub(crate) struct SignIns {
    tables: Mutex<Tables>,
    step: Duration,
}

impl SignIns {
    pub(crate) fn new(step: Duration) -> Self {
        Self { tables: Mutex::default(), step }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more try with a password. Returns when it may be looked at.
    pub(crate) async fn begin(&self, peer: Option<IpAddr>, name: &str) -> Result<Try<'_>, Problem> {
        let now = Instant::now();
        let (begun, wait) = self.enter(peer, name, now)?;
        tokio::time::sleep_until(now + wait).await;
        Ok(begun)
    }

    /// The same with how long it has to wait.
    fn enter(&self, peer: Option<IpAddr>, name: &str, now: Instant) -> Result<(Try<'_>, Duration), Problem> {
        // What cannot be a name counts as one: long ones would fill the memory.
        let name = if valid_name(name) { name } else { "" };
        let begun = self.seat((name.to_owned(), peer.map(household)))?;
        let wait = self.step * steps(begun.count(now));
        Ok((begun, wait))
    }

    fn seat(&self, pair: Pair) -> Result<Try<'_>, Problem> {
        let mut tables = self.tables();
        let known = tables.pairs.0.contains_key(&pair);
        let of_pair = tables.pair_seats.get(&pair).copied().unwrap_or(0);
        let of_address = tables.address_seats.get(&pair.1).copied().unwrap_or(0);
        let crowded = !known && (of_address >= ADDRESS_SEATS || tables.all_seats >= ALL_SEATS);
        if of_pair >= PAIR_SEATS || crowded {
            let detail = "too many tries to sign in are under way: wait a little";
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail).retry_after(1));
        }
        *tables.pair_seats.entry(pair.clone()).or_default() += 1;
        *tables.address_seats.entry(pair.1).or_default() += 1;
        tables.all_seats += 1;
        Ok(Try { sign_ins: self, pair, known })
    }

    /// Forgets what is forgiven.
    pub(crate) fn tidy(&self) {
        let now = Instant::now();
        let mut tables = self.tables();
        tables.addresses.tidy(now);
        tables.names.tidy(now);
    }
}

/// One try that is under way. It counts as wrong unless something else is said.
#[derive(Debug)]
pub(crate) struct Try<'a> {
    sign_ins: &'a SignIns,
    pair: Pair,
    known: bool,
}

impl Try<'_> {
    fn count(&self, now: Instant) -> u32 {
        let mut tables = self.sign_ins.tables();
        if self.known {
            return tables.pairs.add(&self.pair, now);
        }
        let by_address = tables.addresses.add(&self.pair.1, now);
        by_address.max(tables.names.add(&self.pair.0, now))
    }

    /// The password was right: this address is one of theirs.
    pub(crate) fn succeeded(self) {
        self.succeed(Instant::now());
    }

    fn succeed(self, now: Instant) {
        self.take_back(now);
        if !self.known {
            self.sign_ins.tables().pairs.set(&self.pair, 0, now);
        }
    }

    /// The password was not looked at.
    pub(crate) fn forgive(self) {
        self.take_back(Instant::now());
    }

    fn take_back(&self, now: Instant) {
        let mut tables = self.sign_ins.tables();
        if self.known {
            tables.pairs.forgive(&self.pair, now);
        } else {
            tables.addresses.forgive(&self.pair.1, now);
            tables.names.forgive(&self.pair.0, now);
        }
    }
}

impl Drop for Try<'_> {
    fn drop(&mut self) {
        fn leave<K: Hash + Eq>(seats: &mut HashMap<K, usize>, key: &K) {
            if let Some(mine) = seats.get_mut(key) {
                *mine = mine.saturating_sub(1);
                if *mine == 0 {
                    seats.remove(key);
                }
            }
        }
        let mut tables = self.sign_ins.tables();
        leave(&mut tables.pair_seats, &self.pair);
        leave(&mut tables.address_seats, &self.pair.1);
        tables.all_seats = tables.all_seats.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(250);

    fn at(last: u8) -> IpAddr {
        IpAddr::from([203, 0, 113, last])
    }

    /// Tries, with a clock of their own.
    struct Place {
        sign_ins: SignIns,
        now: Instant,
    }

    impl Place {
        fn new() -> Self {
            Self { sign_ins: SignIns::new(STEP), now: Instant::now() }
        }

        /// How many steps a try waits.
        fn waits(&mut self, peer: IpAddr, name: &str, right: bool) -> u32 {
            let (begun, wait) = self.sign_ins.enter(Some(peer), name, self.now).expect("a seat");
            self.now += wait;
            if right {
                begun.succeed(self.now);
            }
            u32::try_from(wait.as_millis() / STEP.as_millis()).unwrap()
        }
    }

    #[test]
    fn wrong_tries_slow_down_the_name_and_the_address_and_nobody_else() {
        let mut place = Place::new();
        let waited: Vec<u32> = (0..12).map(|_| place.waits(at(1), "ann", false)).collect();
        assert_eq!(waited, [0, 0, 0, 0, 0, 1, 2, 4, 8, 8, 8, 8]);
        assert_eq!(place.waits(at(2), "ben", false), 0, "another name from another address");
        assert!(place.waits(at(2), "ann", false) > 0, "the name from another address");
        assert!(place.waits(at(1), "carol", false) > 0, "another name from that address");
    }

    #[test]
    fn tries_never_wait_longer_than_so_and_are_forgiven_with_time() {
        let mut place = Place::new();
        let longest = (0..500).map(|_| place.waits(at(1), "ann", false)).max();
        assert_eq!(longest, Some(32));
        assert!(place.waits(at(1), "ann", true) > 0, "the right one waits and gets in");
        place.now += FORGIVEN * MOST;
        assert_eq!(place.waits(at(3), "ann", false), 0);
    }

    #[test]
    fn an_address_that_signed_in_before_is_not_slowed_down_by_others() {
        let mut place = Place::new();
        assert_eq!(place.waits(at(1), "ann", true), 0);
        for last in 10..200 {
            place.waits(at(last), "ann", false);
        }
        assert_eq!(place.waits(at(1), "ann", true), 0);
        // It has wrong tries of its own, though.
        for _ in 0..FREE {
            place.waits(at(1), "ann", false);
        }
        assert!(place.waits(at(1), "ann", true) > 0);
    }

    #[test]
    fn right_passwords_cost_nothing() {
        let mut place = Place::new();
        assert!((0..100).all(|_| place.waits(at(1), "ann", true) == 0));
        for _ in 0..100 {
            let (begun, wait) = place.sign_ins.enter(Some(at(2)), "ben", place.now).expect("a seat");
            assert_eq!(wait, Duration::ZERO, "what was not looked at costs nothing either");
            begun.take_back(place.now);
        }
    }

    #[test]
    fn only_so_many_tries_are_under_way_and_a_name_cannot_take_the_seats_of_others() {
        let place = Place::new();
        let enter =
            |peer, name: &str| place.sign_ins.enter(Some(peer), name, place.now).map(|(begun, _)| begun);
        let mut held: Vec<_> = (0..PAIR_SEATS).map(|_| enter(at(1), "ann").expect("a seat")).collect();
        assert!(enter(at(1), "ann").is_err());
        drop(enter(at(1), "ben").expect("another name has its own"));
        drop(enter(at(2), "ann").expect("another address has its own"));
        held.pop();
        drop(enter(at(1), "ann").expect("a seat that was given back"));
        drop(held);
        let tables = place.sign_ins.tables();
        assert!(tables.pair_seats.is_empty() && tables.address_seats.is_empty() && tables.all_seats == 0);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut place = Place::new();
        for index in 0..REMEMBERED + 100 {
            let peer = IpAddr::from(u32::try_from(index).unwrap().to_be_bytes());
            place.waits(peer, &format!("n{index}"), false);
            place.waits(peer, "ann", true);
        }
        let tables = place.sign_ins.tables();
        for remembered in [tables.addresses.0.len(), tables.names.0.len(), tables.pairs.0.len()] {
            assert!(remembered <= REMEMBERED, "{remembered}");
        }
    }
}
