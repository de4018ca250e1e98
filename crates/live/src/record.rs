//! A record of the packets that entered the path. It consists of 16-byte entries; the last entry marks the end, and
//! contains the hash of all decisions.
//!
//! ```text
//! arrival:  time [ps] (8), circuit (4), length [byte] (2), flags: 1 may be marked, 2 is marked, 4 has ECT(1) (1), 0 (1)
//! end:      time [ps] (8), 0 (7), 1 (1); then the hash (8) and the number of arrivals (8)
//! ```

use crate::path::Arrival;
use longpipe_events::{Span, Time};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{sync_channel, SyncSender};
use std::thread::JoinHandle;

/// Size of an entry [byte].
pub const ENTRY: usize = 16;
/// Entries per write.
const BATCH: usize = 4096;
/// Number of batches that may be queued for writing to disk before the path has to wait.
const WAITING: usize = 1024;
const CAPABLE: u8 = 1;
const MARKED: u8 = 2;
const SCALABLE: u8 = 4;
const END: u8 = 1;
/// Maximum time between two entries: one day. A record that contains a longer pause is damaged.
const LONGEST_PAUSE: Span = Span(86_400_000_000_000_000);

/// End of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Time of the end.
    pub at: Time,
    /// Hash of all decisions.
    pub decisions: u64,
    /// Number of packets that entered.
    pub arrivals: u64,
}

/// A record that a separate thread writes.
#[derive(Debug)]
pub struct Recorder {
    batch: Vec<u8>,
    arrivals: u64,
    to: Option<SyncSender<Vec<u8>>>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl Recorder {
    /// Appends entries to the file at `path`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened.
    pub fn append(path: &Path) -> io::Result<Recorder> {
        let mut file = OpenOptions::new().append(true).open(path)?;
        let (to, batches) = sync_channel::<Vec<u8>>(WAITING);
        let writer = std::thread::spawn(move || batches.into_iter().try_for_each(|batch| file.write_all(&batch)));
        Ok(Recorder {
            batch: Vec::with_capacity(BATCH * ENTRY),
            arrivals: 0,
            to: Some(to),
            writer: Some(writer),
        })
    }

    /// Records a packet that entered the path.
    pub fn put(&mut self, arrival: &Arrival) {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(arrival.capable, CAPABLE) | flag(arrival.marked, MARKED) | flag(arrival.scalable, SCALABLE);
        self.batch.extend_from_slice(&arrival.at.0.to_le_bytes());
        self.batch.extend_from_slice(&arrival.circuit.to_le_bytes());
        self.batch.extend_from_slice(&arrival.bytes.to_le_bytes());
        self.batch.extend_from_slice(&[flags, 0]);
        self.arrivals += 1;
        if self.batch.len() >= BATCH * ENTRY {
            self.send_batch();
        }
    }

    /// Writes the entries since the last write, in the writer's thread.
    pub fn flush(&mut self) {
        if !self.batch.is_empty() {
            self.send_batch();
        }
    }

    fn send_batch(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH * ENTRY));
        if let Some(to) = &self.to {
            // If the writer has failed, `finish` returns its error.
            let _ = to.send(batch);
        }
    }

    /// Writes the end of the record.
    ///
    /// # Errors
    /// Returns an error if the record could not be written.
    pub fn finish(mut self, at: Time, decisions: u64) -> io::Result<()> {
        self.batch.extend_from_slice(&at.0.to_le_bytes());
        self.batch.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, END]);
        self.batch.extend_from_slice(&decisions.to_le_bytes());
        self.batch.extend_from_slice(&self.arrivals.to_le_bytes());
        self.send_batch();
        self.to = None;
        self.writer.take().map_or(Ok(()), |writer| {
            writer
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the writer failed")))
        })
    }
}

/// Errors that can occur when a record is read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{0}")]
    File(#[from] io::Error),
    /// An invalid entry, given by its number.
    #[error("entry {0}: not a valid entry of a record")]
    Entry(u64),
    /// The time since the previous entry is too long.
    #[error("entry {0}: {1} s after the previous entry; needs at most one day")]
    Pause(u64, u64),
}

