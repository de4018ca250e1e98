//! A shared object with stacks (`longpipe_end.h`), and ends of these stacks.
#![allow(unsafe_code)]

use libloading::Library;
use longpipe_end::packets::{LossEvidence, PacketEventKind, PacketType};
use longpipe_end::table::{self, Table, LINE, MIN_BYTES, SYMBOL, UNKNOWN, VERSION};
use longpipe_end::{Ecn, End, Outbox, PacketEvent, Report, Role, Setup, State, NEVER};
use std::ffi::{c_char, c_void, CStr, CString};
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::Arc;

/// A loaded object. It is never unloaded, because its threads may use its thread-local state even after its last end
/// was destroyed.
#[derive(Debug)]
pub struct Object {
    table: &'static Table,
}

impl Object {
    /// Loads an object.
    ///
    /// # Errors
    /// Returns a one-line error if the file has no stacks, or its stacks use another version of the interface.
    pub fn load(file: &Path) -> Result<Object, String> {
        let shown = file.display();
        // SAFETY: loading runs the file's constructors. The user installed or named the file in order to run its code.
        let library = unsafe { Library::new(file) }.map_err(|error| format!("{shown}: cannot be loaded ({error})"))?;
        // The object is never unloaded, so that its functions remain valid.
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: the symbol is only looked up here; version and size are checked before any other field is read.
        let table_symbol = unsafe { library.get::<*const Table>(SYMBOL) }.map(|symbol| *symbol);
        let table = table_symbol.map_err(|_| format!("{shown}: has no longpipe_ends; needs an object with stacks"))?;
        // SAFETY: the symbol exists, and every version of the interface begins with these two words.
        let (version, size) = unsafe { ((*table).version, (*table).size) };
        if version != VERSION || ![MIN_BYTES, size_of::<Table>()].contains(&(size as usize)) {
            return Err(format!(
                "{shown}: has version {version} of the interface and {size} bytes of functions; needs version {VERSION} \
                 and {MIN_BYTES} or {} bytes: build it with this release of longpipe",
                size_of::<Table>()
            ));
        }
        let mut copy = MaybeUninit::<Table>::zeroed();
        // SAFETY: the version is that of `Table`. The object has `size` bytes, at most the length of `Table`, and the
        // only field that it may lack is null if its bytes are zero.
        let table = unsafe {
            std::ptr::copy_nonoverlapping(table.cast::<u8>(), copy.as_mut_ptr().cast::<u8>(), size as usize);
            copy.assume_init()
        };
        Ok(Object {
            table: Box::leak(Box::new(table)),
        })
    }

    /// Returns the object's list of stacks, for example "quinn 0.11.19, noq 1.4.0".
    pub fn stacks(&self) -> String {
        // SAFETY: the interface requires a NUL-terminated text here.
        unsafe { CStr::from_ptr(self.table.stacks) }
            .to_string_lossy()
            .into_owned()
    }

    /// Creates an end.
    ///
    /// # Errors
    /// Returns a one-line error if the stack does not accept a setting.
    pub fn create(self: &Arc<Object>, stack: &str, setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
        let text = |text: &str| CString::new(text).map_err(|_| format!("{text:?}: contains a NUL byte"));
        let stack = text(stack)?;
        let mut texts = Vec::with_capacity(setup.settings.len());
        for (name, value) in setup.settings {
            texts.push((text(name)?, text(value)?));
        }
        let settings: Vec<table::Setting> = texts
            .iter()
            .map(|(name, value)| table::Setting {
                name: name.as_ptr(),
                value: value.as_ptr(),
            })
            .collect();
        let setup = table::Setup {
            seed: setup.seed,
            start_ps: setup.start_ps,
            settings: settings.as_ptr(),
            count: settings.len() as u32,
            sends: u32::from(setup.role == Role::Sender),
            most_bytes: setup.most_bytes,
            paths: u32::from(setup.paths),
            logs_packets: u32::from(setup.logs_packets),
        };
        let (mut end, mut problem) = (std::ptr::null_mut(), [0; LINE]);
        // SAFETY: all pointers are valid during the call.
        let failed =
            unsafe { (self.table.create)(stack.as_ptr(), &raw const setup, &raw mut end, problem.as_mut_ptr()) };
        check_call(failed, &problem)?;
        Ok(Box::new(Loaded {
            object: Arc::clone(self),
            end,
            problem,
        }))
    }
}

/// Returns the error line that a failed call has written.
fn check_call(failed: u32, problem: &[c_char; LINE]) -> Result<(), String> {
    if failed == 0 {
        return Ok(());
    }
    Err(line(problem))
}

