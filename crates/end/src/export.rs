//! Exports the table of a shared object written in Rust: `longpipe_end::export!(Stacks)`.
//!
//! Panics of a stack are caught and returned as error lines.
#![allow(unsafe_code)]

use crate::table::{self, LINE, UNKNOWN};
use crate::{Ecn, End, Outbox, Role, Setup, NEVER};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_char, c_void, CStr, CString};
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::Once;

/// The stacks of an object.
pub trait Stacks {
    /// Creates an end point that runs a stack.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid: one line with the setting, its value and what is accepted.
    fn create(stack: &str, setup: &Setup<'_>) -> Result<Box<dyn End>, String>;
}

/// Exports the table of an object, given the type that implements its stacks; the C string is the list of stacks.
#[macro_export]
macro_rules! export {
    ($stacks:ty, $stacks_list:expr) => {
        /// The table of this object.
        #[no_mangle]
        #[allow(unsafe_code)]
        pub static longpipe_ends: $crate::table::Table = $crate::export::table::<$stacks>($stacks_list);
    };
}

/// Returns the table for the stacks of a type.
pub const fn table<S: Stacks>(stacks_list: &'static CStr) -> table::Table {
    table::Table {
        version: table::VERSION,
        size: size_of::<table::Table>() as u32,
        stacks: stacks_list.as_ptr(),
        create: create::<S>,
        destroy,
        due,
        wake,
        receive,
        state,
        report,
        packets: Some(packets),
    }
}

/// An end in a second box, so that a pointer to it fits into one word.
struct BoxedEnd(Box<dyn End>);

thread_local! {
    /// Location and message of the latest panic.
    static LATEST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

static HOOK: Once = Once::new();

/// Runs the code of a stack; turns a panic into an error.
fn catch_panic<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // The object has its own copy of the standard library, so its panic hook affects no other code.
    HOOK.call_once(|| {
        set_hook(Box::new(|panic| {
            let place = panic
                .location()
                .map(|at| format!(" at {}:{}", file_name(at.file()), at.line()));
            let line = format!("panicked{}: {}", place.unwrap_or_default(), message(panic.payload()));
            LATEST_PANIC.replace(line);
        }));
    });
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(LATEST_PANIC.take()))
}

/// Returns the path of a source file without the folder of cargo's registry.
fn file_name(path: &str) -> &str {
    let within = path.split_once("/registry/src/").map(|(_, rest)| rest);
    within
        .and_then(|rest| rest.split_once('/'))
        .map_or(path, |(_, rest)| rest)
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}

/// Writes a line of at most `LINE` bytes, which include the terminating NUL.
fn write_line(line: &str, to: *mut c_char) {
    let mut end = line.len().min(LINE - 1);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let clean: Vec<u8> = line.as_bytes()[..end]
        .iter()
        .map(|byte| if matches!(byte, 0 | b'\n') { b' ' } else { *byte })
        .collect();
    // SAFETY: the interface requires `LINE` bytes at this pointer, and `clean` is shorter.
    unsafe {
        std::ptr::copy_nonoverlapping(clean.as_ptr(), to.cast(), clean.len());
        to.add(clean.len()).write(0);
    }
}

/// Returns 0, or writes the error line and returns 1.
fn status_of(result: Result<(), String>, problem: *mut c_char) -> u32 {
    match result {
        Ok(()) => 0,
        Err(line) => {
            write_line(&line, problem);
            1
        }
    }
}

unsafe extern "C" fn create<S: Stacks>(
    stack: *const c_char,
    setup: *const table::Setup,
    end: *mut *mut c_void,
    problem: *mut c_char,
) -> u32 {
    // SAFETY: the interface requires pointers that are valid during the call, and NUL-terminated texts.
    let text = |at: *const c_char| unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned();
    // SAFETY: the interface requires a pointer that is valid during the call.
    let of = unsafe { &*setup };
    let settings: Vec<(String, String)> = (0..of.count as usize)
        .map(|index| {
            // SAFETY: `settings` has `count` entries.
            let setting = unsafe { &*of.settings.add(index) };
            (text(setting.name), text(setting.value))
        })
        .collect();
    let setup = Setup {
        role: if of.sends == 0 { Role::Receiver } else { Role::Sender },
        seed: of.seed,
        start_ps: of.start_ps,
        most_bytes: of.most_bytes,
        paths: of.paths as u8,
        settings: &settings,
        logs_packets: of.logs_packets != 0,
    };
    let created = catch_panic(|| S::create(&text(stack), &setup));
    status_of(
        // SAFETY: `end` is valid during the call.
        created.map(|made| unsafe { end.write(Box::into_raw(Box::new(BoxedEnd(made))).cast()) }),
        problem,
    )
}

unsafe extern "C" fn destroy(end: *mut c_void) {
    // SAFETY: the end is one that `create` made and is no longer used.
    let boxed = unsafe { Box::from_raw(end.cast::<BoxedEnd>()) };
    // A panic during the destruction of an end is ignored.
    let _ = catch_panic(move || {
        drop(boxed);
        Ok(())
    });
}

