//! One TCP connection in the network: its end points and the frames between them.

use crate::aal5::{frame_cells, Cell, Reassembler};
use crate::ring::Ring;
use crate::scenario::TrafficConfig;
use longpipe_events::Time;
use longpipe_tcp::{sender::GREEDY, AckSegment, DataSegment, Receiver, Sender};

/// Frames of one VC from the interface to the far host, in order.
#[derive(Clone, Debug)]
pub struct Circuit<T> {
    frames: Ring<T>,
    reassembler: Reassembler,
}

impl<T: Copy + Default> Default for Circuit<T> {
    fn default() -> Self {
        Circuit {
            frames: Ring::default(),
            reassembler: Reassembler::default(),
        }
    }
}

impl<T: Copy + Default> Circuit<T> {
    /// Puts a packet on the circuit; returns its frame number.
    pub fn send(&mut self, packet: T) -> u32 {
        self.frames.push(packet);
        (self.frames.tail() - 1) as u32
    }

    /// A cell reached the far host; returns the packet it completes, if any.
    #[inline]
    pub fn on_cell(&mut self, cell: Cell, packet_bytes: impl FnOnce(&T) -> u32) -> Option<T> {
        let head = self.frames.head();
        let number = head + u64::from(cell.frame.wrapping_sub(head as u32));
        let frames = &self.frames;
        let whole = self
            .reassembler
            .on_cell(cell, || frame_cells(packet_bytes(frames.get(number))))?;
        let packet = *self.frames.get(number);
        self.frames.drop_before(number + 1);
        whole.then_some(packet)
    }
}

/// A connection.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Sending end point.
    pub sender: Sender,
    /// Receiving end point.
    pub receiver: Receiver,
    /// Data on its way.
    pub data: Circuit<DataSegment>,
    /// ACKs on their way.
    pub acks: Circuit<AckSegment>,
    /// What the application sends in all [byte].
    pub size: u64,
    /// When the application begins.
    pub start: Time,
    /// When the last byte was delivered.
    pub completion: Option<Time>,
    /// When the agenda will look at the sender's timer.
    pub sender_armed: Option<Time>,
    /// When the agenda will look at the receiver's timer.
    pub receiver_armed: Option<Time>,
}

impl Flow {
    /// A connection that has sent nothing.
    pub fn new(sender: Sender, receiver: Receiver, traffic: &TrafficConfig, start: Time) -> Flow {
        Flow {
            sender,
            receiver,
            data: Circuit::default(),
            acks: Circuit::default(),
            size: match *traffic {
                TrafficConfig::Greedy {} => GREEDY,
                TrafficConfig::Transfer { size_bytes } => size_bytes,
            },
            start,
            completion: None,
            sender_armed: None,
            receiver_armed: None,
        }
    }
}
