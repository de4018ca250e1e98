//! Packets in transit on one circuit. A frame carries the packet's number; the packet itself is stored here unless it
//! travels with the frame.

use longpipe_events::Ring;

/// Flag in the frame numbers of requests and of their ACKs; the other bits are the number itself.
pub const REQUEST: u32 = 1 << 31;

/// Packets in transit on one circuit, in order.
#[derive(Clone, Debug)]
pub struct InTransit<T>(Ring<T>);

impl<T: Copy + Default> Default for InTransit<T> {
    fn default() -> Self {
        InTransit(Ring::default())
    }
}

impl<T: Copy + Default> InTransit<T> {
    /// Adds a packet, and returns its 31-bit frame number.
    pub fn send(&mut self, packet: T) -> u32 {
        self.0.push(packet);
        (self.0.tail() - 1) as u32 & !REQUEST
    }

    /// Returns the frame number of a packet, and stores the packet unless its payload travels with the frame.
    #[inline(always)]
    pub fn number(&mut self, travels: bool, packet: T) -> u32 {
        if travels {
            self.number_only()
        } else {
            self.send(packet)
        }
    }

    /// Returns the frame number of a packet whose payload travels with the frame.
    #[inline(always)]
    pub fn number_only(&mut self) -> u32 {
        self.0.skip() as u32 & !REQUEST
    }

    /// Returns the frame number of the next packet.
    pub fn next_number(&self) -> u32 {
        self.0.tail() as u32 & !REQUEST
    }

    /// Removes and returns the packet of a frame. Also removes the packets before it, which were lost.
    #[inline(always)]
    pub fn take(&mut self, frame: u32) -> T {
        let number = self.entry(frame);
        let packet = *self.0.get(number);
        self.0.drop_before(number + 1);
        packet
    }

    /// Returns the packets that precede the packet of a frame.
    pub fn before(&self, frame: u32) -> impl Iterator<Item = &T> {
        (self.0.head()..self.entry(frame)).map(|number| self.0.get(number))
    }

    /// Returns the packet of a frame.
    pub fn get(&self, frame: u32) -> &T {
        self.0.get(self.entry(frame))
    }

    fn entry(&self, frame: u32) -> u64 {
        let head = self.0.head();
        head + u64::from(frame.wrapping_sub(head as u32) & !REQUEST)
    }
}
