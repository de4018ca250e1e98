//! Ends in virtual time over a path whose times are computed by hand: an 8 Mbit/s trunk with a delay of 10 ms and a
//! buffer for three packets, between 1 Gbit/s links with a delay of 1 ms.

use longpipe_end::{Ecn, End, Outbox, Report, Role, Setup, State, NEVER};
use longpipe_lockstep::{Lockstep, StackError};
use longpipe_network::scenario::{StackConfig, StackPathConfig, TrafficConfig};
use longpipe_network::Scenario;
use std::sync::{Arc, Mutex};

const MS: u64 = 1_000_000_000;

/// An event at an end: number of the end, time [ps], and description.
type Log = Arc<Mutex<Vec<(usize, u64, LogEntry)>>>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum LogEntry {
    Woken,
    Received(u8, usize, Ecn),
}

/// An end that follows a script.
struct Scripted {
    number: usize,
    log: Log,
    /// Times at which the end must be woken, in order.
    due: Vec<u64>,
    /// Datagrams that the end sends when it is woken for the first time: first byte, length, and ECN bits.
    sends: Vec<(u8, usize, Ecn)>,
    /// Whether the end answers each packet with one byte.
    answers: bool,
    waiting: usize,
}

impl End for Scripted {
    fn due(&mut self) -> u64 {
        self.due.first().copied().unwrap_or(NEVER)
    }

    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        self.log
            .lock()
            .expect("a log")
            .push((self.number, now, LogEntry::Woken));
        self.due.retain(|due| *due > now);
        for (first, length, ecn) in self.sends.drain(..) {
            let mut payload = vec![0; length];
            payload[0] = first;
            outbox.send(&payload, ecn);
        }
        for _ in 0..std::mem::take(&mut self.waiting) {
            outbox.send(&[9], Ecn::NotEct);
        }
        Ok(())
    }

    fn receive(&mut self, now: u64, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        let what = LogEntry::Received(payload[0], payload.len(), ecn);
        self.log.lock().expect("a log").push((self.number, now, what));
        self.waiting += usize::from(self.answers);
        Ok(())
    }

    fn state(&mut self) -> State {
        State::default()
    }

    fn report(&mut self) -> Report {
        Report::default()
    }
}

fn scenario() -> Scenario {
    Scenario::from_json(include_str!("dumbbell.json")).expect("a scenario")
}

/// Runs the scenario with ends that `script` creates, given their numbers. Returns the events and the hash of the final
/// state.
fn run(script: impl Fn(usize, &mut Scripted)) -> (Vec<(usize, u64, LogEntry)>, u64) {
    let (log, mut number) = (Log::default(), 0);
    let mut create = |_: usize, _: &StackConfig, setup: &Setup<'_>| -> Result<Box<dyn End>, String> {
        assert_eq!(setup.role == Role::Sender, number % 2 == 0);
        let mut end = Scripted {
            number,
            log: Arc::clone(&log),
            due: vec![],
            sends: vec![],
            answers: false,
            waiting: 0,
        };
        script(number, &mut end);
        number += 1;
        Ok(Box::new(end))
    };
    let mut run = Lockstep::new(&scenario(), 1, (), &mut create).expect("a run");
    while run.advance(10).expect("no defect") {}
    let (report, ends) = run.report().expect("counters that add up");
    assert_eq!(ends.iter().map(|ends| ends.flow).collect::<Vec<_>>(), [0, 1]);
    let log = log.lock().expect("a log").clone();
    (log, report.state_hash)
}

/// Transit time of a packet over the path [ps]: transmission over two 1 Gbit/s links and one 8 Mbit/s link, and 12 ms
/// of propagation.
fn over(payload: u64) -> u64 {
    let bits = 8 * (payload + 28);
    2 * bits * 1_000 + bits * 125_000 + 12 * MS
}

#[test]
fn a_packet_arrives_after_transmission_and_propagation_with_its_payload_and_codepoint() {
    let (log, _) = run(|number, end| {
        if number == 0 {
            end.due = vec![5 * MS];
            end.sends = vec![(7, 1000, Ecn::Ect1)];
        }
        end.answers = number == 1;
    });
    let arrives = 5 * MS + over(1000);
    let back = arrives + over(1);
    let expected = [
        (0, 5 * MS, LogEntry::Woken),
        (1, arrives, LogEntry::Received(7, 1000, Ecn::Ect1)),
        (1, arrives, LogEntry::Woken),
        (0, back, LogEntry::Received(9, 1, Ecn::NotEct)),
        (0, back, LogEntry::Woken),
    ];
    assert_eq!(log, expected);
}

