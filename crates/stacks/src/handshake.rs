//! A handshake without cryptography. It has as many messages as that of TLS 1.3, with similar lengths, and the messages
//! carry transport parameters.

/// Lengths [byte] of messages without transport parameters, as rustls sends them with an Ed25519 certificate.
const CLIENT_HELLO: usize = 240;
const SERVER_HELLO: usize = 90;
const SERVER_FLIGHT: usize = 600;
const FINISHED: usize = 36;

/// Next step of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    SendHello,
    AwaitHello,
    SendServerHello,
    SendFlight,
    AwaitServerHello,
    TakeHandshakeKeys,
    AwaitFlight,
    SendFinished,
    AwaitFinished,
    Over,
}

/// The handshake on one side.
#[derive(Debug)]
pub struct Handshake {
    stage: Stage,
    /// Transport parameters of this side.
    own: Vec<u8>,
    /// Transport parameters of the peer.
    pub peer: Option<Vec<u8>>,
    /// Received data that do not form a complete message yet.
    received: Vec<u8>,
}

impl Handshake {
    /// Returns the initial state of a client's handshake.
    pub fn client(own: Vec<u8>) -> Handshake {
        Handshake::new(Stage::SendHello, own)
    }

    /// Returns the initial state of a server's handshake.
    pub fn server(own: Vec<u8>) -> Handshake {
        Handshake::new(Stage::AwaitHello, own)
    }

    fn new(stage: Stage, own: Vec<u8>) -> Handshake {
        Handshake {
            stage,
            own,
            peer: None,
            received: Vec::new(),
        }
    }

    /// Returns whether the handshake is still in progress.
    pub fn is_going_on(&self) -> bool {
        !matches!(self.stage, Stage::SendFinished | Stage::Over)
    }

    /// Processes handshake data from the peer.
    pub fn read(&mut self, data: &[u8]) {
        self.received.extend_from_slice(data);
        while let Some(message) = self.message() {
            self.stage = match self.stage {
                Stage::AwaitHello => Stage::SendServerHello,
                Stage::AwaitServerHello => Stage::TakeHandshakeKeys,
                Stage::AwaitFlight => Stage::SendFinished,
                Stage::AwaitFinished => Stage::Over,
                other => other,
            };
            if !message.is_empty() {
                self.peer = Some(message);
            }
        }
    }

    /// Writes the next message, if there is one. Returns whether new keys are in use after this message.
    pub fn write(&mut self, out: &mut Vec<u8>) -> bool {
        let (next, length, parameters) = match self.stage {
            Stage::SendHello => (Stage::AwaitServerHello, CLIENT_HELLO, true),
            Stage::SendServerHello => (Stage::SendFlight, SERVER_HELLO, false),
            Stage::SendFlight => (Stage::AwaitFinished, SERVER_FLIGHT, true),
            Stage::TakeHandshakeKeys => {
                self.stage = Stage::AwaitFlight;
                return true;
            }
            Stage::SendFinished => (Stage::Over, FINISHED, false),
            _ => return false,
        };
        let own: &[u8] = if parameters { &self.own } else { &[] };
        out.extend((length as u16).to_be_bytes());
        out.extend((own.len() as u16).to_be_bytes());
        out.extend(own);
        out.resize(out.len() + length, 0);
        let keys = self.stage != Stage::SendHello;
        self.stage = next;
        keys
    }

    /// Returns the transport parameters in the next message; the result is empty if the message has none, and None
    /// until the message is complete.
    fn message(&mut self) -> Option<Vec<u8>> {
        let word = |at: usize| {
            let bytes = self.received.get(at..at + 2)?;
            Some(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
        };
        let (length, parameters) = (word(0)?, word(2)?);
        let end = 4 + parameters + length;
        if self.received.len() < end {
            return None;
        }
        let message = self.received[4..4 + parameters].to_vec();
        self.received.drain(..end);
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_derive_keys_twice_and_exchange_parameters() {
        let (mut client, mut server) = (Handshake::client(vec![1, 2]), Handshake::server(vec![3]));
        let mut flight = Vec::new();
        assert!(!client.write(&mut flight));
        // The message arrives in two parts, as if it were sent in two packets.
        server.read(&flight[..100]);
        assert!(!server.write(&mut Vec::new()));
        server.read(&flight[100..]);
        let (mut hello, mut rest) = (Vec::new(), Vec::new());
        assert!(server.write(&mut hello) && server.write(&mut rest) && !server.write(&mut Vec::new()));
        client.read(&hello);
        assert!(client.write(&mut Vec::new()) && client.is_going_on());
        client.read(&rest);
        let mut finished = Vec::new();
        assert!(!client.is_going_on() && client.write(&mut finished) && !client.write(&mut Vec::new()));
        assert!(server.is_going_on());
        server.read(&finished);
        assert!(!server.is_going_on());
        assert_eq!((client.peer, server.peer), (Some(vec![3]), Some(vec![1, 2])));
    }
}
