//! Capture of live packets as a pcapng file: each packet when it enters and when it leaves, or when it is lost, with link
//! and cause.

use crate::path::{cause_number, CAUSE_NAMES};
use longpipe_events::Time;
use longpipe_network::observe::capture::pcapng::{Direction, Interface, LinkType, Writer};
use longpipe_network::{DropCause, Link};
use std::io;
use std::path::Path;

/// A capture file being written.
#[derive(Debug)]
pub struct Capture {
    writer: Writer,
    /// Names of the links.
    links: Vec<String>,
}

impl Capture {
    /// Creates the file at `path`, replacing an existing file; `links` are the names of the network's links.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn create(path: &Path, links: Vec<String>) -> io::Result<Capture> {
        let interface = Interface {
            name: "path",
            description: "real packets as they enter and leave a simulated path",
            comment: "real packets; times count from the start of the run",
            link_type: LinkType::Raw,
            snap_length: u32::from(u16::MAX),
            speed: None,
        };
        Ok(Capture {
            writer: Writer::create(path, &interface)?,
            links,
        })
    }

    /// Captures an entering packet; `others` is the number of other packets on the path.
    pub fn enters(&mut self, at: Time, packet: &[u8], others: u64) {
        let comment = format!("enters with {others} on the path");
        self.put(at, packet, Direction::Inbound, Some(&comment));
    }

    /// Captures a leaving packet.
    pub fn leaves(&mut self, at: Time, packet: &[u8]) {
        self.put(at, packet, Direction::Outbound, None);
    }

    /// Captures the loss of a packet.
    pub fn loses(&mut self, at: Time, packet: &[u8], link: Option<Link>, cause: DropCause) {
        let place = link.and_then(|link| self.links.get(link.index()));
        let place = place.map_or("on the path", String::as_str);
        let comment = format!("lost at {place}, {}", CAUSE_NAMES[cause_number(cause)]);
        self.put(at, packet, Direction::Inbound, Some(&comment));
    }

    fn put(&mut self, at: Time, packet: &[u8], direction: Direction, comment: Option<&str>) {
        let append = |out: &mut Vec<u8>| out.extend_from_slice(packet);
        self.writer.packet(at, packet.len() as u32, direction, comment, append);
    }

    /// Writes the rest of the buffer.
    ///
    /// # Errors
    /// Returns an error if the file could not be written.
    pub fn finish(self) -> io::Result<()> {
        match self.writer.finish() {
            (_, Some(error)) => Err(error),
            _ => Ok(()),
        }
    }
}
