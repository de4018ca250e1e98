//! Congestion controllers that are WebAssembly modules loaded by the page: `tcp.congestion = { kind = "module", ... }`.

use crate::browser::{Browser, ModuleFile};
use longpipe_control::{fill, sandbox, LoadError, Object};
use longpipe_network::Scenario;
use std::cell::RefCell;
use std::sync::Arc;
use wasm_bindgen::prelude::*;

/// A module that the page has registered.
struct Known {
    digest: String,
    name: String,
    file: ModuleFile,
}

thread_local! {
    static MODULES: RefCell<Vec<Known>> = const { RefCell::new(vec![]) };
}

/// Registers a module under the digest by which resolved scenarios refer to it; messages call the module `name`.
#[wasm_bindgen]
pub fn register_module(digest: String, name: String, file: ModuleFile) {
    MODULES.with_borrow_mut(|modules| {
        modules.retain(|known| known.digest != digest);
        modules.push(Known { digest, name, file });
    });
}

/// Loads the modules that a scenario names; each run has its own instance of each module.
pub fn load(scenario: &mut Scenario) -> Result<Vec<Arc<dyn Object>>, LoadError> {
    MODULES.with_borrow(|modules| {
        fill(scenario, |module| {
            let known = modules.iter().find(|known| known.digest == module.digest);
            let Known { name, file, .. } =
                known.ok_or_else(|| LoadError::file(&module.digest, "the page has no file with this digest"))?;
            sandbox::load(Browser::new(file), name, &module.parameters, module.hz)
        })
    })
}

/// Returns the reason why a module failed, if one did.
pub fn failure(modules: &[Arc<dyn Object>]) -> Option<String> {
    modules.iter().find_map(|module| module.failure())
}

/// Returns one line for each kind of value that a module set out of range and that was therefore replaced.
pub fn replaced(modules: &[Arc<dyn Object>]) -> Vec<String> {
    let lines = modules.iter().flat_map(|module| {
        let about = module.about();
        let line = |line| format!("{}: {line}", about.file);
        about.complaints().into_iter().map(line)
    });
    lines.collect()
}