/// Reads the entries of the file at `path` from byte `offset` on, and calls `each` for every entry. Returns the end of
/// the record, or None if it is incomplete.
///
/// # Errors
/// Returns an error if the file cannot be read or is invalid, and passes on the first error that `each` returns.
pub fn read<E: From<ReadError>>(
    path: &Path,
    offset: u64,
    mut each: impl FnMut(Arrival) -> Result<(), E>,
) -> Result<Option<End>, E> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(ReadError::File)?;
    let body = bytes.get(offset as usize..).unwrap_or_default();
    let (mut number, mut last) = (0, Time::ZERO);
    let mut entries = body.chunks_exact(ENTRY);
    while let Some(entry) = entries.next() {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| entry[at + byte]));
        let at = Time(word(0));
        if at < last || entry[15] > END || entry[14] > CAPABLE | MARKED | SCALABLE {
            return Err(ReadError::Entry(number).into());
        }
        if at - last > LONGEST_PAUSE {
            return Err(ReadError::Pause(number, (at - last).0 / 1_000_000_000_000).into());
        }
        if entry[15] == END {
            let Some(rest) = entries.next() else { return Ok(None) };
            let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| rest[at + byte]));
            let end = End {
                at,
                decisions: word(0),
                arrivals: word(8),
            };
            if end.arrivals != number {
                return Err(ReadError::Entry(number).into());
            }
            return Ok(Some(end));
        }
        let arrival = Arrival {
            at,
            circuit: u32::from_le_bytes(std::array::from_fn(|byte| entry[8 + byte])),
            bytes: u16::from_le_bytes([entry[12], entry[13]]),
            capable: entry[14] & CAPABLE != 0,
            scalable: entry[14] & SCALABLE != 0,
            marked: entry[14] & MARKED != 0,
        };
        each(arrival)?;
        (number, last) = (number + 1, at);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_as_written() {
        let path = std::env::temp_dir().join(format!("longpipe-record-{}", std::process::id()));
        std::fs::write(&path, b"head").expect("a place for files");
        let mut recorder = Recorder::append(&path).expect("a file");
        let arrival = |n: u32| Arrival {
            at: Time(u64::from(n) * 7),
            circuit: n,
            bytes: n as u16,
            capable: n % 2 == 1,
            scalable: n % 4 == 1,
            marked: n % 4 == 3,
        };
        (0..10_000).for_each(|n| recorder.put(&arrival(n)));
        recorder.finish(Time(80_000), 42).expect("room");
        let mut found = vec![];
        let keep = |arrival| {
            found.push(arrival);
            Ok::<(), ReadError>(())
        };
        let end = read(&path, 4, keep).expect("a record");
        let expected = End {
            at: Time(80_000),
            decisions: 42,
            arrivals: 10_000,
        };
        assert_eq!(end, Some(expected));
        assert!(found.into_iter().eq((0..10_000).map(arrival)));
        // This truncates the record.
        let bytes = std::fs::read(&path).expect("the file");
        std::fs::write(&path, &bytes[..4 + 3 * ENTRY + 5]).expect("room");
        let ends = |offset| read(&path, offset, |_| Ok::<(), ReadError>(()));
        assert!(ends(4).is_ok_and(|end| end.is_none()));
        std::fs::write(&path, [0xff; 64]).expect("room");
        assert!(matches!(ends(0), Err(ReadError::Entry(0))));
        // A pause of 58 days and 19 hours, then an undefined flag.
        let mut entry = [0; ENTRY];
        entry[..8].copy_from_slice(&5_081_277_178_699_218_000_u64.to_le_bytes());
        std::fs::write(&path, entry).expect("room");
        assert!(matches!(ends(0), Err(ReadError::Pause(0, 5_081_277))));
        entry = [0; ENTRY];
        entry[14] = 8;
        std::fs::write(&path, entry).expect("room");
        assert!(matches!(ends(0), Err(ReadError::Entry(0))));
        std::fs::remove_file(&path).expect("the file");
    }
}
