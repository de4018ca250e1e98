//! Packets of one virtual circuit on their way, for whoever keeps at the end points what they carry.

use super::ring::Ring;

/// Marks the frames of requests and of their ACKs; the other bits number them.
pub const REQUEST: u32 = 1 << 31;

/// Packets of one VC on their way, in order.
#[derive(Clone, Debug)]
pub struct InTransit<T>(Ring<T>);

impl<T: Copy + Default> Default for InTransit<T> {
    fn default() -> Self {
        InTransit(Ring::default())
    }
}

impl<T: Copy + Default> InTransit<T> {
    /// Puts a packet on the circuit; returns its frame number, of 31 bits.
    pub fn send(&mut self, packet: T) -> u32 {
        self.0.push(packet);
        (self.0.tail() - 1) as u32 & !REQUEST
    }

    /// A packet's frame number: it stays here, unless what it carries travels along.
    #[inline(always)]
    pub fn number(&mut self, travels: bool, packet: T) -> u32 {
        if travels {
            self.0.skip() as u32 & !REQUEST
        } else {
            self.send(packet)
        }
    }

    /// The frame number of the next packet.
    pub fn next_number(&self) -> u32 {
        self.0.tail() as u32 & !REQUEST
    }

    /// Takes the packet of a frame off the circuit, and those before it, which were lost.
    #[inline(always)]
    pub fn take(&mut self, frame: u32) -> T {
        let number = self.entry(frame);
        let packet = *self.0.get(number);
        self.0.drop_before(number + 1);
        packet
    }

    /// Those before the packet of a frame.
    pub fn before(&self, frame: u32) -> impl Iterator<Item = &T> {
        (self.0.head()..self.entry(frame)).map(|number| self.0.get(number))
    }

    /// The packet of a frame.
    pub fn get(&self, frame: u32) -> &T {
        self.0.get(self.entry(frame))
    }

    fn entry(&self, frame: u32) -> u64 {
        let head = self.0.head();
        head + u64::from(frame.wrapping_sub(head as u32) & !REQUEST)
    }
}
