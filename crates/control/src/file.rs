//! Controllers loaded from files, which are shared objects or WebAssembly modules.

use crate::object;
use crate::operations::Object;
#[cfg(feature = "webassembly")]
use crate::sandbox::{self, interpreter::Interpreter};
use crate::settings::LoadError;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

/// First bytes of every WebAssembly module.
const WASM: [u8; 4] = *b"\0asm";

/// Loads a private copy of a file, sets its parameters and opens it. Error messages refer to it as `shown`.
///
/// # Errors
/// Returns an error if the file is not a controller, has another version, or does not accept a parameter.
pub fn load_file(
    file: &Path,
    shown: &str,
    parameters: &[(String, String)],
    hz: u32,
) -> Result<Arc<dyn Object>, LoadError> {
    let unreadable = |why: Error| LoadError::file(shown, format!("cannot be read: {why}"));
    let start = read_start(file).map_err(unreadable)?;
    if start != WASM {
        return Ok(Arc::new(object::load(file, shown, parameters, hz)?));
    }
    #[cfg(feature = "webassembly")]
    return {
        let bytes = std::fs::read(file).map_err(unreadable)?;
        sandbox::load(Interpreter::new(&bytes), shown, parameters, hz)
    };
    #[cfg(not(feature = "webassembly"))]
    Err(LoadError::file(
        shown,
        "a WebAssembly module; needs a longpipe that was built with the feature webassembly",
    ))
}

/// Returns the first bytes of a file, or zeros if it is shorter.
fn read_start(file: &Path) -> Result<[u8; 4], Error> {
    let mut start = [0; 4];
    match File::open(file)?.read_exact(&mut start) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok([0; 4]),
        other => other.map(|()| start),
    }
}
