//! Clients: they request files, which the flow's sender returns.

use longpipe_events::{MaybeTime, Span, Time};
use std::fmt::Debug;

/// A requested file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index of the file's kind: of the class of file sizes of a web client, or of the bitrate of a video player.
    pub class: u32,
    /// Length [byte].
    pub bytes: u64,
}

/// Times that a player spent in playback and in stalls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Playback {
    /// Time of playback.
    pub played: Span,
    /// Time without playback since playback first began.
    pub stalled: Span,
    /// Number of times that the buffer became empty.
    pub stalls: u64,
    /// Time at which the first chunk had arrived completely.
    pub began: Option<Time>,
}

/// An application at the receiver of a flow, which requests the flow's data.
pub trait Client: Debug + Send {
    /// Payload [byte] of a request.
    fn request_bytes(&self) -> u32;

    /// Returns the request that is due now, and the time of the next request. The time is none for a client that waits for
    /// files; `next_request` returns it once it is known.
    fn request(&mut self, now: Time) -> (Request, MaybeTime);

    /// Returns whether the time of the next request depends on the arrival of files.
    fn waits_for_files(&self) -> bool {
        false
    }

    /// Invoked when a file of `bytes` bytes that was requested at `requested` has arrived.
    fn on_file(&mut self, _now: Time, _requested: Time, _bytes: u64) {}

    /// Returns the time of the next request of a client that waits for files; none while it waits.
    fn next_request(&self) -> MaybeTime {
        MaybeTime::NONE
    }

    /// Ends the requests of a client that waits for files.
    fn stop(&mut self, _now: Time) {}

    /// Returns the times spent in playback and in stalls up to `now`; None if the client is no player.
    fn playback(&self, _now: Time) -> Option<Playback> {
        None
    }
}
