//! What passed, as a pcapng file: each packet as it enters and as it leaves, and as it is lost with where and why.

use crate::path::{cause_number, CAUSE_NAMES};
use longpipe_events::Time;
use longpipe_network::observe::capture::pcapng::{Direction, Interface, LinkType, Writer};
use longpipe_network::{DropCause, Link};
use std::io;
use std::path::Path;

/// A file being written.
#[derive(Debug)]
pub struct Capture {
    writer: Writer,
    /// What each link is called.
    links: Vec<String>,
}

impl Capture {
    /// A new file at `path`, of a network whose links are called so, in place of one that may be there.
    ///
    /// # Errors
    /// The file can't be made.
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

    /// A packet enters, with so many others on the path.
    pub fn enters(&mut self, at: Time, packet: &[u8], others: u64) {
        let comment = format!("enters with {others} on the path");
        self.put(at, packet, Direction::Inbound, Some(&comment));
    }

    /// A packet leaves.
    pub fn leaves(&mut self, at: Time, packet: &[u8]) {
        self.put(at, packet, Direction::Outbound, None);
    }

    /// A packet is lost.
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

    /// Writes what is left.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn finish(self) -> io::Result<()> {
        match self.writer.finish() {
            (_, Some(error)) => Err(error),
            _ => Ok(()),
        }
    }
}
