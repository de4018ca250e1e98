//! The browser as the executor of WebAssembly modules: each call from the engine reaches the module through
//! `lab/src/page/guest.ts`.

use longpipe_control::sandbox::executor::{
    Argument, Draw, Executor, Kind, Signature, DRAW, FIXED_TABLE, MAX_ARGUMENTS, MAX_MEMORY,
};
use std::fmt;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// The file of a module.
    pub type ModuleFile;

    /// Instantiates the module, with at most `max_memory` bytes of memory, and runs its start functions.
    #[wasm_bindgen(method, catch)]
    fn instantiate(this: &ModuleFile, max_memory: u32) -> Result<Guest, JsValue>;

    /// An instance of a module.
    type Guest;

    /// Returns the value of an exported 32-bit global.
    #[wasm_bindgen(method)]
    fn global(this: &Guest, name: &str) -> Option<u32>;

    /// Looks up the function at an index of the module's table, and returns the number by which `call` refers to it;
    /// None if there is no function, or if `adapter` cannot import it because its signature differs.
    #[wasm_bindgen(method)]
    fn function(this: &Guest, index: u32, adapter: &[u8]) -> Option<u32>;

    /// Adds a function to the table through `adapter`, and returns its index; None if the table has a fixed size.
    #[wasm_bindgen(method)]
    fn add(this: &Guest, function: &JsValue, adapter: &[u8]) -> Option<u32>;

    /// Adds a page to the memory, and returns its address.
    #[wasm_bindgen(method, catch, js_name = addPage)]
    fn add_page(this: &Guest) -> Result<u32, JsValue>;

    /// Calls a function, given by its number, with as many of the arguments as it has parameters.
    #[wasm_bindgen(method, catch)]
    fn call(this: &Guest, function: u32, a: u32, b: u32, c: u32, d: u32) -> Result<u32, JsValue>;

    /// Calls a function whose second parameter is a 64-bit number.
    #[wasm_bindgen(method, catch, js_name = call)]
    fn call_long(this: &Guest, function: u32, a: u32, b: u64, c: u32, d: u32) -> Result<u32, JsValue>;

    /// Returns the size of the memory [byte].
    #[wasm_bindgen(method, js_name = memorySize)]
    fn memory_size(this: &Guest) -> u32;

    /// Copies bytes from the memory.
    #[wasm_bindgen(method, catch)]
    fn read(this: &Guest, at: u32, bytes: &mut [u8]) -> Result<(), JsValue>;

    /// Copies bytes into the memory.
    #[wasm_bindgen(method, catch)]
    fn write(this: &Guest, at: u32, bytes: &[u8]) -> Result<(), JsValue>;
}

/// An instance of a WebAssembly module in the browser.
pub struct Browser(Guest);

impl fmt::Debug for Browser {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Browser").finish_non_exhaustive()
    }
}

impl Browser {
    /// Instantiates a module. An error is one line that states the requirements that the module does not meet.
    pub fn new(file: &ModuleFile) -> Result<Browser, String> {
        file.instantiate(MAX_MEMORY as u32).map(Browser).map_err(line)
    }
}

/// Returns the message of a JavaScript error.
fn line(error: JsValue) -> String {
    let message = js_sys::Reflect::get(&error, &JsValue::from_str("message"));
    let text = message.ok().and_then(|message| message.as_string());
    text.unwrap_or_else(|| "an exception".to_owned())
}

impl Executor for Browser {
    type Function = u32;

    fn global(&mut self, name: &str) -> Option<u32> {
        self.0.global(name)
    }

    fn function(&mut self, index: u32, signature: Signature) -> Option<u32> {
        self.0.function(index, &adapter(signature))
    }

    fn add_draw(&mut self, draw: Draw) -> Result<u32, String> {
        let function: Closure<dyn Fn(u32, u32) -> u32> = Closure::own_assert_unwind_safe(draw);
        let added = self.0.add(&function.into_js_value(), &adapter(DRAW));
        added.ok_or_else(|| FIXED_TABLE.to_owned())
    }

    fn add_page(&mut self) -> Result<u32, String> {
        self.0.add_page().map_err(line)
    }

    fn call(&mut self, function: u32, arguments: &[Argument]) -> Result<u32, String> {
        let mut words = [0; MAX_ARGUMENTS];
        let mut second = None;
        for (word, argument) in words.iter_mut().zip(arguments) {
            match *argument {
                Argument::Word(value) => *word = value,
                // Of the functions in the interface, only `on_start` has a 64-bit parameter, which is its second one.
                Argument::Long(value) => second = Some(value),
            }
        }
        let [a, b, c, d] = words;
        let called = match second {
            Some(long) => self.0.call_long(function, a, long, c, d),
            None => self.0.call(function, a, b, c, d),
        };
        called.map_err(line)
    }

    fn memory_size(&self) -> usize {
        self.0.memory_size() as usize
    }

    fn read(&self, at: u32, bytes: &mut [u8]) -> Result<(), String> {
        self.0.read(at, bytes).map_err(line)
    }

    fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), String> {
        self.0.write(at, bytes).map_err(line)
    }
}

/// Returns a module that imports a function with the given signature, and exports it as "f".
///
/// The adapter is needed because a browser compares signatures only when it links modules, and allows a table to
/// contain only functions of modules.
fn adapter(signature: Signature) -> Vec<u8> {
    let mut kind = vec![1, 0x60, signature.parameters.len() as u8];
    kind.extend(signature.parameters.iter().map(|kind| match kind {
        Kind::Word => 0x7f,
        Kind::Long => 0x7e,
    }));
    kind.extend(if signature.returns { &[1, 0x7f][..] } else { &[0] });
    let mut bytes = b"\0asm\x01\0\0\0".to_vec();
    // Sections of types, of imports (the names of module and field are empty), and of exports.
    for (number, content) in [(1, &kind[..]), (2, &[1, 0, 0, 0, 0]), (7, &[1, 1, b'f', 0, 0])] {
        bytes.extend([number, content.len() as u8]);
        bytes.extend(content);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_imports_and_exports_a_function_of_the_signature() {
        // This is the hand-assembled module (module (import "" "" (func (param i32 i64) (result i32))) (export "f"
        // (func 0))), according to chapter 5 of the specification: a section consists of its number, size and content.
        let wanted = [
            0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x07, 0x01, 0x60, 0x02, 0x7f, 0x7e, 0x01, 0x7f, 0x02,
            0x05, 0x01, 0x00, 0x00, 0x00, 0x00, 0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00,
        ];
        let signature = Signature {
            parameters: &[Kind::Word, Kind::Long],
            returns: true,
        };
        assert_eq!(adapter(signature), wanted);
    }
}