#[test]
fn packets_precede_timers_and_ends_act_in_order() {
    // The timers of all ends expire at the time at which the packet arrives.
    let at = 5 * MS + over(100);
    let (log, _) = run(|number, end| {
        end.due = vec![at];
        if number == 2 {
            end.due = vec![5 * MS, at];
            end.sends = vec![(1, 100, Ecn::NotEct)];
        }
    });
    let expected = [
        (2, 5 * MS, LogEntry::Woken),
        (3, at, LogEntry::Received(1, 100, Ecn::NotEct)),
        (0, at, LogEntry::Woken),
        (1, at, LogEntry::Woken),
        (2, at, LogEntry::Woken),
        (3, at, LogEntry::Woken),
    ];
    assert_eq!(log, expected);
}

#[test]
fn dropped_packets_do_not_arrive_and_others_keep_their_payload() {
    // The trunk's buffer holds three packets, one of which has left before the fourth and the fifth arrive.
    let (log, hash) = run(|number, end| {
        if number == 0 {
            end.due = vec![0];
            end.sends = (0..6)
                .map(|first| (first, 1000 + usize::from(first), Ecn::Ect0))
                .collect();
        }
    });
    let received: Vec<(u8, usize)> = log
        .iter()
        .filter_map(|(_, _, what)| match what {
            LogEntry::Received(first, length, _) => Some((*first, *length)),
            LogEntry::Woken => None,
        })
        .collect();
    assert_eq!(received, [(0, 1000), (1, 1001), (2, 1002)]);
    let (_, again) = run(|number, end| {
        if number == 0 {
            end.due = vec![0];
            end.sends = (0..6)
                .map(|first| (first, 1000 + usize::from(first), Ecn::Ect0))
                .collect();
        }
    });
    assert_eq!(hash, again);
    let (_, other) = run(|number, end| {
        if number == 0 {
            end.due = vec![1];
            end.sends = (0..6)
                .map(|first| (first, 1000 + usize::from(first), Ecn::Ect0))
                .collect();
        }
    });
    assert_ne!(hash, other);
}

/// An end that sends a packet on path 1 at 5 ms, or that records the path of each packet that arrives.
struct OnPath {
    sends: bool,
    paths: Arc<Mutex<Vec<u8>>>,
}

impl End for OnPath {
    fn due(&mut self) -> u64 {
        match std::mem::take(&mut self.sends) {
            true => 5 * MS,
            false => NEVER,
        }
    }

    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        if now == 5 * MS {
            outbox.send_on(1, &[7; 100], Ecn::NotEct);
        }
        Ok(())
    }

    fn receive(&mut self, _: u64, _: &[u8], _: Ecn) -> Result<(), String> {
        unreachable!("packets arrive with their path")
    }

    fn receive_on(&mut self, _: u64, path: u8, _: &[u8], _: Ecn) -> Result<(), String> {
        self.paths.lock().expect("a list").push(path);
        Ok(())
    }

    fn state(&mut self) -> State {
        State::default()
    }

    fn report(&mut self) -> Report {
        let values = [("path1.lost_packets", 3.0), ("path1.srtt_s", 0.5), ("srtt_s", 0.25)];
        Report {
            values: values.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            ..Report::default()
        }
    }
}

