//! Requests of a web client over HTTP/3, with quiche's module `h3`.

use crate::application::{CHUNK_BYTES, ZEROS};
use longpipe_end::adapter::WebExchange;
use longpipe_end::Role;
use quiche::h3::{self, Event, Header};
use quiche::Connection;
use std::collections::BTreeMap;

/// A response that the server sends.
#[derive(Debug)]
struct Response {
    has_header: bool,
    /// Bytes of the body that still have to be written.
    left: u64,
    length: u64,
}

/// One end of a connection of HTTP/3.
pub struct Http {
    connection: h3::Connection,
    responses: BTreeMap<u64, Response>,
    finished: u64,
}

fn line(error: impl std::fmt::Display) -> String {
    format!("HTTP/3: {error}")
}

impl Http {
    /// Begins HTTP/3 on a connection that can send data.
    ///
    /// # Errors
    /// Returns an error if the peer permits no streams for it.
    pub fn new(open: &mut Connection) -> Result<Http, String> {
        let config = h3::Config::new().map_err(line)?;
        Ok(Http {
            connection: h3::Connection::with_transport(open, &config).map_err(line)?,
            responses: BTreeMap::new(),
            finished: 0,
        })
    }

    /// Returns the number of responses that were written completely.
    pub fn finished(&self) -> u64 {
        self.finished
    }

    /// Receives messages, and sends the requests that are due, or responses, in packets of up to `packet_bytes`. Adds the
    /// bodies of responses to `delivered`. Returns whether all requests, or responses, have arrived.
    ///
    /// # Errors
    /// Returns an error if the connection of HTTP/3 fails.
    pub fn act(
        &mut self,
        open: &mut Connection,
        now: u64,
        packet_bytes: usize,
        role: Role,
        web: &mut WebExchange,
        delivered: &mut u64,
    ) -> Result<bool, String> {
        let mut done = false;
        let mut buffer = [0; CHUNK_BYTES];
        loop {
            match self.connection.poll(open) {
                Ok((stream, Event::Data)) => {
                    while let Ok(bytes) = self.connection.recv_body(open, stream, &mut buffer) {
                        *delivered += bytes as u64;
                    }
                }
                Ok((stream, Event::Finished)) => {
                    let number = (stream / 4) as usize;
                    done = web.receive(number, now);
                    if let Some(request) = web.request(number).filter(|_| role == Role::Sender) {
                        let (left, length) = (request.response_bytes, request.response_bytes);
                        self.responses.insert(
                            stream,
                            Response {
                                has_header: false,
                                left,
                                length,
                            },
                        );
                    }
                }
                Ok(_) => {}
                Err(h3::Error::Done) => break,
                Err(error) => return Err(line(error)),
            }
        }
        if role == Role::Receiver {
            self.request(open, now, web)?;
        } else {
            self.respond(open, packet_bytes)?;
        }
        Ok(done)
    }

    /// Sends the requests that are due, as far as the peer permits streams.
    fn request(&mut self, open: &mut Connection, now: u64, web: &mut WebExchange) -> Result<(), String> {
        while web.due().is_some_and(|at| at <= now) {
            let path = format!("/{}", web.sent());
            let fields = [
                Header::new(b":method", b"GET"),
                Header::new(b":scheme", b"https"),
                Header::new(b":authority", b"longpipe.test"),
                Header::new(b":path", path.as_bytes()),
            ];
            match self.connection.send_request(open, &fields, true) {
                Ok(_) => web.next(now),
                Err(h3::Error::StreamBlocked | h3::Error::TransportError(quiche::Error::StreamLimit)) => break,
                Err(error) => return Err(line(error)),
            };
        }
        Ok(())
    }

    /// Writes the responses, in turn, until no stream takes any more data.
    fn respond(&mut self, open: &mut Connection, packet_bytes: usize) -> Result<(), String> {
        let concurrent = self.responses.len() > 1;
        let chunk_bytes = if concurrent { packet_bytes } else { CHUNK_BYTES };
        let mut writes = true;
        while writes {
            writes = false;
            let streams: Vec<u64> = self.responses.keys().copied().collect();
            for stream in streams {
                writes |= self.write(open, stream, chunk_bytes, packet_bytes)?;
            }
        }
        Ok(())
    }

    /// Returns whether the stream took data of its response.
    fn write(
        &mut self,
        open: &mut Connection,
        stream: u64,
        chunk_bytes: usize,
        packet_bytes: usize,
    ) -> Result<bool, String> {
        let Some(response) = self.responses.get_mut(&stream) else {
            return Ok(false);
        };
        if !response.has_header {
            let length = response.length.to_string();
            let fields = [
                Header::new(b":status", b"200"),
                Header::new(b"content-length", length.as_bytes()),
            ];
            match self.connection.send_response(open, stream, &fields, false) {
                Ok(()) => response.has_header = true,
                Err(h3::Error::StreamBlocked) => return Ok(false),
                Err(error) => return Err(line(error)),
            }
        }
        let offered = chunk_bytes.min(usize::try_from(response.left).unwrap_or(usize::MAX));
        // Capacity that is less than a packet would be sent in a short one, whose ACK would again free less.
        if open.stream_capacity(stream).unwrap_or(usize::MAX) < offered.min(packet_bytes) {
            return Ok(false);
        }
        let last = offered as u64 == response.left;
        let written = match self.connection.send_body(open, stream, &ZEROS[..offered], last) {
            Ok(written) => written,
            Err(h3::Error::Done | h3::Error::StreamBlocked) => return Ok(false),
            Err(error) => return Err(line(error)),
        };
        response.left -= written as u64;
        if last && written == offered {
            self.responses.remove(&stream);
            self.finished += 1;
        }
        Ok(true)
    }
}
