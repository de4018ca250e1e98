//! Interface to a WebAssembly runtime, an interpreter or a browser, that executes a module: access to the module's
//! functions, memory and table.

use std::fmt::Debug;

/// Error of a module that does not export its memory.
pub const NO_MEMORY: &str = "needs to export its memory";
/// Error of a module that does not export its table.
pub const NO_TABLE: &str = "does not export its table; needs the linker's --export-table and --growable-table";
/// Error of a module whose table has a fixed size.
pub const FIXED_TABLE: &str = "its table cannot grow; needs the linker's --growable-table";
/// Export of a WASI reactor that a host must call before any other function.
pub const INITIALIZE: &str = "_initialize";

/// Types of a function: its parameters, and whether it returns a 32-bit number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Parameters.
    pub parameters: &'static [Kind],
    /// Whether the function returns a 32-bit number.
    pub returns: bool,
}

/// Type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 32-bit number, `i32`.
    Word,
    /// 64-bit number, `i64`.
    Long,
}

/// Value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// 32-bit number.
    Word(u32),
    /// 64-bit number.
    Long(u64),
}

/// Maximum size of a module's memory [byte].
pub const MAX_MEMORY: usize = 256 << 20;
/// Maximum number of arguments of a call.
pub const MAX_ARGUMENTS: usize = 4;

/// Signature of [`Draw`].
pub const DRAW: Signature = Signature {
    parameters: &[Kind::Word, Kind::Word],
    returns: true,
};

/// The host's `draw(source, bound)` of `struct longpipe_connection`, which returns a random number below a bound from a
/// source.
pub type Draw = Box<dyn Fn(u32, u32) -> u32 + Send + Sync>;

/// An instance of a module that exports its memory and its table. Its start function and [`INITIALIZE`] have been called.
///
/// Each method reports an error as one line. Functions that the module imports fail when they are called.
pub trait Executor: Debug + Send + 'static {
    /// A function of the module.
    type Function: Copy + Debug + Send;

    /// Returns the value of an exported 32-bit global; None if no global has this name.
    fn global(&mut self, name: &str) -> Option<u32>;

    /// Returns the function at an index of the table; None if there is no function with this signature.
    fn function(&mut self, index: u32, signature: Signature) -> Option<Self::Function>;

    /// Adds the host's `draw` to the table, and returns its index in the table.
    ///
    /// # Errors
    /// Returns [`FIXED_TABLE`] if the table has a fixed size.
    fn add_draw(&mut self, draw: Draw) -> Result<u32, String>;

    /// Adds a page to the memory, and returns its address.
    ///
    /// # Errors
    /// Returns an error if the memory has its maximum size.
    fn add_page(&mut self) -> Result<u32, String>;

    /// Calls a function with arguments that match its signature. Returns 0 if the function returns nothing.
    ///
    /// # Errors
    /// Returns an error if the function traps.
    fn call(&mut self, function: Self::Function, arguments: &[Argument]) -> Result<u32, String>;

    /// Returns the size of the memory [byte].
    fn memory_size(&self) -> usize;

    /// Reads bytes from the memory.
    ///
    /// # Errors
    /// Returns an error if the address is outside the memory.
    fn read(&self, at: u32, bytes: &mut [u8]) -> Result<(), String>;

    /// Writes bytes into the memory.
    ///
    /// # Errors
    /// Returns an error if the address is outside the memory.
    fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), String>;
}
