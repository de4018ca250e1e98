//! Writer of pcapng files with one or more interfaces (draft-ietf-opsawg-pcapng).

use longpipe_events::{Time, PS_PER_NS};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const NAME_RESOLUTION: u32 = 4;
const ENHANCED_PACKET: u32 = 6;
const IPV4_NAMES: u16 = 1;
const COMMENT: u16 = 1;
const USER_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_SPEED: u16 = 8;
const IF_TIME_RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;
const NANOSECONDS: u8 = 9;
/// Size [byte] of the write buffer.
const BUFFER: usize = 1 << 18;

/// Link types of a file: the type determines the header with which each packet starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// Packets start with an IP header (LINKTYPE_RAW).
    Raw = 101,
    /// Packets start with a 4-byte header that contains VPI and VCI, followed by the AAL5 payload (LINKTYPE_SUNATM).
    SunAtm = 123,
}

/// Direction of a packet at the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received.
    Inbound = 1,
    /// Sent.
    Outbound = 2,
}

impl Direction {
    /// Returns the opposite direction.
    pub fn reversed(self) -> Direction {
        match self {
            Direction::Inbound => Direction::Outbound,
            Direction::Outbound => Direction::Inbound,
        }
    }
}

/// An interface that a file describes.
#[derive(Clone, Debug)]
pub struct CaptureInterface<'a> {
    /// Name of the interface, as shown by programs that read the file.
    pub name: &'a str,
    /// Description of the interface.
    pub description: &'a str,
    /// Comment on the whole file.
    pub comment: &'a str,
    /// Header with which each packet starts.
    pub link_type: LinkType,
    /// Maximum number of bytes captured per packet.
    pub snap_length: u32,
    /// Bit rate [bit/s] of the interface; None if it has no fixed rate.
    pub speed: Option<u64>,
}

/// A file that is being written. After the first error, nothing more is written, but the run continues.
#[derive(Debug)]
pub struct Writer {
    file: BufWriter<File>,
    block: Vec<u8>,
    packets: u64,
    error: Option<io::Error>,
}

impl Writer {
    /// Creates the file at `path`, replacing an existing file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn create(path: &Path, interface: &CaptureInterface) -> io::Result<Writer> {
        let mut writer = Writer {
            file: BufWriter::with_capacity(BUFFER, File::create(path)?),
            block: Vec::with_capacity(1024),
            packets: 0,
            error: None,
        };
        writer.block(SECTION_HEADER, |out| {
            put(out, BYTE_ORDER_MAGIC);
            // Version 1.0; the length of the section is unknown.
            out.extend_from_slice(&1u16.to_le_bytes());
            out.extend_from_slice(&0u16.to_le_bytes());
            out.extend_from_slice(&u64::MAX.to_le_bytes());
            option(out, COMMENT, interface.comment.as_bytes());
            option(
                out,
                USER_APPLICATION,
                concat!("longpipe ", env!("CARGO_PKG_VERSION")).as_bytes(),
            );
            put(out, 0);
        });
        writer.interface(interface);
        Ok(writer)
    }

    /// Describes the next interface; the first interface has number 0. The interface's comment is not written.
    pub fn interface(&mut self, interface: &CaptureInterface) {
        self.block(INTERFACE_DESCRIPTION, |out| {
            put(out, interface.link_type as u32);
            put(out, interface.snap_length);
            option(out, IF_NAME, interface.name.as_bytes());
            option(out, IF_DESCRIPTION, interface.description.as_bytes());
            if let Some(speed) = interface.speed {
                option(out, IF_SPEED, &speed.to_le_bytes());
            }
            option(out, IF_TIME_RESOLUTION, &[NANOSECONDS]);
            put(out, 0);
        });
    }

    /// Writes a name resolution block for IPv4 addresses.
    pub fn names<'a>(&mut self, named: impl Iterator<Item = (u32, &'a str)>) {
        self.block(NAME_RESOLUTION, |out| {
            for (address, name) in named {
                // A record ends with the zero byte that ends its name; its length field has 16 bits, like that of an
                // option.
                let record = [&address.to_be_bytes(), name.as_bytes(), &[0]].concat();
                option(out, IPV4_NAMES, &record);
            }
            // End of the records; no options follow.
            put(out, 0);
        });
    }

    /// Writes a packet of `length` bytes at the first interface; `append` writes the captured bytes at the start of the
    /// packet.
    pub fn packet(
        &mut self,
        at: Time,
        length: u32,
        direction: Direction,
        comment: Option<&str>,
        append: impl FnOnce(&mut Vec<u8>),
    ) {
        self.packet_at(0, at, length, direction, comment, append);
    }

    /// Writes a packet of `length` bytes at the interface with the given number; `append` writes the captured bytes at
    /// the start of the packet.
    pub fn packet_at(
        &mut self,
        interface: u32,
        at: Time,
        length: u32,
        direction: Direction,
        comment: Option<&str>,
        append: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.error.is_some() {
            return;
        }
        let nanoseconds = at.0 / PS_PER_NS;
        self.block(ENHANCED_PACKET, |out| {
            put(out, interface);
            put(out, (nanoseconds >> 32) as u32);
            put(out, nanoseconds as u32);
            let lengths = out.len();
            put(out, 0);
            put(out, length);
            let begin = out.len();
            append(out);
            let captured = (out.len() - begin) as u32;
            out[lengths..lengths + 4].copy_from_slice(&captured.to_le_bytes());
            pad(out);
            option(out, PACKET_FLAGS, &(direction as u32).to_le_bytes());
            if let Some(comment) = comment {
                option(out, COMMENT, comment.as_bytes());
            }
            put(out, 0);
        });
        self.packets += 1;
    }

    /// Writes the buffer to the file. `finish` returns an error.
    pub fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.file.flush().err();
        }
    }

    /// Writes the rest of the buffer. Returns the number of packets and the first error, if any.
    pub fn finish(mut self) -> (u64, Option<io::Error>) {
        self.flush();
        // A buffer that could not be written is discarded.
        let _ = self.file.into_parts();
        (self.packets, self.error)
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
        let block = &mut self.block;
        block.clear();
        put(block, kind);
        put(block, 0);
        body(block);
        let length = block.len() as u32 + 4;
        put(block, length);
        block[4..8].copy_from_slice(&length.to_le_bytes());
        self.error = self.error.take().or(self.file.write_all(&self.block).err());
    }
}

fn put(out: &mut Vec<u8>, word: u32) {
    out.extend_from_slice(&word.to_le_bytes());
}

/// Pads to a multiple of 4 bytes, as blocks and options require.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    pad(out);
}
