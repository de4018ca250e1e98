//! Shared objects as congestion controls. Each simulation loads its own copy of the file, because the system loads the
//! same file only once, so that simulations would share the object's global variables.
#![allow(unsafe_code)]

use crate::complaints::Complaints;
use crate::flow::Flow;
use crate::heartbeat;
use crate::operations::{requirements, About, Object, Operations};
use crate::settings::{LoadError, Value};
use libloading::Library;
use longpipe_events::{Span, Stream};
use longpipe_plugin::table::{
    Ack, Connection, Control, Flight, Grant, Lost, Parameter, Sample, Sent, SIZE_WITHOUT_ON_ACKED, VERSION,
};
use longpipe_tcp::congestion::user::{Controller, Plugin, Requirements};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::fs::OpenOptions;
use std::io::Write;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// A loaded object. Only the thread of one simulation calls its functions.
#[derive(Debug)]
struct LoadedObject {
    /// Copy of the object's operations; operations that the object lacks are null.
    control: Control,
    about: About,
    /// Texts to which parameters may point.
    _values: Vec<Value>,
    /// Unloads the object after all other fields have been dropped.
    _library: Library,
}

// SAFETY: `control` points to functions and texts of the library, which the object keeps loaded. Each simulation has
// its own copy and runs on one thread at a time.
unsafe impl Send for LoadedObject {}
// SAFETY: threads share only `control`, which they read and which does not change, and the complaints, which have a
// lock.
unsafe impl Sync for LoadedObject {}

impl LoadedObject {
    fn load(file: &Path, shown: &str, parameters: &[(String, String)], hz: u32) -> Result<LoadedObject, LoadError> {
        let refused = |why: String| LoadError::file(shown, why);
        let copy = TemporaryCopy::of(file).map_err(|why| refused(format!("cannot be copied: {why}")))?;
        // SAFETY: loading runs the file's constructors. The user named the file in order to run its code.
        let library = heartbeat::during(|| unsafe { Library::new(&copy.0) }).map_err(|error| {
            let why = innermost(&error).replace(&*copy.0.to_string_lossy(), "the file");
            refused(format!(
                "not a shared object for this machine ({why}); needs one that `longpipe cc build` made"
            ))
        })?;
        // The file is no longer needed once it is loaded.
        drop(copy);
        // SAFETY: the symbol is only looked up here; its version and size are checked before any other field is read.
        let control = unsafe { library.get::<*const Control>(b"longpipe_control\0") }
            .map(|symbol| *symbol)
            .map_err(|_| refused("no controller: needs an object that `longpipe cc build` made".to_owned()))?;
        // SAFETY: the symbol exists, and every version of the interface begins with these two words.
        let (version, size) = unsafe { ((*control).version, (*control).size) };
        let size = size as usize;
        if version != VERSION || ![SIZE_WITHOUT_ON_ACKED, size_of::<Control>()].contains(&size) {
            return Err(refused(format!(
                "has version {version} of the interface and {size} bytes of operations; needs version {VERSION} and \
                 {SIZE_WITHOUT_ON_ACKED} or {} bytes: build it again",
                size_of::<Control>()
            )));
        }
        // SAFETY: the object has `size` bytes of operations, and every operation may be null.
        let operations = unsafe {
            let mut operations = MaybeUninit::<Control>::zeroed();
            std::ptr::copy_nonoverlapping(control.cast::<u8>(), operations.as_mut_ptr().cast::<u8>(), size);
            operations.assume_init()
        };
        for (name, is_there) in [
            ("create", operations.create.is_some()),
            ("destroy", operations.destroy.is_some()),
            ("on_ack", operations.on_ack.is_some()),
            ("on_reduction", operations.on_reduction.is_some()),
        ] {
            if !is_there {
                return Err(refused(format!("needs the operation {name} in its longpipe_control")));
            }
        }
        let values = set_parameters(&operations, parameters)?;
        if let Some(open) = operations.open {
            // SAFETY: the interface allows one call after the parameters have been set.
            let problem = heartbeat::during(|| unsafe { open(hz) });
            if !problem.is_null() {
                return Err(refused(text(problem)));
            }
        }
        // SAFETY: the interface allows calls after `open`.
        let requested = operations
            .wants
            .map_or(0, |wants| heartbeat::during(|| unsafe { wants() }));
        let name = if operations.name.is_null() {
            String::new()
        } else {
            text(operations.name)
        };
        Ok(LoadedObject {
            about: About {
                name,
                file: shown.to_owned(),
                requirements: requirements(requested),
                complaints: Complaints::default(),
                has_on_acked_or_sample: operations.on_acked.is_some() || operations.on_sample.is_some(),
                has_on_sent: operations.on_sent.is_some(),
                has_on_lost: operations.on_lost.is_some(),
            },
            control: operations,
            _values: values,
            _library: library,
        })
    }

