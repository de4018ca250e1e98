//! Hash of a run's final state, which is the same for equal runs in all engines.

use longpipe_events::{mix, Time};

/// An order-dependent hash of 64-bit words.
#[derive(Default)]
pub(crate) struct StateHash(u64);

impl StateHash {
    /// Returns the hash of all words added so far.
    pub(crate) fn value(&self) -> u64 {
        self.0
    }

    pub(crate) fn word(&mut self, word: u64) {
        self.0 = mix(self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mix(word.wrapping_add(1)));
    }

    pub(crate) fn instant(&mut self, time: Option<Time>) {
        self.word(time.map_or(u64::MAX, |time| time.0));
    }

    pub(crate) fn words(&mut self, words: impl IntoIterator<Item = u64>) {
        words.into_iter().for_each(|word| self.word(word));
    }
}
