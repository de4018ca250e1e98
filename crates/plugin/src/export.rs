//! The table of functions of a controller, generated from its type.
#![allow(unsafe_code)]

use crate::control::{Cause, Control, Random, Setup};
use crate::table::{self, Ack, Flight, Grant, Lost, Parameter, Sample, Sent};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null;

/// Exports a controller under a name, with the settings that a scenario may set. Each setting has a name, its type
/// (`real` or `integer`), and the static that holds it.
///
/// ```ignore
/// export_control!(Mine, "mine", beta: real = BETA, gain: integer = GAIN);
/// ```
#[macro_export]
macro_rules! export_control {
    ($control:ty, $name:literal $(, $parameter:ident: $kind:ident = $setting:path)* $(,)?) => {
        $crate::export_control!(@fact "interface=1");
        $($crate::export_control!(@fact "parameter=", stringify!($parameter), ":", stringify!($kind));)*

        /// The function table of this object.
        #[no_mangle]
        #[allow(unsafe_code, non_upper_case_globals)]
        pub static longpipe_control: $crate::table::Control = {
            static PARAMETERS: &[$crate::table::Parameter] = &[
                $($setting.parameter(concat!(stringify!($parameter), "\0")),)*
                $crate::table::Parameter::END,
            ];
            extern "C" fn parameters() -> *const $crate::table::Parameter {
                PARAMETERS.as_ptr()
            }
            $crate::export::table::<$control>(concat!($name, "\0"), parameters)
        };
    };
    // A property that longpipe reads from the file without loading the file (LONGPIPE_FACT of longpipe_control.h).
    (@fact $($part:expr),+) => {
        const _: () = {
            const TEXT: &str = concat!("\x01longpipe\x01", $($part,)+ "\0");
            #[used]
            static FACT: [u8; TEXT.len()] = $crate::export::bytes(TEXT);
        };
    };
}

/// Returns the bytes of a string of length `N`.
#[doc(hidden)]
pub const fn bytes<const N: usize>(text: &str) -> [u8; N] {
    let (mut bytes, mut at) = ([0; N], 0);
    while at < N {
        bytes[at] = text.as_bytes()[at];
        at += 1;
    }
    bytes
}

/// Returns the table of a controller; `name` is NUL-terminated.
#[doc(hidden)]
pub const fn table<C: Control>(name: &'static str, parameters: extern "C" fn() -> *const Parameter) -> table::Control {
    table::Control {
        version: table::VERSION,
        size: size_of::<table::Control>() as u32,
        name: name.as_ptr().cast(),
        open: Some(open::<C>),
        parameters: Some(parameters),
        wants: Some(wants::<C>),
        create: Some(create::<C>),
        destroy: Some(destroy::<C>),
        on_start: Some(on_start::<C>),
        on_sample: None,
        on_ack: Some(on_ack::<C>),
        on_sent: Some(on_sent::<C>),
        on_lost: Some(on_lost::<C>),
        on_reduction: Some(on_reduction::<C>),
        on_recovered: Some(on_recovered::<C>),
        on_acked: Some(on_acked::<C>),
    }
}

unsafe extern "C" fn open<C: Control>(hz: u32) -> *const c_char {
    C::open(hz).map_or_else(|why| why.as_ptr(), |()| null())
}

unsafe extern "C" fn wants<C: Control>() -> u32 {
    C::WANTS
}

unsafe extern "C" fn create<C: Control>(connection: *const table::Connection) -> *mut c_void {
    // SAFETY: the interface passes a valid structure.
    let connection = unsafe { &*connection };
    let random = Random {
        draw: connection.draw,
        source: connection.source,
    };
    let setup = Setup {
        ecn: connection.ecn != 0,
        preconnect_ps: connection.preconnect_ps,
        random,
    };
    Box::into_raw(Box::new(C::new(&setup))).cast()
}

unsafe extern "C" fn destroy<C: Control>(flow: *mut c_void) {
    // SAFETY: `create` made the box, and nothing uses it afterwards.
    drop(unsafe { Box::from_raw(flow.cast::<C>()) });
}

unsafe extern "C" fn on_start<C: Control>(flow: *mut c_void, rtt_ps: u64, flight: *const Flight, grant: *mut Grant) {
    // SAFETY: the interface passes the result of `create`, and structures that are valid during the call.
    let (flow, flight, grant) = unsafe { (&mut *flow.cast::<C>(), &*flight, &mut *grant) };
    flow.on_start(rtt_ps, flight, grant);
}

unsafe extern "C" fn on_acked<C: Control>(
    flow: *mut c_void,
    sample: *const Sample,
    flight: *const Flight,
    grant: *mut Grant,
) {
    // SAFETY: as in `on_start`.
    let (flow, sample, flight, grant) = unsafe { (&mut *flow.cast::<C>(), &*sample, &*flight, &mut *grant) };
    flow.on_acked(sample, flight, grant);
}

unsafe extern "C" fn on_ack<C: Control>(flow: *mut c_void, ack: *const Ack, flight: *const Flight, grant: *mut Grant) {
    // SAFETY: as in `on_start`.
    let (flow, ack, flight, grant) = unsafe { (&mut *flow.cast::<C>(), &*ack, &*flight, &mut *grant) };
    flow.on_ack(ack, flight, grant);
}

unsafe extern "C" fn on_sent<C: Control>(
    flow: *mut c_void,
    sent: *const Sent,
    flight: *const Flight,
    grant: *mut Grant,
) {
    // SAFETY: as in `on_start`.
    let (flow, sent, flight, grant) = unsafe { (&mut *flow.cast::<C>(), &*sent, &*flight, &mut *grant) };
    flow.on_sent(sent, flight, grant);
}

unsafe extern "C" fn on_lost<C: Control>(flow: *mut c_void, lost: *const Lost, flight: *const Flight) {
    // SAFETY: as in `on_start`.
    let (flow, lost, flight) = unsafe { (&mut *flow.cast::<C>(), &*lost, &*flight) };
    flow.on_lost(lost, flight);
}

unsafe extern "C" fn on_reduction<C: Control>(
    flow: *mut c_void,
    cause: c_int,
    flight: *const Flight,
    grant: *mut Grant,
) {
    // SAFETY: as in `on_start`.
    let (flow, flight, grant) = unsafe { (&mut *flow.cast::<C>(), &*flight, &mut *grant) };
    flow.on_reduction(Cause::of(cause), flight, grant);
}

unsafe extern "C" fn on_recovered<C: Control>(
    flow: *mut c_void,
    spurious: c_int,
    flight: *const Flight,
    grant: *mut Grant,
) {
    // SAFETY: as in `on_start`.
    let (flow, flight, grant) = unsafe { (&mut *flow.cast::<C>(), &*flight, &mut *grant) };
    flow.on_recovered(spurious != 0, flight, grant);
}
