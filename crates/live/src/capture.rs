//! Capture of live packets as a pcapng file. Each host has an interface, on which a packet is captured when the host
//! sends it and when the host receives it. The last interface contains the packets that the path lost, each with the
//! link and the cause.

use longpipe_events::Time;
use longpipe_network::observe::capture::pcapng::{CaptureInterface, Direction, LinkType, Writer};
use longpipe_network::{DropCause, Link};
use std::collections::VecDeque;
use std::io;
use std::path::Path;

/// A capture file being written.
#[derive(Debug)]
pub struct Capture {
    writer: Writer,
    /// Number of the interface for lost packets, which equals the number of hosts.
    lost: u32,
    /// Names of the links.
    links: Vec<String>,
    /// Packets that entered after the time of the latest outcome of the path, in order. They are written later, because
    /// earlier outcomes may follow.
    entered: VecDeque<Entered>,
}

/// A packet that entered the path.
#[derive(Debug)]
struct Entered {
    at: Time,
    host: u32,
    packet: Vec<u8>,
    /// Number of other packets on the path.
    others: u64,
}

impl Capture {
    /// Creates the file at `path`, replacing an existing file; `hosts` contains the names of the real hosts, `links`
    /// the names of the network's links.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn create(path: &Path, hosts: &[String], links: Vec<String>) -> io::Result<Capture> {
        let mut interfaces = hosts
            .iter()
            .map(|host| interface(host, "packets that this host sends and receives"))
            .chain([interface("lost", "packets that the path lost")]);
        let first = interfaces.next().ok_or(io::ErrorKind::InvalidInput)?;
        let mut writer = Writer::create(path, &first)?;
        for other in interfaces {
            writer.interface(&other);
        }
        Ok(Capture {
            writer,
            lost: hosts.len() as u32,
            links,
            entered: VecDeque::new(),
        })
    }

    /// Captures a packet that enters the path, at the host that sends it. `others` is the number of other packets that
    /// are on the path.
    pub fn enters(&mut self, at: Time, host: usize, packet: &[u8], others: u64) {
        self.entered.push_back(Entered {
            at,
            host: host as u32,
            packet: packet.to_vec(),
            others,
        });
    }

    /// Writes the packets that entered by `time`, to which the path has advanced.
    pub fn advance_to(&mut self, time: Time) {
        while self.entered.front().is_some_and(|entered| entered.at <= time) {
            let Some(entered) = self.entered.pop_front() else {
                return;
            };
            let comment = format!("enters with {} on the path", entered.others);
            self.put(
                entered.host,
                entered.at,
                &entered.packet,
                Direction::Outbound,
                Some(&comment),
            );
        }
    }

    /// Captures a packet that leaves the path, at the host that receives it.
    pub fn leaves(&mut self, at: Time, host: usize, packet: &[u8]) {
        self.advance_to(at);
        self.put(host as u32, at, packet, Direction::Inbound, None);
    }

    /// Captures the loss of a packet.
    pub fn loses(&mut self, at: Time, packet: &[u8], link: Option<Link>, cause: DropCause) {
        self.advance_to(at);
        let place = link.and_then(|link| self.links.get(link.index()));
        let place = place.map_or("on the path", String::as_str);
        let comment = format!("lost at {place}, {}", cause.name());
        self.put(self.lost, at, packet, Direction::Inbound, Some(&comment));
    }

    fn put(&mut self, interface: u32, at: Time, packet: &[u8], direction: Direction, comment: Option<&str>) {
        let append = |out: &mut Vec<u8>| out.extend_from_slice(packet);
        self.writer
            .packet_at(interface, at, packet.len() as u32, direction, comment, append);
    }

    /// Writes the buffer to the file. `finish` returns an error.
    pub fn flush(&mut self) {
        self.writer.flush();
    }

    /// Writes the data that remain in the buffer.
    ///
    /// # Errors
    /// Returns an error if the file could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.advance_to(Time(u64::MAX));
        match self.writer.finish() {
            (_, Some(error)) => Err(error),
            _ => Ok(()),
        }
    }
}

fn interface<'a>(name: &'a str, description: &'a str) -> CaptureInterface<'a> {
    CaptureInterface {
        name,
        description,
        comment: "real packets; times count from the start of the run",
        link_type: LinkType::Raw,
        snap_length: u32::from(u16::MAX),
        speed: None,
    }
}
