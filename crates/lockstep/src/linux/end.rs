//! An end of a flow that is a host of the guest.

use super::guest::{Application, Guest, HostState, Program};
use longpipe_end::{Ecn, End, Outbox, ProgramReport, Report, Role, Setup, State, HEADER_BYTES, NEVER};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Linux's value `TCP_INFINITE_SSTHRESH` for a slow-start threshold that is not set [segment].
const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;
/// Linux's value for a minimum RTT that has not been measured [us].
const UNMEASURED: u64 = 0xffff_ffff;
const PS_PER_US: u64 = 1_000_000;

/// Names of the hosts of a flow's sender and receiver.
pub type Hosts = [String; 2];

/// An end that is a host in the guest, which all Linux ends of a run share.
pub struct LinuxEnd {
    guest: Arc<Mutex<Guest>>,
    host: usize,
    failed: Option<String>,
}

impl LinuxEnd {
    /// Creates the host in the guest.
    ///
    /// # Errors
    /// Returns a one-line error if the guest does not accept a setting.
    pub fn create(guest: &Arc<Mutex<Guest>>, names: &Hosts, setup: &Setup<'_>) -> Result<LinuxEnd, String> {
        let is_receiver = setup.role == Role::Receiver;
        // If user programs run at the ends of a flow, longpipe's applications do not run on its hosts.
        let program = setup.setting("command").map(|command| Program {
            words: words_of(if is_receiver {
                setup.setting("serve")
            } else {
                Some(command)
            }),
            own_name: names[usize::from(is_receiver)].clone(),
            other_name: names[usize::from(!is_receiver)].clone(),
        });
        let application = Application {
            sends: setup.role == Role::Sender,
            ecn: setup.setting("ecn") == Some("true"),
            mtu: setup.most_bytes + HEADER_BYTES,
            // The receiver's program is the server to which the sender's program connects.
            start_ps: if program.is_some() && is_receiver {
                0
            } else {
                setup.start_ps
            },
            bytes: setup.setting("size").map(|_| setup.number("size", 0)).transpose()?,
            congestion: setup.setting("congestion").unwrap_or("cubic").to_owned(),
            program,
        };
        let host = locked(guest).add(&application)?;
        Ok(LinuxEnd {
            guest: Arc::clone(guest),
            host,
            failed: None,
        })
    }

    /// Returns the state of the host at the end of the run.
    fn last_state(&mut self) -> HostState {
        let mut guest = locked(&self.guest);
        if let Err(line) = guest.finish() {
            self.failed = Some(line);
        }
        guest.state(self.host).clone()
    }
}

/// Returns the words of a setting whose value is a JSON list.
fn words_of(setting: Option<&str>) -> Vec<String> {
    setting
        .and_then(|words| serde_json::from_str(words).ok())
        .unwrap_or_default()
}

fn locked(guest: &Mutex<Guest>) -> MutexGuard<'_, Guest> {
    guest.lock().unwrap_or_else(PoisonError::into_inner)
}

fn srtt_ps(state: &HostState) -> Option<u64> {
    Some(state.srtt_us * PS_PER_US).filter(|&srtt| srtt > 0)
}

fn min_rtt_ps(state: &HostState) -> Option<u64> {
    let measured = (1..UNMEASURED).contains(&state.min_rtt_us);
    measured.then_some(state.min_rtt_us * PS_PER_US)
}

fn ssthresh(state: &HostState) -> Option<u64> {
    (state.ssthresh < INFINITE_SSTHRESH).then_some(state.ssthresh * state.mss)
}

impl End for LinuxEnd {
    fn header_bytes(&self) -> u32 {
        0
    }

    fn shares_machine(&self) -> bool {
        true
    }

    fn due(&mut self) -> u64 {
        let guest = locked(&self.guest);
        // The first host wakes the guest; in addition, each host wakes it for its own packets.
        match (guest.has_packets(self.host), self.host) {
            (true, _) => guest.at(),
            (false, 0) => guest.due(),
            (false, _) => NEVER,
        }
    }

    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        let mut guest = locked(&self.guest);
        guest.start()?;
        guest.advance(now)?;
        guest.take_packets(self.host, &mut |packet, ecn| outbox.send(packet, ecn));
        Ok(())
    }

    fn receive(&mut self, _now: u64, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        locked(&self.guest).receive(self.host, payload, ecn);
        Ok(())
    }

    fn state(&mut self) -> State {
        let guest = locked(&self.guest);
        let state = guest.state(self.host);
        State {
            cwnd: Some(state.cwnd * state.mss).filter(|&cwnd| cwnd > 0),
            ssthresh: ssthresh(state),
            srtt_ps: srtt_ps(state),
            min_rtt_ps: min_rtt_ps(state),
            pacing_bps: state.pacing_rate.checked_mul(8),
            sent_packets: state.sent_segments,
            lost_packets: state.retransmitted_segments,
        }
    }

    fn report(&mut self) -> Report {
        let state = self.last_state();
        // A value of 0 is unknown: the guest reads TCP_INFO neither of receivers nor of connections of user programs.
        let or_nan = |bytes: u64| if bytes > 0 { bytes as f64 } else { f64::NAN };
        let seconds = |ps: Option<u64>| ps.map_or(f64::NAN, |ps| ps as f64 / 1e12);
        let values = [
            ("srtt_s", seconds(srtt_ps(&state))),
            ("rttvar_s", or_nan(state.rttvar_us) / 1e6),
            ("min_rtt_s", seconds(min_rtt_ps(&state))),
            ("cwnd_bytes", or_nan(state.cwnd * state.mss)),
            ("mtu_bytes", or_nan(state.mss)),
            ("timeouts", state.timeouts as f64),
        ];
        Report {
            delivered_bytes: state.delivered_bytes,
            completed_ps: state.completed_ps,
            sent_packets: state.sent_segments,
            sent_bytes: state.sent_bytes,
            lost_packets: state.retransmitted_segments,
            lost_bytes: state.retransmitted_bytes,
            congestion_events: state.recoveries,
            handshake_ps: state.connected_ps,
            closed: state.closed.clone(),
            values: values.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        }
    }

    fn program(&mut self) -> Option<ProgramReport> {
        locked(&self.guest).program(self.host)
    }

    fn failure(&mut self) -> Option<String> {
        self.failed.take()
    }
}
