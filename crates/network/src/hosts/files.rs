//! Files of web traffic, as results know them.

use longpipe_events::Time;

/// A file that a client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Its class, counted from 0.
    pub class: u32,
    /// Its length [byte].
    pub bytes: u64,
    /// When the client asked for it.
    pub requested: Time,
    /// When the whole request had reached the server, which wrote the file at once.
    pub answered: Option<Time>,
    /// When its last byte, and all before it, had reached the client.
    pub completed: Option<Time>,
}
