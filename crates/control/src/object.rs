//! One private copy of a shared object, with its parameters set.
#![allow(unsafe_code)]

use crate::complaints::Complaints;
use crate::flow::Flow;
use crate::heartbeat;
use crate::settings::{LoadError, Value};
use libloading::Library;
use longpipe_plugin::table::{wants, Control, Parameter, VERSION};
use longpipe_tcp::congestion::control::Wants;
use longpipe_tcp::congestion::loaded::{Controller, Plugin, Requirements};
use std::ffi::{c_char, c_void, CStr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// A loaded object. Its functions are called by the thread of one simulation only.
#[derive(Debug)]
pub struct Object {
    control: *const Control,
    requirements: Requirements,
    /// The name that the controller reports, and the name of the file as its user knows it.
    name: String,
    file: String,
    /// Texts that parameters may point to.
    _values: Vec<Value>,
    pub(crate) complaints: Complaints,
    /// Unloads the object after everything else is gone.
    _library: Library,
}

// SAFETY: `control` points into the library, which the object keeps loaded and which does not change after `open`. Each
// simulation has its own copy and runs on one thread at a time.
unsafe impl Send for Object {}
// SAFETY: threads share only reads of `control`, which does not change after `open`, and `complaints`, which has a lock.
unsafe impl Sync for Object {}

impl Object {
    /// Loads a private copy of a file, sets its parameters and opens it.
    ///
    /// # Errors
    /// Returns an error if the file is not a controller, has another version, or does not accept a parameter.
    pub fn load(file: &Path, shown: &str, parameters: &[(String, String)], hz: u32) -> Result<Object, LoadError> {
        let refused = |why: String| LoadError::file(shown, why);
        let copy = Copy::of(file).map_err(|why| refused(format!("cannot be copied: {why}")))?;
        // SAFETY: loading runs the file's constructors. The user named the file in order to run its code.
        let library = heartbeat::during(|| unsafe { Library::new(&copy.0) }).map_err(|error| {
            let why = innermost(&error).replace(&*copy.0.to_string_lossy(), "the file");
            refused(format!(
                "no shared object of this machine ({why}); needs one that `longpipe cc build` made"
            ))
        })?;
        drop(copy);
        // SAFETY: the symbol is only looked up here; its version and size are checked before any other field is read.
        let control = unsafe { library.get::<*const Control>(b"longpipe_control\0") }
            .map(|symbol| *symbol)
            .map_err(|_| refused("no controller: needs an object that `longpipe cc build` made".to_owned()))?;
        // SAFETY: the symbol exists, and every version of the interface begins with these two words.
        let (version, size) = unsafe { ((*control).version, (*control).size) };
        if version != VERSION || size as usize != size_of::<Control>() {
            return Err(refused(format!(
                "has version {version} of the interface; needs {VERSION}: build it again"
            )));
        }
        // SAFETY: version and size are those of `Control`.
        let of = unsafe { &*control };
        for (name, is_there) in [
            ("create", of.create.is_some()),
            ("destroy", of.destroy.is_some()),
            ("on_ack", of.on_ack.is_some()),
            ("on_reduction", of.on_reduction.is_some()),
        ] {
            if !is_there {
                return Err(refused(format!("needs the operation {name} in its longpipe_control")));
            }
        }
        let values = set(of, parameters)?;
        if let Some(open) = of.open {
            // SAFETY: the interface defines one call, after the parameters are set.
            let problem = heartbeat::during(|| unsafe { open(hz) });
            if !problem.is_null() {
                return Err(refused(text(problem)));
            }
        }
        // SAFETY: the interface defines calls after `open`.
        let wanted = of.wants.map_or(0, |wants| heartbeat::during(|| unsafe { wants() }));
        let name = if of.name.is_null() {
            String::new()
        } else {
            text(of.name)
        };
        Ok(Object {
            control,
            requirements: requirements(wanted),
            name,
            file: shown.to_owned(),
            _values: values,
            complaints: Complaints::default(),
            _library: library,
        })
    }

    /// Returns the name that the controller reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the file, as its user knows it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns lines about values that were out of range and therefore replaced.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.lines()
    }

    /// Returns the operations.
    #[inline(always)]
    pub(crate) fn control(&self) -> &Control {
        // SAFETY: the library is loaded as long as `self` is.
        unsafe { &*self.control }
    }
}

