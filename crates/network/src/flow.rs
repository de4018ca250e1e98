//! One TCP connection in the network: its end points and the frames between them.

use crate::ring::Ring;
use crate::scenario::TrafficConfig;
use longpipe_events::Time;
use longpipe_tcp::{sender::GREEDY, AckSegment, DataSegment, Receiver, Sender};

/// Packets of one VC on their way, in order.
#[derive(Clone, Debug)]
pub struct Circuit<T>(Ring<T>);

impl<T: Copy + Default> Default for Circuit<T> {
    fn default() -> Self {
        Circuit(Ring::default())
    }
}

impl<T: Copy + Default> Circuit<T> {
    /// Puts a packet on the circuit; returns its frame number.
    pub fn send(&mut self, packet: T) -> u32 {
        self.0.push(packet);
        (self.0.tail() - 1) as u32
    }

    /// Takes the packet of a frame off the circuit, and those before it, which were lost.
    pub fn take(&mut self, frame: u32) -> T {
        let number = self.number(frame);
        let packet = *self.0.get(number);
        self.0.drop_before(number + 1);
        packet
    }

    /// The packet of a frame.
    pub fn get(&self, frame: u32) -> &T {
        self.0.get(self.number(frame))
    }

    fn number(&self, frame: u32) -> u64 {
        let head = self.0.head();
        head + u64::from(frame.wrapping_sub(head as u32))
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
