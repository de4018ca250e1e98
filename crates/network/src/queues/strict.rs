//! Strict priority: of all classes where something waits the first one sends.

use super::{Backlog, Queued};

/// A queue for each class.
#[derive(Clone, Debug)]
pub struct Strict<T> {
    classes: Vec<Backlog<T>>,
}

impl<T: Queued> Strict<T> {
    /// So many classes, at least one.
    pub fn new(classes: u32) -> Strict<T> {
        Strict {
            classes: (0..classes).map(|_| Backlog::default()).collect(),
        }
    }

    /// A packet of a class comes.
    pub fn enqueue(&mut self, class: u32, packet: T) {
        self.classes[class as usize].push(packet);
    }

    /// The packet that leaves now, if any.
    pub fn dequeue(&mut self) -> Option<T> {
        self.classes.iter_mut().find_map(Backlog::pop)
    }

    /// Packets that wait, and their bytes.
    pub fn held(&self) -> (u64, u64) {
        let sums = |(packets, bytes), class: &Backlog<T>| (packets + class.len(), bytes + class.bytes());
        self.classes.iter().fold((0, 0), sums)
    }

    /// The same of one class.
    pub fn held_in(&self, class: u32) -> (u64, u64) {
        let backlog = &self.classes[class as usize];
        (backlog.len(), backlog.bytes())
    }
}
