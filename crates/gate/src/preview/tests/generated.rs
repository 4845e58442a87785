//! Calls made from those of the corpus by changing them: nothing that is said of them may be false.
//!
//! The standard run takes a sample of each family. `PLACET_LONG=1` takes all of them.

mod patches;
mod rest;
mod shells;
mod sqls;

/// Calls of each family in the long form, and in the short one where each costs a process.
const ALL: usize = 500;
const SAMPLE: usize = 40;

/// How many calls of a family a run takes.
fn size() -> usize {
    if std::env::var("PLACET_LONG").is_ok_and(|long| long == "1") { ALL } else { SAMPLE }
}

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}