#[test]
fn packets_of_a_further_path_take_the_route_of_its_flow() {
    let mut scenario = scenario();
    scenario.flows[1].traffic = TrafficConfig::StackPath(StackPathConfig {
        of: scenario.flows[0].name.clone(),
        settings: vec![("status".to_owned(), "backup".to_owned())],
    });
    let paths = Arc::new(Mutex::new(Vec::new()));
    let mut create = |_: usize, _: &StackConfig, setup: &Setup<'_>| -> Result<Box<dyn End>, String> {
        assert_eq!((setup.paths, setup.setting("path1.status")), (2, Some("backup")));
        Ok(Box::new(OnPath {
            sends: setup.role == Role::Sender,
            paths: Arc::clone(&paths),
        }))
    };
    let mut run = Lockstep::new(&scenario, 1, (), &mut create).expect("a run");
    while run.advance(10).expect("no defect") {}
    let (report, ends) = run.report().expect("counters that add up");
    assert_eq!(*paths.lock().expect("a list"), [1]);
    let entered = |flow: usize| report.packet_ports[scenario.flows[flow].route[0]].packets_in;
    assert_eq!((entered(0), entered(1)), (0, 1));
    let named = |name: &str, value: f64| (name.to_owned(), value);
    assert_eq!(
        (ends[1].flow, ends[1].connection, ends[1].sender.lost_packets),
        (1, 0, 3)
    );
    assert_eq!(ends[1].sender.values, [named("srtt_s", 0.5)]);
    assert_eq!(ends[0].sender.values, [named("srtt_s", 0.25)]);
    assert!(ends[1].receiver.values.contains(&named("received_bytes", 100.0)));
}

#[test]
fn a_further_path_needs_the_flow_of_a_stack() {
    let mut scenario = scenario();
    scenario.flows[1].traffic = TrafficConfig::StackPath(StackPathConfig {
        of: "other".to_owned(),
        settings: vec![],
    });
    let mut create = |_: usize, _: &StackConfig, _: &Setup<'_>| -> Result<Box<dyn End>, String> {
        Ok(Box::new(Broken { line: None }))
    };
    let refused = Lockstep::new(&scenario, 1, (), &mut create).err();
    let line = "flows[1].traffic.of: other; needs the name of a flow whose traffic is a stack".to_owned();
    assert_eq!(refused, Some(StackError::Scenario(line)));
}

/// An end that always requests another step at the same time, or that reports a defect.
struct Broken {
    line: Option<&'static str>,
}

impl End for Broken {
    fn due(&mut self) -> u64 {
        7 * MS
    }

    fn wake(&mut self, _: u64, _: &mut dyn Outbox) -> Result<(), String> {
        self.line.map_or(Ok(()), |line| Err(line.to_owned()))
    }

    fn receive(&mut self, _: u64, _: &[u8], _: Ecn) -> Result<(), String> {
        Ok(())
    }

    fn state(&mut self) -> State {
        State::default()
    }

    fn report(&mut self) -> Report {
        Report::default()
    }
}

fn broken(line: Option<&'static str>) -> Result<bool, StackError> {
    let mut create =
        |_: usize, _: &StackConfig, _: &Setup<'_>| -> Result<Box<dyn End>, String> { Ok(Box::new(Broken { line })) };
    let mut run = Lockstep::new(&scenario(), 1, (), &mut create)?;
    run.advance(u64::MAX)
}

#[test]
fn a_defect_names_the_flow_and_the_stack() {
    let said = broken(Some("panicked at src/mod.rs:7: no reason"));
    let line = "flow1: quinn 0.11.19 panicked at src/mod.rs:7: no reason".to_owned();
    assert_eq!(said, Err(StackError::Defect(line)));
}

#[test]
fn end_with_endless_wake_ups_is_reported() {
    let line = "flow1: quinn 0.11.19 schedules wake-ups without end at 0.007 s".to_owned();
    assert_eq!(broken(None), Err(StackError::Defect(line)));
}

#[test]
fn the_error_for_a_rejected_setting_names_the_flow() {
    let mut create = |_: usize, _: &StackConfig, _: &Setup<'_>| -> Result<Box<dyn End>, String> {
        Err("congestion: vegas; needs cubic".to_owned())
    };
    let refused = Lockstep::new(&scenario(), 1, (), &mut create).err();
    let line = "traffic of flow \"flow1\": congestion: vegas; needs cubic".to_owned();
    assert_eq!(refused, Some(StackError::Scenario(line)));
}

#[test]
fn a_stack_needs_an_external_flow() {
    let mut scenario = scenario();
    scenario.flows[0].foreign = false;
    assert!(matches!(scenario.flows[0].traffic, TrafficConfig::Stack(_)));
    let mut create = |_: usize, _: &StackConfig, _: &Setup<'_>| -> Result<Box<dyn End>, String> {
        Ok(Box::new(Broken { line: None }))
    };
    let refused = Lockstep::new(&scenario, 1, (), &mut create).err();
    let line = "flows[0].foreign: false; needs true for the traffic of a stack".to_owned();
    assert_eq!(refused, Some(StackError::Scenario(line)));
}
