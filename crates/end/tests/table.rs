//! An end that is called through the table of C functions, as a run calls it.
#![allow(unsafe_code)]

use longpipe_end::export::{table, Stacks};
use longpipe_end::table::{Outbox as RawOutbox, Report as RawReport, Setting, Setup as RawSetup, LINE, UNKNOWN};
use longpipe_end::{Ecn, End, Outbox, Report, Setup, State, NEVER};
use std::ffi::{c_char, c_void, CStr, CString};

/// A stack that panics in the call that its setting names; in all other calls, it echoes datagrams.
struct Echo {
    panics: bool,
    waiting: Vec<Vec<u8>>,
}

struct Echoes;

impl Stacks for Echoes {
    fn create(stack: &str, setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
        if stack != "echo" {
            return Err(format!("stack: {stack}; needs echo"));
        }
        let panics = setup.setting("panics") == Some("yes");
        Ok(Box::new(Echo {
            panics,
            waiting: vec![],
        }))
    }
}

impl End for Echo {
    fn due(&mut self) -> u64 {
        NEVER
    }

    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        assert!(!self.panics, "at {now}\nas told");
        for payload in self.waiting.drain(..) {
            outbox.send(&payload, Ecn::Ce);
        }
        Ok(())
    }

    fn receive(&mut self, _: u64, payload: &[u8], _: Ecn) -> Result<(), String> {
        self.waiting.push(payload.to_vec());
        Ok(())
    }

    fn state(&mut self) -> State {
        State::default()
    }

    fn report(&mut self) -> Report {
        Report {
            delivered_bytes: 7,
            closed: Some((5, "x".repeat(2 * LINE))),
            values: vec![("mtu_bytes".to_owned(), 1452.0)],
            ..Report::default()
        }
    }
}

fn create(stack: &str, panics: &str) -> Result<*mut c_void, String> {
    let (name, value) = (c"panics", CString::new(panics).expect("no zero"));
    let settings = [Setting {
        name: name.as_ptr(),
        value: value.as_ptr(),
    }];
    let setup = RawSetup {
        seed: 1,
        start_ps: 0,
        settings: settings.as_ptr(),
        count: 1,
        sends: 1,
        most_bytes: 1452,
        paths: 2,
        logs_packets: 0,
    };
    let (stack, mut end) = (CString::new(stack).expect("no zero"), std::ptr::null_mut());
    let mut problem = [0; LINE];
    let table = table::<Echoes>(c"echo 1");
    // SAFETY: all pointers are valid during the call.
    let failed = unsafe { (table.create)(stack.as_ptr(), &raw const setup, &raw mut end, problem.as_mut_ptr()) };
    (failed == 0).then_some(end).ok_or_else(|| line(&problem))
}

fn line(text: &[c_char; LINE]) -> String {
    // SAFETY: the interface guarantees a terminating NUL within the buffer for the line.
    unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned()
}

unsafe extern "C" fn take(host: *mut c_void, payload: *const u8, bytes: u32, ecn: u32) {
    // SAFETY: the test passes a list, and the end passes a payload that is valid during the call.
    let (list, payload) = unsafe {
        (
            &mut *host.cast::<Vec<(Vec<u8>, u32)>>(),
            std::slice::from_raw_parts(payload, bytes as usize),
        )
    };
    list.push((payload.to_vec(), ecn));
}

fn wake(end: *mut c_void) -> Result<Vec<(Vec<u8>, u32)>, String> {
    let (mut list, mut problem) = (Vec::<(Vec<u8>, u32)>::new(), [0; LINE]);
    let outbox = RawOutbox {
        host: (&raw mut list).cast(),
        send: take,
    };
    // SAFETY: the end exists, and all pointers are valid during the call.
    let failed = unsafe { (table::<Echoes>(c"echo 1").wake)(end, 3, &raw const outbox, problem.as_mut_ptr()) };
    (failed == 0).then_some(list).ok_or_else(|| line(&problem))
}

#[test]
fn payloads_codepoints_and_counters_pass_through() {
    let (table, end) = (table::<Echoes>(c"echo 1"), create("echo", "no").expect("an end"));
    let mut problem = [0; LINE];
    // SAFETY: the end exists, and all pointers are valid during the calls.
    unsafe {
        assert_eq!((table.due)(end), UNKNOWN);
        assert_eq!((table.receive)(end, 3, b"abc".as_ptr(), 3, 2, problem.as_mut_ptr()), 0);
    }
    assert_eq!(wake(end), Ok(vec![(b"abc".to_vec(), 3)]));
    let mut values = Vec::<(String, f64)>::new();
    unsafe extern "C" fn tell(host: *mut c_void, name: *const c_char, value: f64) {
        // SAFETY: the test passes a list, and the end passes a text.
        let (list, name) = unsafe { (&mut *host.cast::<Vec<(String, f64)>>(), CStr::from_ptr(name)) };
        list.push((name.to_string_lossy().into_owned(), value));
    }
    let mut report = std::mem::MaybeUninit::<RawReport>::uninit();
    // SAFETY: the end exists and writes the whole report.
    let report = unsafe {
        (table.report)(end, report.as_mut_ptr(), tell, (&raw mut values).cast());
        report.assume_init()
    };
    assert_eq!(
        (report.delivered_bytes, report.completed_ps, report.closed_ps),
        (7, UNKNOWN, 5)
    );
    // A reason that is too long is truncated to the size of its field.
    assert_eq!(line(&report.closed), "x".repeat(LINE - 1));
    assert_eq!(values, [("mtu_bytes".to_owned(), 1452.0)]);
    // SAFETY: the end exists and is no longer used.
    unsafe { (table.destroy)(end) };
}

#[test]
fn a_panic_becomes_one_line_with_its_location() {
    let end = create("echo", "yes").expect("an end");
    let said = wake(end).expect_err("a panic");
    let place = format!("panicked at {}:", file!());
    assert!(said.starts_with(&place) && said.ends_with(": at 3 as told"), "{said}");
    // SAFETY: the end exists and is no longer used.
    unsafe { (table::<Echoes>(c"echo 1").destroy)(end) };
}

#[test]
fn a_rejected_setting_becomes_one_line() {
    assert_eq!(create("other", "no"), Err("stack: other; needs echo".to_owned()));
}

#[test]
fn unknown_settings_are_rejected_by_name() {
    let accept = |name: &str, paths: u8| {
        let settings = [("size".to_owned(), "1".to_owned()), (name.to_owned(), "2".to_owned())];
        let setup = Setup {
            role: longpipe_end::Role::Sender,
            seed: 1,
            start_ps: 0,
            most_bytes: 1452,
            paths,
            settings: &settings,
            logs_packets: false,
        };
        setup.accept(&["size", "window"])
    };
    assert_eq!(accept("window", 1), Ok(()));
    assert_eq!(accept("path1.window", 2), Ok(()));
    assert_eq!(
        accept("windw", 1),
        Err("windw: unknown setting; needs size, window".to_owned())
    );
    assert!(accept("path1.window", 1).is_err());
}
