//! The source of ids, nonces and secrets: the operating system, and nothing else outside tests.

/// A source of unguessable bytes.
pub trait Entropy: Send + Sync + 'static {
    /// Fills the slice.
    fn fill(&self, bytes: &mut [u8]);
}

/// The operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "this is the source that everybody else is given")]
    fn fill(&self, bytes: &mut [u8]) {
        // Without randomness ids could be guessed and nonces repeated, so it is better to stop.
        getrandom::fill(bytes).expect("the operating system must provide randomness");
    }
}
