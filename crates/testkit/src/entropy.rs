//! Random values that are the same in every run, and never the same twice in one run.

use std::sync::atomic::{AtomicU64, Ordering};

use placet_gate::Entropy;
use sha2::{Digest as _, Sha256};

/// Blocks that any instance of this process has used. Two kits of one test never share an identifier.
static BLOCK: AtomicU64 = AtomicU64::new(0);

/// SHA-256 of a seed and a counter.
#[derive(Debug, Clone, Copy, Default)]
pub struct SeededEntropy {
    seed: u64,
}

impl SeededEntropy {
    /// From a seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(32) {
            let block = BLOCK.fetch_add(1, Ordering::SeqCst);
            let hash = Sha256::new()
                .chain_update(self.seed.to_be_bytes())
                .chain_update(block.to_be_bytes())
                .finalize();
            part.copy_from_slice(&hash[..part.len()]);
        }
    }
}
