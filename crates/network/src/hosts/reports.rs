//! Reports about flows to the probe: lost packets, which are also reported to their senders, and events of senders.

use super::Hosts;
use crate::observe::probe::{Detail, Event, Probe};
use crate::packets::drops::{DropCause, Dropped};
use crate::packets::{Flow, Link, Packet};
use longpipe_events::Time;
use longpipe_tcp::journal::losses::Loss;

/// A fate of a packet that its flow must know.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PacketFate {
    /// The packet is lost at the port of the link or on its wire.
    Lost {
        time: Time,
        link: Link,
        packet: Packet,
        cause: DropCause,
    },
    /// The packet is duplicated.
    Duplicated { packet: Packet },
}

impl PacketFate {
    /// Returns the packet's flow.
    pub fn flow(&self) -> Flow {
        let (PacketFate::Lost { packet, .. } | PacketFate::Duplicated { packet }) = self;
        packet.vc().flow()
    }
}

/// Fates of packets whose senders are in other parts of a run on several threads.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    /// For each flow, whether its sender is in this part.
    pub sends: Vec<bool>,
    pub fates: Vec<PacketFate>,
}

impl<P: Probe> Hosts<P> {
    /// Keeps the fate of a packet for another part of the run, if its sender is there. Returns whether it does so.
    fn pass_on(&mut self, fate: PacketFate) -> bool {
        let elsewhere = self.elsewhere.as_mut();
        let elsewhere = elsewhere.filter(|elsewhere| !elsewhere.sends[fate.flow().index()]);
        elsewhere.map(|elsewhere| elsewhere.fates.push(fate)).is_some()
    }

    /// Takes the fate of a packet that another part of the run has reported.
    pub fn take_fate(&mut self, fate: PacketFate) {
        match fate {
            PacketFate::Lost {
                time,
                link,
                packet,
                cause,
            } => self.lose(time, link, &packet, cause),
            PacketFate::Duplicated { packet } => self.duplicate(&packet),
        }
    }

    /// Reports that a packet is lost at the port of a link or on its wire, at a time that may lie in the future; a lost
    /// datagram also counts at its flow. Among the transmissions of a segment, the one that is lost last counts as the
    /// latest.
    #[cold]
    #[inline(never)]
    pub fn lose(&mut self, time: Time, link: Link, packet: &Packet, cause: DropCause) {
        let fate = PacketFate::Lost {
            time,
            link,
            packet: *packet,
            cause,
        };
        if self.pass_on(fate) {
            return;
        }
        if packet.is_datagram() {
            return self.lose_datagram(time, link, packet, cause);
        }
        self.report_loss(&Dropped::new(time, link, packet, cause), time.0);
    }

    /// Like `lose`, but for a datagram.
    #[inline(never)]
    fn lose_datagram(&mut self, time: Time, link: Link, packet: &Packet, cause: DropCause) {
        let datagrams = self.flows[packet.vc().flow().index()]
            .application
            .try_as_datagrams_mut();
        // A datagram that is lost after the end of the run counts as in transit.
        if let Some(datagrams) = datagrams.filter(|_| time <= self.clock.end) {
            datagrams.lose(packet.frame());
        }
        self.report_loss(&Dropped::new(time, link, packet, cause), time.0);
    }

    /// Records at its flow that a packet with a datagram is duplicated.
    #[cold]
    pub fn duplicate(&mut self, packet: &Packet) {
        if self.pass_on(PacketFate::Duplicated { packet: *packet }) {
            return;
        }
        if let Some(datagrams) = self.flows[packet.vc().flow().index()]
            .application
            .try_as_datagrams_mut()
        {
            datagrams.duplicate(packet.frame());
        }
    }

    /// Reports that a complete frame of cells is lost at the port of a link or on its wire, at a time that may lie in
    /// the future.
    #[cold]
    #[inline(never)]
    pub fn lose_frame(&mut self, time: Time, link: Link, packet: &Packet, cause: DropCause) {
        self.report_loss(&Dropped::new(time, link, packet, cause), u64::from(packet.frame()));
    }

    /// Reports packets that are lost at the port of a link or on its wire, in the given order.
    #[cold]
    pub fn lose_all(&mut self, link: Link, lost: &[(Time, Packet, DropCause)]) {
        for (time, packet, cause) in lost {
            self.lose(*time, link, packet, *cause);
        }
    }

    /// Reports a lost packet; `transmission` is the packet's position in the order of transmission.
    pub fn report_loss(&mut self, dropped: &Dropped, transmission: u64) {
        self.note_loss(dropped, transmission);
        self.probe.observe(Event::Dropped(dropped));
    }

    /// Reports to its sender that a packet, or a part of it, is lost.
    pub fn note_loss(&mut self, dropped: &Dropped, transmission: u64) {
        if let Some(data) = dropped.data {
            let state = &mut self.flows[dropped.flow.index()];
            // A packet of an earlier connection in this slot has a lower sequence number.
            if let Some(sequence) = data.sequence.checked_sub(state.base) {
                state.sender.note_loss(Loss {
                    sequence,
                    transmission,
                    time: dropped.time,
                    cause: dropped.cause.into(),
                });
            }
        }
    }

    /// Enables the recording of events at the sender of every flow of the scenario, if the probe requests this.
    pub fn record_events(&mut self) {
        if self.probe.wants(Detail::SenderEvents) {
            let own = self.own_flows();
            self.flows[..own]
                .iter_mut()
                .for_each(|flow| flow.sender.record_events());
        }
    }

    /// Reports a sender's events since the last call.
    #[cold]
    #[inline(never)]
    pub fn report_events(&mut self, flow: Flow) {
        for event in self.flows[flow.index()].sender.take_events(self.clock.now) {
            self.probe.observe(Event::Sender(flow, &event));
        }
    }

    /// Reports the remaining events of all senders at the end of the run.
    pub fn report_last_events(&mut self) {
        if self.probe.wants(Detail::SenderEvents) {
            (0..self.flows.len()).for_each(|flow| self.report_events(Flow::new(flow)));
        }
    }
}
