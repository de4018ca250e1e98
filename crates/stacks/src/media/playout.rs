//! The receiver of media. It records which frames arrived completely, and their delays.

use std::collections::BTreeMap;

/// Length of the header of a video payload [byte]: frame number, index of the packet in the frame, number of packets in
/// the frame, capture time [ps].
pub const HEADER_BYTES: usize = 16;

/// Writes the header of a video payload.
pub fn write_header(payload: &mut [u8], frame: u32, index: u16, count: u16, captured_ps: u64) {
    payload[..4].copy_from_slice(&frame.to_be_bytes());
    payload[4..6].copy_from_slice(&index.to_be_bytes());
    payload[6..8].copy_from_slice(&count.to_be_bytes());
    payload[8..16].copy_from_slice(&captured_ps.to_be_bytes());
}

/// Frames that have arrived.
#[derive(Debug, Default)]
pub struct Playout {
    /// Whether each packet of a frame is missing, indexed by the frame's number; empty for complete frames.
    incomplete: BTreeMap<u32, Vec<bool>>,
    /// Times [ps] from the capture of a frame to the arrival of its last packet.
    delays: Vec<u64>,
    /// Data received [byte]; each packet is counted once.
    pub delivered: u64,
}

impl Playout {
    /// Processes the payload of a video packet.
    pub fn take(&mut self, payload: &[u8], now: u64) {
        let Some((header, _)) = payload.split_at_checked(HEADER_BYTES) else {
            return;
        };
        let number =
            |range: std::ops::Range<usize>| header[range].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let (frame, index, count) = (number(0..4) as u32, number(4..6) as usize, number(6..8) as usize);
        let missing = self.incomplete.entry(frame).or_insert_with(|| vec![true; count]);
        if !missing.get(index).copied().unwrap_or(false) {
            return;
        }
        missing[index] = false;
        self.delivered += payload.len() as u64;
        if !missing.contains(&true) {
            self.delays.push(now - number(8..16));
            // The entry of a complete frame stays, so that duplicates of its packets are recognized.
            *missing = Vec::new();
        }
    }

    /// Processes the payload of an audio packet.
    pub fn take_audio(&mut self, bytes: usize) {
        self.delivered += bytes as u64;
    }

    /// Returns the number of complete frames, and the mean, 95 % quantile and maximum of their delays [s]; NaN if
    /// there are no frames.
    pub fn frames(&self) -> (usize, f64, f64, f64) {
        let mut delays = self.delays.clone();
        delays.sort_unstable();
        let seconds = |ps: u64| ps as f64 / super::PS_PER_S as f64;
        let count = delays.len();
        let quantile = |share: f64| {
            let rank = (share * count as f64).ceil() as usize;
            delays.get(rank.max(1) - 1).map_or(f64::NAN, |ps| seconds(*ps))
        };
        let mean = delays.iter().map(|ps| seconds(*ps)).sum::<f64>() / count as f64;
        (count, mean, quantile(0.95), quantile(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(frame: u32, index: u16, count: u16, captured_ps: u64) -> [u8; 20] {
        let mut payload = [0; 20];
        write_header(&mut payload, frame, index, count, captured_ps);
        payload
    }

    #[test]
    fn a_frame_completes_with_its_last_packet_and_duplicates_are_ignored() {
        let mut playout = Playout::default();
        let second = 1_000_000_000_000;
        playout.take(&packet(0, 1, 2, 0), second);
        playout.take(&packet(0, 1, 2, 0), 2 * second);
        assert_eq!(playout.frames().0, 0);
        playout.take(&packet(0, 0, 2, 0), 3 * second);
        playout.take(&packet(0, 0, 2, 0), 4 * second);
        playout.take(&packet(1, 0, 1, 4 * second), 5 * second);
        assert_eq!(playout.frames(), (2, 2.0, 3.0, 3.0));
        assert_eq!(playout.delivered, 60);
        playout.take(&[0; 3], second);
        assert_eq!(playout.delivered, 60);
    }
}
