//! The sender's state during the handshake (SYN, SYN-ACK, ACK).

use longpipe_events::Time;

/// The handshake packet to be sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Nothing,
    Syn,
    Ack,
}

/// State of a connection that is not established yet.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    /// Bytes of options that only the SYN carries.
    pub bytes: u8,
    /// Time at which the first SYN was sent, and the number of its retransmissions.
    pub first: Option<Time>,
    pub retransmissions: u32,
    pub due: Due,
    /// Whether other features require the slow path for every ACK once the connection is established.
    pub slow_path: bool,
}

impl Handshake {
    /// Returns the state before the SYN is sent.
    pub fn new(bytes: u8) -> Handshake {
        Handshake {
            bytes,
            first: None,
            retransmissions: 0,
            due: Due::Syn,
            slow_path: false,
        }
    }
}
