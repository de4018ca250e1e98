//! Flow queueing (RFC 8290 section 4): the assignment of flows to queues, and the order of the queues' turns.

use longpipe_events::{mix, Ring};

/// Assignment of flows to queues.
#[derive(Clone, Copy, Debug)]
pub struct FlowHash {
    /// Salt of the hash; None gives each flow its own queue.
    salt: Option<u64>,
    queues: u64,
}

impl FlowHash {
    /// Distributes flows among `queues` queues by a hash with the given salt, or gives each of `flows` flows a queue.
    pub fn new(queues: Option<u32>, flows: usize, salt: u64) -> FlowHash {
        FlowHash {
            salt: queues.map(|_| salt),
            queues: queues.map_or(flows as u64, u64::from),
        }
    }

    /// Returns the number of queues.
    pub fn queues(&self) -> u64 {
        self.queues
    }

    /// Returns the queue of a flow.
    #[inline]
    pub fn queue_of(&self, flow: u32) -> u32 {
        let Some(salt) = self.salt else {
            return flow;
        };
        let hash = mix(salt ^ u64::from(flow));
        // The number of queues is usually a power of two, for which no division is needed.
        let queue = if self.queues.is_power_of_two() {
            hash & (self.queues - 1)
        } else {
            hash % self.queues
        };
        queue as u32
    }
}

/// Queues that wait for a turn: new queues, which are served first, and old queues.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    new: Ring<u32>,
    old: Ring<u32>,
}

impl Turns {
    /// Returns whether no queue waits for a turn.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.old.is_empty()
    }

    /// Returns whether no old queue waits for a turn.
    #[inline]
    pub fn has_no_old(&self) -> bool {
        self.old.is_empty()
    }

    /// Returns the number of queues that wait for a turn.
    pub fn len(&self) -> u64 {
        self.new.len() + self.old.len()
    }

    /// Returns the queues that wait for a turn.
    pub fn iter(&self) -> impl Iterator<Item = &u32> {
        self.new.iter().chain(self.old.iter())
    }

    /// Returns the queue whose turn it is, and whether it is a new queue.
    #[inline]
    pub fn first(&self) -> Option<(u32, bool)> {
        match self.new.first() {
            Some(&queue) => Some((queue, true)),
            None => Some((*self.old.first()?, false)),
        }
    }

    /// Adds a queue to the new queues.
    #[inline]
    pub fn join(&mut self, queue: u32) {
        self.new.push(queue);
    }

    /// Removes the queue whose turn it is.
    #[inline]
    pub fn leave(&mut self, is_new: bool) {
        if is_new {
            self.new.pop();
        } else {
            self.old.pop();
        }
    }

    /// Moves the queue whose turn it is to the end of the old queues.
    #[inline]
    pub fn defer(&mut self, queue: u32, is_new: bool) {
        self.leave(is_new);
        self.old.push(queue);
    }

    /// Removes and returns a queue.
    #[inline]
    pub fn remove(&mut self) -> Option<u32> {
        self.new.pop().or_else(|| self.old.pop())
    }
}