/// Returns the end to which a pointer points.
///
/// # Safety
/// The pointer must come from `create`, and no other reference to the end may exist during the call.
unsafe fn end_of<'a>(end: *mut c_void) -> &'a mut dyn End {
    // SAFETY: by the function's own contract.
    unsafe { &mut *(*end.cast::<BoxedEnd>()).0 }
}

unsafe extern "C" fn due(end: *mut c_void) -> u64 {
    // SAFETY: the interface allows only one call at a time for each end.
    let end = unsafe { end_of(end) };
    // After a panic here, the end is woken immediately: it will panic again in `wake`, where an error line can be
    // returned.
    catch_panic(|| Ok(end.due())).unwrap_or(0)
}

/// Passes datagrams to the host.
struct Host(table::Outbox);

impl Outbox for Host {
    fn send_on(&mut self, path: u8, payload: &[u8], ecn: Ecn) {
        // SAFETY: the interface requires `send` and `host` to be valid during the call.
        unsafe {
            (self.0.send)(
                self.0.host,
                payload.as_ptr(),
                payload.len() as u32,
                table::label(path, ecn),
            )
        }
    }
}

unsafe extern "C" fn wake(end: *mut c_void, now: u64, outbox: *const table::Outbox, problem: *mut c_char) -> u32 {
    // SAFETY: the interface allows only one call at a time for each end, and requires an outbox that is valid during
    // the call.
    let (end, mut host) = unsafe { (end_of(end), Host(*outbox)) };
    status_of(catch_panic(|| end.wake(now, &mut host)), problem)
}

unsafe extern "C" fn receive(
    end: *mut c_void,
    now: u64,
    payload: *const u8,
    bytes: u32,
    label: u32,
    problem: *mut c_char,
) -> u32 {
    // SAFETY: the interface allows only one call at a time for each end, and requires a payload that is valid during
    // the call.
    let (end, payload) = unsafe { (end_of(end), std::slice::from_raw_parts(payload, bytes as usize)) };
    let (path, ecn) = table::path_and_ecn(label);
    status_of(catch_panic(|| end.receive_on(now, path, payload, ecn)), problem)
}

unsafe extern "C" fn state(end: *mut c_void, state: *mut table::State) {
    // SAFETY: the interface allows only one call at a time for each end.
    let end = unsafe { end_of(end) };
    let reported = catch_panic(|| Ok(end.state())).unwrap_or_default();
    let or_unknown = |value: Option<u64>| value.unwrap_or(UNKNOWN);
    let reported = table::State {
        cwnd: or_unknown(reported.cwnd),
        ssthresh: or_unknown(reported.ssthresh),
        srtt_ps: or_unknown(reported.srtt_ps),
        min_rtt_ps: or_unknown(reported.min_rtt_ps),
        pacing_bps: or_unknown(reported.pacing_bps),
        sent_packets: reported.sent_packets,
        lost_packets: reported.lost_packets,
    };
    // SAFETY: `state` is valid during the call.
    unsafe { state.write(reported) };
}

unsafe extern "C" fn report(end: *mut c_void, report: *mut table::Report, tell: table::Tell, host: *mut c_void) {
    // SAFETY: the interface allows only one call at a time for each end.
    let end = unsafe { end_of(end) };
    let end_report = catch_panic(|| Ok(end.report())).unwrap_or_default();
    let mut closed = [0; LINE];
    if let Some((_, line)) = &end_report.closed {
        write_line(line, closed.as_mut_ptr());
    }
    let counters = table::Report {
        delivered_bytes: end_report.delivered_bytes,
        completed_ps: end_report.completed_ps.unwrap_or(NEVER),
        sent_packets: end_report.sent_packets,
        sent_bytes: end_report.sent_bytes,
        lost_packets: end_report.lost_packets,
        lost_bytes: end_report.lost_bytes,
        congestion_events: end_report.congestion_events,
        handshake_ps: end_report.handshake_ps.unwrap_or(NEVER),
        closed_ps: end_report.closed.as_ref().map_or(NEVER, |(at, _)| *at),
        closed,
    };
    // SAFETY: `report` is valid during the call.
    unsafe { report.write(counters) };
    for (name, value) in &end_report.values {
        if let Ok(name) = CString::new(name.as_str()) {
            // SAFETY: the interface requires `tell` and `host` to be valid during the call.
            unsafe { tell(host, name.as_ptr(), *value) };
        }
    }
}

unsafe extern "C" fn packets(end: *mut c_void, tell: table::TellPacket, host: *mut c_void) {
    // SAFETY: the interface allows only one call at a time for each end.
    let end = unsafe { end_of(end) };
    let mut events = Vec::new();
    // A panic is reported by the next call that can return an error line.
    let _ = catch_panic(|| {
        end.packets(&mut events);
        Ok(())
    });
    for event in &events {
        let packet = table::Packet {
            at_ps: event.at_ps,
            first: event.first,
            last: event.last,
            length: event.length,
            kind: event.kind as u32,
            packet_type: event.packet_type as u32,
            evidence: event.evidence as u32,
        };
        // SAFETY: the interface requires `tell` and `host` to be valid during the call.
        unsafe { tell(host, &raw const packet) };
    }
}
