//! The window that a receiver with a finite buffer advertises, as its right edge: the byte from which on there is no room.
//!
//! It never falls, and rises by whole segments (RFC 9293 section 3.8.6.2.2, against silly windows). Which ACK is the first to
//! have it is known by the ACK's number.

use std::collections::VecDeque;

/// An edge, from an ACK on.
#[derive(Clone, Copy, Debug)]
struct Edge {
    /// The first ACK that has it.
    frame: u32,
    byte: u64,
    /// Whether that ACK was sent to tell of it.
    alone: bool,
}

/// What the receiver has told, and what the sender has heard.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    buffer_bytes: u64,
    mss: u64,
    /// The latest edge, and what was told before.
    edge: u64,
    told: u64,
    /// What the sender knows.
    known: u64,
    /// Those beyond what it knows.
    edges: VecDeque<Edge>,
    updates: u64,
}

/// Frame numbers have 31 bits, and those on their way are within half of them.
const HALF: u32 = 1 << 30;

impl Windows {
    /// Of an empty buffer; the sender knows its size from the start.
    pub(super) fn new(buffer_bytes: u64, mss: u32) -> Windows {
        let mss = u64::from(mss);
        let edge = buffer_bytes / mss * mss;
        Windows {
            buffer_bytes,
            mss,
            edge,
            told: edge,
            known: edge,
            edges: VecDeque::new(),
            updates: 0,
        }
    }

    /// The first `freed` bytes no longer take room, while `received` have come and the next ACK has number `next`; whether it should
    /// leave now. As in Linux (`tcp_cleanup_rbuf`), that is where the window at least doubles.
    pub(super) fn open(&mut self, freed: u64, next: u32, received: u64) -> bool {
        let byte = freed.saturating_add(self.buffer_bytes) / self.mss * self.mss;
        if byte <= self.edge {
            return false;
        }
        let untold = self.edges.back().filter(|edge| edge.frame == next).is_some();
        if untold {
            self.edges.pop_back();
        } else {
            self.told = self.edge;
        }
        self.edge = byte;
        let (before, after) = (self.told.saturating_sub(received), byte - received);
        let alone = after >= 2 * before;
        self.updates += u64::from(alone);
        self.edges.push_back(Edge {
            frame: next,
            byte,
            alone,
        });
        alone
    }

    /// The sender hears of an ACK; whether that was sent to tell of the window.
    pub(super) fn hear(&mut self, frame: u32) -> bool {
        let mut alone = false;
        while let Some(edge) = self.edges.front().filter(|edge| is_by(edge.frame, frame)) {
            alone = edge.alone && edge.frame == frame;
            self.known = edge.byte;
            self.edges.pop_front();
        }
        alone
    }

    /// The edge that the sender knows.
    pub(super) fn known(&self) -> u64 {
        self.known
    }

    /// Room in all [byte].
    pub(super) fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes
    }

    /// ACKs that told of the window and nothing else.
    pub(super) fn updates(&self) -> u64 {
        self.updates
    }
}

/// Whether a frame is this one or came before it.
fn is_by(frame: u32, other: u32) -> bool {
    (other.wrapping_sub(frame) & (2 * HALF - 1)) < HALF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_rises_by_whole_segments_and_is_known_by_the_ack_that_has_it() {
        let mut windows = Windows::new(1050, 100);
        assert_eq!(windows.known(), 1000);
        // 49 bytes more are no segment; with 50 the window, 900 of 1000, has not doubled.
        assert!(!windows.open(49, 7, 100));
        assert!(!windows.open(50, 7, 100));
        assert!(!windows.hear(6));
        assert_eq!(windows.known(), 1000);
        assert!(!windows.hear(8));
        assert_eq!(windows.known(), 1100);
    }

    #[test]
    fn a_closed_window_that_opens_is_told_at_once() {
        let mut windows = Windows::new(1000, 100);
        assert!(!windows.open(99, 20, 1000));
        assert!(windows.open(100, 20, 1000));
        // 1100 are told, 1010 have come: from 90 to 190.
        assert!(windows.open(200, 21, 1010));
        // And from 190 to 290.
        assert!(!windows.open(300, 22, 1010));
        assert!(windows.hear(20));
        assert_eq!((windows.known(), windows.updates()), (1100, 2));
    }

    #[test]
    fn numbers_wrap_around() {
        let last = 2 * HALF - 1;
        assert!(is_by(last, 0) && is_by(last, last) && !is_by(0, last));
    }
}
