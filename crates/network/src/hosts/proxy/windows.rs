//! Advertised window of a receiver with a finite buffer, stored as its right edge: the first byte for which there is no
//! room.
//!
//! The edge never moves back, and advances by whole segments to avoid the silly window syndrome (RFC 9293 section
//! 3.8.6.2.2). For each edge, the number of the first ACK that carries it is stored.

use std::collections::VecDeque;

/// A right edge of the window, and the number of the first ACK that carries it.
#[derive(Clone, Copy, Debug)]
struct WindowEdge {
    /// Number of the first ACK that carries this edge.
    frame: u32,
    /// First byte for which there is no room.
    byte: u64,
    /// Whether that ACK is a pure window update.
    is_update: bool,
}

/// Windows that the receiver has advertised, and the window that the sender knows.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    buffer_bytes: u64,
    /// Payload of a full segment [byte].
    mss: u64,
    /// Latest edge.
    edge: u64,
    /// Edge of the latest ACK that was sent.
    advertised: u64,
    /// Edge that the sender knows.
    known: u64,
    /// Edges that the sender does not know yet.
    edges: VecDeque<WindowEdge>,
    /// Number of pure window updates.
    updates: u64,
}

/// Half the range of 31-bit frame numbers; the numbers of any two frames in transit differ by less than this.
const HALF: u32 = 1 << 30;

impl Windows {
    /// Creates the windows of an empty buffer. The sender knows the buffer's size from the start.
    pub(super) fn new(buffer_bytes: u64, mss: u32) -> Windows {
        let mss = u64::from(mss);
        let edge = buffer_bytes / mss * mss;
        Windows {
            buffer_bytes,
            mss,
            edge,
            advertised: edge,
            known: edge,
            edges: VecDeque::new(),
            updates: 0,
        }
    }

    /// Empties the buffer for a new connection, whose sender knows the buffer's size from the start.
    pub(super) fn renew(&mut self) {
        *self = Windows {
            updates: self.updates,
            ..Windows::new(self.buffer_bytes, self.mss as u32)
        };
    }

    /// Frees the first `freed` bytes; by now `received` bytes have arrived, and the next ACK has the number `next`.
    /// Returns whether this ACK should be sent now, because the window at least doubles (Linux: `tcp_cleanup_rbuf`).
    pub(super) fn open(&mut self, freed: u64, next: u32, received: u64) -> bool {
        let byte = freed.saturating_add(self.buffer_bytes) / self.mss * self.mss;
        if byte <= self.edge {
            return false;
        }
        let is_not_sent = self.edges.back().filter(|edge| edge.frame == next).is_some();
        if is_not_sent {
            self.edges.pop_back();
        } else {
            self.advertised = self.edge;
        }
        self.edge = byte;
        let (before, after) = (self.advertised.saturating_sub(received), byte - received);
        let is_update = after >= 2 * before;
        self.updates += u64::from(is_update);
        self.edges.push_back(WindowEdge {
            frame: next,
            byte,
            is_update,
        });
        is_update
    }

    /// Handles an ACK at the sender. Returns whether it is a pure window update.
    pub(super) fn on_ack(&mut self, frame: u32) -> bool {
        let mut is_update = false;
        while let Some(edge) = self.edges.front().filter(|edge| is_by(edge.frame, frame)) {
            is_update = edge.is_update && edge.frame == frame;
            self.known = edge.byte;
            self.edges.pop_front();
        }
        is_update
    }

    /// Returns the edge that the sender knows.
    pub(super) fn known(&self) -> u64 {
        self.known
    }

    /// Returns the buffer size [byte].
    pub(super) fn buffer_bytes(&self) -> u64 {
        self.buffer_bytes
    }

    /// Returns the number of pure window updates.
    pub(super) fn updates(&self) -> u64 {
        self.updates
    }
}

/// Returns whether `frame` is `other` or precedes it.
fn is_by(frame: u32, other: u32) -> bool {
    (other.wrapping_sub(frame) & (2 * HALF - 1)) < HALF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_edge_advances_by_whole_segments() {
        let mut windows = Windows::new(1050, 100);
        assert_eq!(windows.known(), 1000);
        // 49 more bytes are less than a segment; with 50 more bytes, the window has not doubled: it was 900 of 1000
        // bytes.
        assert!(!windows.open(49, 7, 100));
        assert!(!windows.open(50, 7, 100));
        assert!(!windows.on_ack(6));
        assert_eq!(windows.known(), 1000);
        assert!(!windows.on_ack(8));
        assert_eq!(windows.known(), 1100);
    }

    #[test]
    fn a_closed_window_that_opens_is_advertised_immediately() {
        let mut windows = Windows::new(1000, 100);
        assert!(!windows.open(99, 20, 1000));
        assert!(windows.open(100, 20, 1000));
        // Edge 1100 is advertised and 1010 bytes have arrived: the window grows from 90 to 190.
        assert!(windows.open(200, 21, 1010));
        // The window grows from 190 to 290.
        assert!(!windows.open(300, 22, 1010));
        assert!(windows.on_ack(20));
        assert_eq!((windows.known(), windows.updates()), (1100, 2));
    }

    #[test]
    fn numbers_wrap_around() {
        let last = 2 * HALF - 1;
        assert!(is_by(last, 0) && is_by(last, last) && !is_by(0, last));
    }
}
