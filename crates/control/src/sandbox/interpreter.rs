//! The interpreter wasmi as an executor.

use super::executor::{
    Argument, Draw, Executor, Kind, Signature, FIXED_TABLE, INITIALIZE, MAX_ARGUMENTS, MAX_MEMORY, NO_MEMORY, NO_TABLE,
};
use super::layout::PAGE;
use crate::heartbeat;
use std::fmt;
use wasmi::{
    Caller, Config, Engine, Error, ExternType, Func, Instance, Linker, Memory, Module, Nullable, Ref, Store,
    StoreLimits, StoreLimitsBuilder, Table, Val, ValType,
};

/// Maximum size of a module's table of functions.
const MAX_FUNCTIONS: usize = 1 << 16;

/// An instance of a WebAssembly module in the interpreter.
pub struct Interpreter {
    store: Store<StoreLimits>,
    instance: Instance,
    memory: Memory,
    table: Table,
}

impl fmt::Debug for Interpreter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Interpreter").finish_non_exhaustive()
    }
}

/// A function, and whether it returns a number.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    function: Func,
    returns: bool,
}

/// Returns the first line of an error.
fn line(error: impl fmt::Display) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

impl Interpreter {
    /// Instantiates a module. An error is one line that states the requirements that the module does not meet.
    pub fn new(bytes: &[u8]) -> Result<Interpreter, String> {
        let engine = Engine::new(&Config::default());
        let module =
            Module::new(&engine, bytes).map_err(|error| format!("not a WebAssembly module: {}", line(error)))?;
        let limits = StoreLimitsBuilder::new()
            .memory_size(MAX_MEMORY)
            .table_elements(MAX_FUNCTIONS)
            .build();
        let mut store = Store::new(&engine, limits);
        store.limiter(|limits| limits);
        let linker = linker(&engine, &mut store, &module)?;
        let started = heartbeat::during(|| linker.instantiate_and_start(&mut store, &module));
        let instance = started.map_err(|error| format!("cannot be instantiated: {}", line(error)))?;
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&store, INITIALIZE) {
            let initialized = heartbeat::during(|| initialize.call(&mut store, ()));
            initialized.map_err(|error| format!("{INITIALIZE}: {}", line(error)))?;
        }
        let memory = instance.get_memory(&store, "memory").ok_or(NO_MEMORY)?;
        let table = instance
            .get_table(&store, "__indirect_function_table")
            .ok_or(NO_TABLE)?;
        Ok(Interpreter {
            store,
            instance,
            memory,
            table,
        })
    }
}

impl Executor for Interpreter {
    type Function = Function;

    fn global(&mut self, name: &str) -> Option<u32> {
        let global = self.instance.get_global(&self.store, name)?;
        global.get(&self.store).i32().map(|value| value as u32)
    }

    fn function(&mut self, index: u32, signature: Signature) -> Option<Function> {
        let entry = self.table.get(&self.store, u64::from(index))?;
        let function = **entry.as_func()?.val()?;
        let kind = function.ty(&self.store);
        let parameters = signature.parameters.iter().map(|kind| match kind {
            Kind::Word => ValType::I32,
            Kind::Long => ValType::I64,
        });
        let results: &[ValType] = if signature.returns { &[ValType::I32] } else { &[] };
        let fits = kind.params().iter().copied().eq(parameters) && kind.results() == results;
        fits.then_some(Function {
            function,
            returns: signature.returns,
        })
    }

    fn add_draw(&mut self, draw: Draw) -> Result<u32, String> {
        let function = Func::wrap(&mut self.store, move |source: u32, bound: u32| draw(source, bound));
        let grown = self.table.grow(&mut self.store, 1, Ref::Func(Nullable::Val(function)));
        grown.map(|index| index as u32).map_err(|_| FIXED_TABLE.to_owned())
    }

    fn add_page(&mut self) -> Result<u32, String> {
        let grown = self.memory.grow(&mut self.store, 1);
        let pages = grown.map_err(|error| format!("its memory: {}", line(error)))?;
        Ok(pages as u32 * PAGE)
    }

    fn call(&mut self, function: Function, arguments: &[Argument]) -> Result<u32, String> {
        let mut values = [const { Val::I32(0) }; MAX_ARGUMENTS];
        for (value, argument) in values.iter_mut().zip(arguments) {
            *value = match *argument {
                Argument::Word(word) => Val::I32(word as i32),
                Argument::Long(long) => Val::I64(long as i64),
            };
        }
        let mut results = [Val::I32(0)];
        let results = &mut results[..usize::from(function.returns)];
        let called = function
            .function
            .call(&mut self.store, &values[..arguments.len()], results);
        called.map_err(line)?;
        Ok(results.first().and_then(Val::i32).unwrap_or(0) as u32)
    }

    fn memory_size(&self) -> usize {
        self.memory.data_size(&self.store)
    }

    fn read(&self, at: u32, bytes: &mut [u8]) -> Result<(), String> {
        self.memory.read(&self.store, at as usize, bytes).map_err(line)
    }

    fn write(&mut self, at: u32, bytes: &[u8]) -> Result<(), String> {
        self.memory.write(&mut self.store, at as usize, bytes).map_err(line)
    }
}

/// Defines the imports of a module as functions that fail when they are called.
fn linker(engine: &Engine, store: &mut Store<StoreLimits>, module: &Module) -> Result<Linker<StoreLimits>, String> {
    let mut linker = Linker::new(engine);
    for import in module.imports() {
        let name = format!("{}.{}", import.module(), import.name());
        let ExternType::Func(kind) = import.ty() else {
            return Err(format!("imports {name}; needs a module that imports only functions"));
        };
        let called = name.clone();
        let fails = move |_: Caller<'_, StoreLimits>, _: &[Val], _: &mut [Val]| {
            Err(Error::new(format!("calls {called}, which a sandbox does not have")))
        };
        let function = Func::new(&mut *store, kind.clone(), fails);
        let defined = linker.define(import.module(), import.name(), function);
        defined.map_err(|error| format!("imports {name}: {}", line(error)))?;
    }
    Ok(linker)
}