    /// Returns the operations.
    #[inline(always)]
    fn control(&self) -> &Control {
        &self.control
    }
}

/// Shared reference to a loaded object, which a scenario contains as its congestion control.
#[derive(Clone, Debug)]
pub(crate) struct Native(Arc<LoadedObject>);

/// Loads a shared object (see `load_file`).
pub(crate) fn load(file: &Path, shown: &str, parameters: &[(String, String)], hz: u32) -> Result<Native, LoadError> {
    Ok(Native(Arc::new(LoadedObject::load(file, shown, parameters, hz)?)))
}

impl Object for Native {
    fn about(&self) -> &About {
        &self.0.about
    }
}

impl Plugin for Native {
    fn requirements(&self) -> Requirements {
        self.0.about.requirements
    }

    fn connect(&self) -> Box<dyn Controller> {
        Box::new(Flow::new(NativeFlow {
            state: std::ptr::null_mut(),
            // Replaced by `draw_from` before the first call of `draw`.
            draws: Box::new(Stream::new(0, "control", 0)),
            object: Arc::clone(&self.0),
        }))
    }
}

/// State of one connection.
#[derive(Debug)]
struct NativeFlow {
    state: *mut c_void,
    /// Random stream of the connection. It is boxed because `state` contains its address.
    draws: Box<Stream>,
    object: Arc<LoadedObject>,
}

// SAFETY: `state` belongs to this connection, and the functions of an object's copy are called by the thread of one
// simulation at a time.
unsafe impl Send for NativeFlow {}

extern "C" fn draw(source: *mut c_void, bound: u32) -> u32 {
    // SAFETY: the source is the `draws` of the flow whose operation is in progress, and no other reference to it exists
    // during this time.
    let draws = unsafe { &mut *source.cast::<Stream>() };
    let bound = if bound == 0 { 1 << 32 } else { u64::from(bound) };
    draws.below(bound) as u32
}

impl Operations for NativeFlow {
    #[inline(always)]
    fn about(&self) -> &About {
        &self.object.about
    }

    fn create(&mut self, ecn: bool, preconnect: Span) {
        let connection = Connection {
            draw,
            source: std::ptr::from_mut(&mut *self.draws).cast(),
            ecn: u32::from(ecn),
            reserved: 0,
            preconnect_ps: preconnect.0,
        };
        let create = self.object.control().create.expect("checked when it was loaded");
        // SAFETY: the structure conforms to the interface, and the source outlives the state.
        self.state = heartbeat::during(|| unsafe { create(&connection) });
        assert!(
            !self.state.is_null(),
            "{}: out of memory for a connection",
            self.about().name
        );
    }

    fn draw_from(&mut self, draws: Stream) {
        *self.draws = draws;
    }

    #[inline(always)]
    fn on_start(&mut self, rtt_ps: u64, flight: &Flight, grant: &mut Grant) {
        if let Some(on_start) = self.object.control().on_start {
            // SAFETY: the object created the state, and the structures conform to the interface.
            heartbeat::during(|| unsafe { on_start(self.state, rtt_ps, flight, grant) });
        }
    }