/// Returns a text up to its terminating NUL, or all of it if it has none.
fn line(text: &[c_char; LINE]) -> String {
    let bytes: Vec<u8> = text.iter().map(|&c| c as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An end of a loaded object.
struct Loaded {
    object: Arc<Object>,
    end: *mut c_void,
    /// Memory for the line of a failed call, because clearing it for each call would take longer than many calls.
    problem: [c_char; LINE],
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: `create` created the end, and it is no longer used.
        unsafe { (self.object.table.destroy)(self.end) }
    }
}

// SAFETY: only one thread at a time uses an end; the interface permits different threads to do so one after another.
unsafe impl Send for Loaded {}

/// Passes a datagram from an object to the outbox `host`.
unsafe extern "C" fn send(host: *mut c_void, payload: *const u8, bytes: u32, label: u32) {
    // SAFETY: `wake` passes its outbox, and the object passes a payload that is valid during the call.
    let (outbox, payload) = unsafe {
        (
            &mut *host.cast::<&mut dyn Outbox>(),
            std::slice::from_raw_parts(payload, bytes as usize),
        )
    };
    let (path, ecn) = table::path_and_ecn(label);
    outbox.send_on(path, payload, ecn);
}

/// Appends a value of a report to the list `host`.
unsafe extern "C" fn tell(host: *mut c_void, name: *const c_char, value: f64) {
    // SAFETY: `report` passes its list, and the object passes a NUL-terminated name.
    let (values, name) = unsafe { (&mut *host.cast::<Vec<(String, f64)>>(), CStr::from_ptr(name)) };
    values.push((name.to_string_lossy().into_owned(), value));
}

/// Appends an event of a packet to the list `host`. Kinds that longpipe does not know are omitted.
unsafe extern "C" fn tell_packet(host: *mut c_void, packet: *const table::Packet) {
    // SAFETY: `packets` passes its list, and the object passes a valid event.
    let (events, packet) = unsafe { (&mut *host.cast::<&mut Vec<PacketEvent>>(), *packet) };
    if let Some(kind) = PacketEventKind::from_number(packet.kind) {
        events.push(PacketEvent {
            at_ps: packet.at_ps,
            kind,
            packet_type: PacketType::from_number(packet.packet_type),
            first: packet.first,
            last: packet.last,
            length: packet.length,
            evidence: LossEvidence::from_number(packet.evidence),
        });
    }
}

fn known(value: u64) -> Option<u64> {
    (value != UNKNOWN).then_some(value)
}

impl End for Loaded {
    fn due(&mut self) -> u64 {
        // SAFETY: the end exists.
        unsafe { (self.object.table.due)(self.end) }
    }

    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        let mut outbox = outbox;
        let host: *mut &mut dyn Outbox = &raw mut outbox;
        let to = table::Outbox {
            host: host.cast(),
            send,
        };
        // SAFETY: the end exists, and all pointers are valid during the call.
        let failed = unsafe { (self.object.table.wake)(self.end, now, &raw const to, self.problem.as_mut_ptr()) };
        check_call(failed, &self.problem)
    }

    fn receive(&mut self, now: u64, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        self.receive_on(now, 0, payload, ecn)
    }

    fn receive_on(&mut self, now: u64, path: u8, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        let (bytes, label) = (payload.len() as u32, table::label(path, ecn));
        let problem = self.problem.as_mut_ptr();
        // SAFETY: the end exists, and all pointers are valid during the call.
        let failed = unsafe { (self.object.table.receive)(self.end, now, payload.as_ptr(), bytes, label, problem) };
        check_call(failed, &self.problem)
    }

    fn state(&mut self) -> State {
        let mut state = table::State {
            cwnd: UNKNOWN,
            ssthresh: UNKNOWN,
            srtt_ps: UNKNOWN,
            min_rtt_ps: UNKNOWN,
            pacing_bps: UNKNOWN,
            sent_packets: 0,
            lost_packets: 0,
        };
        // SAFETY: the end exists, and the pointer is valid during the call.
        unsafe { (self.object.table.state)(self.end, &raw mut state) };
        State {
            cwnd: known(state.cwnd),
            ssthresh: known(state.ssthresh),
            srtt_ps: known(state.srtt_ps),
            min_rtt_ps: known(state.min_rtt_ps),
            pacing_bps: known(state.pacing_bps),
            sent_packets: state.sent_packets,
            lost_packets: state.lost_packets,
        }
    }

    fn packets(&mut self, events: &mut Vec<PacketEvent>) {
        let mut events = events;
        let host: *mut &mut Vec<PacketEvent> = &raw mut events;
        if let Some(packets) = self.object.table.packets {
            // SAFETY: the end exists, and the pointer is valid during the call.
            unsafe { packets(self.end, tell_packet, host.cast()) };
        }
    }

    fn report(&mut self) -> Report {
        let mut values: Vec<(String, f64)> = Vec::new();
        let mut raw_report = table::Report {
            delivered_bytes: 0,
            completed_ps: NEVER,
            sent_packets: 0,
            sent_bytes: 0,
            lost_packets: 0,
            lost_bytes: 0,
            congestion_events: 0,
            handshake_ps: NEVER,
            closed_ps: NEVER,
            closed: [0; LINE],
        };
        let host: *mut Vec<(String, f64)> = &raw mut values;
        // SAFETY: the end exists, and all pointers are valid during the call.
        unsafe { (self.object.table.report)(self.end, &raw mut raw_report, tell, host.cast()) };
        Report {
            delivered_bytes: raw_report.delivered_bytes,
            completed_ps: known(raw_report.completed_ps),
            sent_packets: raw_report.sent_packets,
            sent_bytes: raw_report.sent_bytes,
            lost_packets: raw_report.lost_packets,
            lost_bytes: raw_report.lost_bytes,
            congestion_events: raw_report.congestion_events,
            handshake_ps: known(raw_report.handshake_ps),
            closed: known(raw_report.closed_ps).map(|at| (at, line(&raw_report.closed))),
            values,
        }
    }
}