/// An object, as a scenario holds it.
#[derive(Clone, Debug)]
pub(crate) struct Shared(pub Arc<Object>);

impl Plugin for Shared {
    fn requirements(&self) -> Requirements {
        self.0.requirements
    }

    fn connect(&self) -> Box<dyn Controller> {
        Box::new(Flow::new(Arc::clone(&self.0)))
    }
}

impl Shared {
    pub(crate) fn wants(object: &Object) -> Wants {
        object.requirements.wants
    }
}

/// Returns the inputs that bits of `longpipe_control.h` (`wants`) request.
pub fn requirements(wanted: u32) -> Requirements {
    let has = |bit: u32| wanted & bit != 0;
    Requirements {
        wants: Wants {
            records: has(wants::RECORDS | wants::RATES | wants::LOSSES),
            rates: has(wants::RATES),
            sending: has(wants::SENDING),
            losses: false,
            pacing: has(wants::PACING),
            each_loss: has(wants::LOSSES),
        },
        owns_window: has(wants::OWNS_WINDOW),
        measures_delay: has(wants::DELAYS),
    }
}

/// Sets the parameters that a scenario names. Returns the values, to which text parameters point.
fn set(control: &Control, wanted: &[(String, String)]) -> Result<Vec<Value>, LoadError> {
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
            let accepts = if names.is_empty() {
                "the module has no parameters".to_owned()
            } else {
                format!("accepts {}", names.join(", "))
            };
            return Err(LoadError::parameter(name, format!("unknown; {accepts}")));
        };
        // SAFETY: the entry was listed above.
        let parameter = unsafe { &**parameter };
        let read = Value::read(name, parameter.kind, value)?;
        let at: *const c_void = match &read {
            Value::Integer(number) => std::ptr::from_ref(number).cast(),
            Value::Real(number) => std::ptr::from_ref(number).cast(),
            Value::Text(text) => text.as_ptr().cast(),
        };
        // SAFETY: the value has the type that the parameter declares; text stays where it is when `read` is moved.
        let set = parameter
            .set
            .map(|set| heartbeat::during(|| unsafe { set(parameter, at) }));
        if set != Some(0) {
            return Err(LoadError::parameter(
                name,
                format!("{value}; the module does not accept it"),
            ));
        }
        values.push(read);
    }
    Ok(values)
}

fn text(at: *const c_char) -> String {
    // SAFETY: the interface requires every text to end with a zero byte and to stay valid while the object is loaded.
    unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned()
}

/// Returns the innermost error of the system's loader.
fn innermost(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// A copy of a file under a unique name, because the system loads each file only once.
struct Copy(PathBuf);

static COPIES: AtomicU64 = AtomicU64::new(0);

impl Copy {
    fn of(file: &Path) -> Result<Copy, String> {
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let name = format!("longpipe-{}-{number}.so", std::process::id());
        // The temporary folder may be mounted without execute permission; the folder of the object is not.
        let beside = file.parent().map(Path::to_path_buf);
        let mut failed = String::new();
        for folder in [Some(std::env::temp_dir()), beside].into_iter().flatten() {
            let copy = Copy(folder.join(&name));
            match std::fs::copy(file, &copy.0) {
                Ok(_) => return Ok(copy),
                Err(error) => failed = error.to_string(),
            }
        }
        Err(failed)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // If this fails, a temporary file remains.
        let _ = std::fs::remove_file(&self.0);
    }
}
