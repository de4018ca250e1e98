//! Files of web traffic, as they appear in the results.

use longpipe_events::Time;

/// A file that a client requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Class, counted from 0.
    pub class: u32,
    /// Length [byte].
    pub bytes: u64,
    /// Time of the request.
    pub requested: Time,
    /// Time at which the whole request had reached the server; the server then writes the file.
    pub answered: Option<Time>,
    /// Time at which the client had received the whole file and all earlier data.
    pub completed: Option<Time>,
}