    #[inline(always)]
    fn on_acked(&mut self, sample: &Sample, flight: &Flight, grant: &mut Grant) {
        let control = self.object.control();
        if let Some(on_acked) = control.on_acked {
            // SAFETY: as in `on_start`.
            heartbeat::during(|| unsafe { on_acked(self.state, sample, flight, grant) });
        } else if let Some(on_sample) = control.on_sample {
            // SAFETY: as in `on_start`.
            heartbeat::during(|| unsafe { on_sample(self.state, sample, flight) });
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack, flight: &Flight, grant: &mut Grant) {
        let on_ack = self.object.control().on_ack.expect("checked when it was loaded");
        // SAFETY: as in `on_start`.
        heartbeat::during(|| unsafe { on_ack(self.state, ack, flight, grant) });
    }

    #[inline(always)]
    fn on_sent(&mut self, sent: &Sent, flight: &Flight, grant: &mut Grant) {
        if let Some(on_sent) = self.object.control().on_sent {
            // SAFETY: as in `on_start`.
            heartbeat::during(|| unsafe { on_sent(self.state, sent, flight, grant) });
        }
    }

    fn on_lost(&mut self, lost: &Lost, flight: &Flight) {
        if let Some(on_lost) = self.object.control().on_lost {
            // SAFETY: as in `on_start`.
            heartbeat::during(|| unsafe { on_lost(self.state, lost, flight) });
        }
    }

    fn on_reduction(&mut self, cause: c_int, flight: &Flight, grant: &mut Grant) {
        let on_reduction = self.object.control().on_reduction.expect("checked when it was loaded");
        // SAFETY: as in `on_start`.
        heartbeat::during(|| unsafe { on_reduction(self.state, cause, flight, grant) });
    }

    fn on_recovered(&mut self, spurious: bool, flight: &Flight, grant: &mut Grant) {
        if let Some(on_recovered) = self.object.control().on_recovered {
            // SAFETY: as in `on_start`.
            heartbeat::during(|| unsafe { on_recovered(self.state, c_int::from(spurious), flight, grant) });
        }
    }
}

impl Drop for NativeFlow {
    fn drop(&mut self) {
        if let (Some(destroy), false) = (self.object.control().destroy, self.state.is_null()) {
            // SAFETY: the object created the state, and nothing uses it afterwards.
            heartbeat::during(|| unsafe { destroy(self.state) });
        }
    }
}

/// Sets the parameters that a scenario names. Returns the values; they must be kept, because text parameters point to
/// them.
fn set_parameters(control: &Control, wanted: &[(String, String)]) -> Result<Vec<Value>, LoadError> {
    let mut listed: Vec<(String, *const Parameter)> = vec![];
    if let Some(parameters) = control.parameters {
        // SAFETY: the interface requires null, or a list that ends with an entry without a name.
        let mut next = heartbeat::during(|| unsafe { parameters() });
        // SAFETY: the list ends with an entry without a name, and stays valid while the object is loaded.
        while !next.is_null() && !unsafe { (*next).name }.is_null() {
            // SAFETY: the entry belongs to the list, which stays valid while the object is loaded.
            listed.push((text(unsafe { (*next).name }), next));
            // SAFETY: the entry is not the last one.
            next = unsafe { next.add(1) };
        }
    }
    let mut values = vec![];
    for (name, value) in wanted {
        let Some((_, parameter)) = listed.iter().find(|(known, _)| known == name) else {
            let names: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
            return Err(LoadError::unknown(name, &names));
        };
        // SAFETY: the entry was listed above.
        let parameter = unsafe { &**parameter };
        let read = Value::read(name, parameter.kind, value)?;
        let at: *const c_void = match &read {
            Value::Integer(number) => std::ptr::from_ref(number).cast(),
            Value::Real(number) => std::ptr::from_ref(number).cast(),
            Value::Text(text) => text.as_ptr().cast(),
        };
        // SAFETY: the value has the type that the parameter declares; a number is read during the call, and the buffer of
        // a text does not move when `read` is moved.
        let status = parameter
            .set
            .map(|set| heartbeat::during(|| unsafe { set(parameter, at) }));
        if status != Some(0) {
            return Err(LoadError::refused(name, value));
        }
        values.push(read);
    }
    Ok(values)
}

fn text(at: *const c_char) -> String {
    // SAFETY: the interface requires every text to be NUL-terminated and to stay valid while the object is loaded.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

/// Returns the innermost error of the system's loader.
fn innermost(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// A copy of a file under a unique name; the file is removed when this value is dropped.
struct TemporaryCopy(PathBuf);

static COPIES: AtomicU64 = AtomicU64::new(0);

impl TemporaryCopy {
    fn of(file: &Path) -> Result<TemporaryCopy, String> {
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let name = format!("longpipe-{}-{number}.so", std::process::id());
        // The temporary folder may be mounted without execute permission; the folder of the object allows execution.
        let beside = file.parent().map(Path::to_path_buf);
        let content = std::fs::read(file).map_err(|error| error.to_string())?;
        let mut failed = String::new();
        for folder in [Some(std::env::temp_dir()), beside].into_iter().flatten() {
            let copy = TemporaryCopy(folder.join(&name));
            match create_new(&copy.0, &content) {
                Ok(()) => return Ok(copy),
                Err(error) => {
                    failed = error.to_string();
                    // The existing file is not ours.
                    std::mem::forget(copy);
                }
            }
        }
        Err(failed)
    }
}

/// Creates a file that only this user can access. Fails if the path exists, because another user of the temporary
/// folder may have created a link or a file there, whose content that user could change after it has been written.
fn create_new(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o700);
    let written = options.open(path)?.write_all(content);
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

impl Drop for TemporaryCopy {
    fn drop(&mut self) {
        // If this fails, a temporary file is left behind.
        let _ = std::fs::remove_file(&self.0);
    }
}
