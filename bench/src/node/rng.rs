//! A small seeded generator: the same seed gives the same run, cut for cut.

/// SplitMix64: one 64-bit state, good enough to choose moments and sectors.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator for this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An independent generator for a named part of the run.
    #[must_use]
    pub fn fork(&self, part: u64) -> Self {
        let mut child = Self(self.0 ^ part.wrapping_mul(0xD1B5_4A32_D192_ED03));
        child.next();
        child
    }

    /// The next 64 bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "it never ends, so an iterator would only get in the way"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; 0 when the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }

    /// An index into something of this length.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in this many of a hundred calls.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.index(from.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_forks_differ() {
        let (mut a, mut b) = (Rng::new(7), Rng::new(7));
        assert_eq!(
            (0..50).map(|_| a.next()).collect::<Vec<_>>(),
            (0..50).map(|_| b.next()).collect::<Vec<_>>()
        );
        assert_ne!(Rng::new(7).fork(1).next(), Rng::new(7).fork(2).next());
        assert!((0..1000).all(|_| (3..=5).contains(&a.between(3, 5))));
    }
}
