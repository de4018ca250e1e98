//! What a sender keeps until its connection is open.

use longpipe_events::Time;

/// What leaves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Nothing,
    Syn,
    Ack,
}

/// A connection that is not open yet.
#[derive(Clone, Copy, Debug)]
pub struct Opener {
    /// Bytes of options that a SYN alone has.
    pub bytes: u8,
    /// When the first SYN left, and how often it was sent again.
    pub first: Option<Time>,
    pub again: u32,
    pub due: Due,
    /// Whether somebody has to hear of each ACK afterwards.
    pub heeded: bool,
}

impl Opener {
    /// One that has sent nothing.
    pub fn new(bytes: u8) -> Opener {
        Opener {
            bytes,
            first: None,
            again: 0,
            due: Due::Syn,
            heeded: false,
        }
    }
}
