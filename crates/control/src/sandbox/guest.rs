//! One instance of a module, and calls of its operations.

use super::layout::{self, control, parameter, Plain, ARGUMENT, FLIGHT, GRANT, PAGE, TEXTS};
use crate::heartbeat;
use crate::settings::Value;
use longpipe_events::Stream;
use longpipe_plugin::table::{Ack, Flight, Grant, Lost, Sample, Sent, VERSION};
use std::fmt;
use wasmi::{
    Caller, Config, Engine, Error, ExternType, Func, Linker, Memory, Module, Nullable, Ref, Store, StoreLimits,
    StoreLimitsBuilder, Table, TypedFunc, Val,
};

/// Maximum size of a module's memory [byte].
const MOST_MEMORY: usize = 256 << 20;
/// Maximum size of a module's table of functions.
const MOST_FUNCTIONS: usize = 1 << 16;
/// Maximum number of parameters that are read.
const MOST_PARAMETERS: u32 = 256;
/// Maximum length of a text that is read [byte].
const MOST_TEXT: u32 = 1000;

/// An entry of the list of parameters.
#[derive(Debug)]
pub struct Parameter {
    pub name: String,
    pub kind: u32,
    address: u32,
    set: u32,
}

/// State of the host that belongs to a module.
struct Host {
    limits: StoreLimits,
    /// Random streams of the connections.
    draws: Vec<Stream>,
}

type OnAck = TypedFunc<(u32, u32, u32, u32), ()>;
type OnEvent = TypedFunc<(u32, i32, u32, u32), ()>;
type OnReport = TypedFunc<(u32, u32, u32), ()>;

/// Operations by name.
struct Functions {
    create: TypedFunc<u32, u32>,
    destroy: TypedFunc<u32, ()>,
    on_start: Option<TypedFunc<(u32, u64, u32, u32), ()>>,
    on_sample: Option<OnReport>,
    on_ack: OnAck,
    on_sent: Option<OnAck>,
    on_lost: Option<OnReport>,
    on_reduction: OnEvent,
    on_recovered: Option<OnEvent>,
}

/// An instance.
pub struct Guest {
    store: Store<Host>,
    memory: Memory,
    table: Table,
    /// Address of `longpipe_control`.
    control: u32,
    /// Address of the page for arguments, and of the next text in it.
    page: u32,
    next_text: u32,
    /// Index of `draw` in the table.
    draw: u32,
    functions: Functions,
}

impl fmt::Debug for Guest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Guest").finish_non_exhaustive()
    }
}

/// The first line of an error.
fn line(error: impl fmt::Display) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

fn draw(mut caller: Caller<'_, Host>, source: u32, bound: u32) -> u32 {
    let bound = if bound == 0 { 1 << 32 } else { u64::from(bound) };
    let draws = caller.data_mut().draws.get_mut(source as usize);
    draws.map_or(0, |draws| draws.below(bound) as u32)
}

impl Guest {
    /// Instantiates a module. An error is a line with the module's unmet requirements.
    pub fn new(bytes: &[u8]) -> Result<Guest, String> {
        let engine = Engine::new(&Config::default());
        let module = Module::new(&engine, bytes).map_err(|error| format!("no WebAssembly module: {}", line(error)))?;
        let host = Host {
            limits: StoreLimitsBuilder::new()
                .memory_size(MOST_MEMORY)
                .table_elements(MOST_FUNCTIONS)
                .build(),
            draws: vec![],
        };
        let mut store = Store::new(&engine, host);
        store.limiter(|host| &mut host.limits);
        let linker = linker(&engine, &mut store, &module)?;
        let started = heartbeat::during(|| linker.instantiate_and_start(&mut store, &module));
        let instance = started.map_err(|error| format!("cannot be instantiated: {}", line(error)))?;
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&store, "_initialize") {
            let initialized = heartbeat::during(|| initialize.call(&mut store, ()));
            initialized.map_err(|error| format!("_initialize: {}", line(error)))?;
        }
        let memory = instance
            .get_memory(&store, "memory")
            .ok_or("needs to export its memory")?;
        let table = instance
            .get_table(&store, "__indirect_function_table")
            .ok_or("does not export its table; needs the linker's --export-table and --growable-table")?;
        let control = instance
            .get_global(&store, "longpipe_control")
            .and_then(|global| global.get(&store).i32())
            .ok_or("no controller: needs the linker's --export=longpipe_control")? as u32;
        let pages = memory
            .grow(&mut store, 1)
            .map_err(|error| format!("its memory: {}", line(error)))?;
        let function = Func::wrap(&mut store, draw);
        let draw = table
            .grow(&mut store, 1, Ref::Func(Nullable::Val(function)))
            .map_err(|_| "its table cannot grow; needs the linker's --growable-table")?;
        let memory_of = (&store, memory);
        if control as usize + control::LENGTH as usize > memory.data_size(&store) {
            return Err("its longpipe_control is outside its memory".to_owned());
        }
        let (version, size) = (
            word(memory_of, control + control::VERSION)?,
            word(memory_of, control + control::SIZE)?,
        );
        if version != VERSION || size != control::LENGTH {
            return Err(format!(
                "has version {version} of the interface; needs {VERSION}: build it again"
            ));
        }
        let functions = Functions {
            create: required(memory_of, table, control + control::CREATE, "create")?,
            destroy: required(memory_of, table, control + control::DESTROY, "destroy")?,
            on_start: optional(memory_of, table, control + control::ON_START, "on_start")?,
            on_sample: optional(memory_of, table, control + control::ON_SAMPLE, "on_sample")?,
            on_ack: required(memory_of, table, control + control::ON_ACK, "on_ack")?,
            on_sent: optional(memory_of, table, control + control::ON_SENT, "on_sent")?,
            on_lost: optional(memory_of, table, control + control::ON_LOST, "on_lost")?,
            on_reduction: required(memory_of, table, control + control::ON_REDUCTION, "on_reduction")?,
            on_recovered: optional(memory_of, table, control + control::ON_RECOVERED, "on_recovered")?,
        };
        Ok(Guest {
            store,
            memory,
            table,
            control,
            page: pages as u32 * PAGE,
            next_text: TEXTS,
            draw: draw as u32,
            functions,
        })
    }

    /// Returns whether the module has `on_sample`.
    pub fn has_on_sample(&self) -> bool {
        self.functions.on_sample.is_some()
    }

    /// Returns whether the module has `on_sent`.
    pub fn has_on_sent(&self) -> bool {
        self.functions.on_sent.is_some()
    }

    /// Returns whether the module has `on_lost`.
    pub fn has_on_lost(&self) -> bool {
        self.functions.on_lost.is_some()
    }

    /// Returns the name that the controller reports.
    pub fn name(&self) -> Result<String, String> {
        match self.word(self.control + control::NAME)? {
            0 => Ok(String::new()),
            at => self.text(at),
        }
    }

    /// Returns the parameters that can be set.
    pub fn parameters(&mut self) -> Result<Vec<Parameter>, String> {
        let mut listed = vec![];
        let field = self.control + control::PARAMETERS;
        let list: Option<TypedFunc<(), u32>> = optional((&self.store, self.memory), self.table, field, "parameters")?;
        let Some(list) = list else {
            return Ok(listed);
        };
        let mut address = self.run_once("parameters", |store| list.call(store, ()))?;
        for _ in 0..MOST_PARAMETERS {
            let name = if address == 0 {
                0
            } else {
                self.word(address + parameter::NAME)?
            };
            if name == 0 {
                return Ok(listed);
            }
            listed.push(Parameter {
                name: self.text(name)?,
                kind: self.word(address + parameter::TYPE)?,
                address,
                set: address + parameter::SET,
            });
            address = address.saturating_add(parameter::LENGTH);
        }
        Err(format!("has more than {MOST_PARAMETERS} parameters"))
    }

    /// Sets a parameter. Returns whether the module accepts the value.
    pub fn set(&mut self, parameter: &Parameter, value: &Value) -> Result<bool, String> {
        let at = match value {
            Value::Integer(number) => self.put(ARGUMENT, &number.to_le_bytes())?,
            Value::Real(number) => self.put(ARGUMENT, &number.to_le_bytes())?,
            Value::Text(text) => {
                let (bytes, offset) = (text.to_bytes_with_nul(), self.next_text);
                self.next_text += bytes.len() as u32;
                if self.next_text > PAGE {
                    return Err(format!("parameters.{}: too long", parameter.name));
                }
                self.put(offset, bytes)?
            }
        };
        let (store, memory) = (&self.store, self.memory);
        let set: Option<TypedFunc<(u32, u32), i32>> = optional((store, memory), self.table, parameter.set, "set")?;
        let Some(set) = set else {
            return Ok(false);
        };
        Ok(self.run_once("set", |store| set.call(store, (parameter.address, at)))? == 0)
    }

    /// Opens the controller. An error is the line in which the controller states why it cannot run.
    pub fn open(&mut self, hz: u32) -> Result<(), String> {
        let field = self.control + control::OPEN;
        let open: Option<TypedFunc<u32, u32>> = optional((&self.store, self.memory), self.table, field, "open")?;
        let Some(open) = open else {
            return Ok(());
        };
        match self.run_once("open", |store| open.call(store, hz))? {
            0 => Ok(()),
            problem => Err(self.text(problem)?),
        }
    }

    /// Returns the bits of the optional inputs.
    pub fn wants(&mut self) -> Result<u32, String> {
        let field = self.control + control::WANTS;
        let wants: Option<TypedFunc<(), u32>> = optional((&self.store, self.memory), self.table, field, "wants")?;
        match wants {
            None => Ok(0),
            Some(wants) => self.run_once("wants", |store| wants.call(store, ())),
        }
    }

    /// Adds a random stream and returns its number.
    pub fn add_source(&mut self) -> u32 {
        let draws = &mut self.store.data_mut().draws;
        draws.push(Stream::new(0, "control", 0));
        draws.len() as u32 - 1
    }

    /// Sets a random stream.
    pub fn draw_from(&mut self, source: u32, draws: Stream) {
        self.store.data_mut().draws[source as usize] = draws;
    }

    /// Creates the state of a connection and returns its address.
    pub fn create(&mut self, source: u32, ecn: bool, preconnect_us: u32) -> Result<u32, String> {
        let words = [self.draw, source, u32::from(ecn), preconnect_us];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let connection = self.put(ARGUMENT, &bytes)?;
        let create = self.functions.create;
        match self.run(|store| create.call(store, connection))? {
            0 => Err("out of memory for a connection".to_owned()),
            state => Ok(state),
        }
    }

    /// Ends a connection.
    pub fn destroy(&mut self, state: u32) -> Result<(), String> {
        let destroy = self.functions.destroy;
        self.run(|store| destroy.call(store, state))
    }

    /// Calls `on_start`.
    pub fn on_start(&mut self, state: u32, rtt_ps: u64, flight: &Flight, grant: &mut Grant) -> Result<(), String> {
        let Some(function) = self.functions.on_start else {
            return Ok(());
        };
        let (flight, at) = (
            self.put(FLIGHT, layout::bytes(flight))?,
            self.put(GRANT, layout::bytes(grant))?,
        );
        self.run(|store| function.call(store, (state, rtt_ps, flight, at)))?;
        self.take(grant)
    }

    /// Calls `on_ack`.
    pub fn on_ack(&mut self, state: u32, ack: &Ack, flight: &Flight, grant: &mut Grant) -> Result<(), String> {
        self.report_and_take(self.functions.on_ack, state, ack, flight, grant)
    }

    /// Calls `on_sent`.
    pub fn on_sent(&mut self, state: u32, sent: &Sent, flight: &Flight, grant: &mut Grant) -> Result<(), String> {
        match self.functions.on_sent {
            None => Ok(()),
            Some(function) => self.report_and_take(function, state, sent, flight, grant),
        }
    }

    /// Calls a function with a report, and takes over the grant that it returns.
    fn report_and_take<T: Plain>(
        &mut self,
        function: OnAck,
        state: u32,
        report: &T,
        flight: &Flight,
        grant: &mut Grant,
    ) -> Result<(), String> {
        let (report, flight) = (
            self.put(ARGUMENT, layout::bytes(report))?,
            self.put(FLIGHT, layout::bytes(flight))?,
        );
        let at = self.put(GRANT, layout::bytes(grant))?;
        self.run(|store| function.call(store, (state, report, flight, at)))?;
        self.take(grant)
    }

    /// Calls `on_sample`.
    pub fn on_sample(&mut self, state: u32, sample: &Sample, flight: &Flight) -> Result<(), String> {
        self.report(self.functions.on_sample, state, sample, flight)
    }

    /// Calls `on_lost`.
    pub fn on_lost(&mut self, state: u32, lost: &Lost, flight: &Flight) -> Result<(), String> {
        self.report(self.functions.on_lost, state, lost, flight)
    }

    /// Calls a function, if the module has it, with a report.
    fn report<T: Plain>(
        &mut self,
        function: Option<OnReport>,
        state: u32,
        report: &T,
        flight: &Flight,
    ) -> Result<(), String> {
        let Some(function) = function else {
            return Ok(());
        };
        let (report, flight) = (
            self.put(ARGUMENT, layout::bytes(report))?,
            self.put(FLIGHT, layout::bytes(flight))?,
        );
        self.run(|store| function.call(store, (state, report, flight)))
    }

    /// Calls `on_reduction`.
    pub fn on_reduction(&mut self, state: u32, cause: i32, flight: &Flight, grant: &mut Grant) -> Result<(), String> {
        self.event_and_take(self.functions.on_reduction, state, cause, flight, grant)
    }

    /// Calls `on_recovered`.
    pub fn on_recovered(
        &mut self,
        state: u32,
        spurious: i32,
        flight: &Flight,
        grant: &mut Grant,
    ) -> Result<(), String> {
        match self.functions.on_recovered {
            None => Ok(()),
            Some(function) => self.event_and_take(function, state, spurious, flight, grant),
        }
    }

    /// Calls a function whose second argument is a number, and takes over the grant that it returns.
    fn event_and_take(
        &mut self,
        function: OnEvent,
        state: u32,
        number: i32,
        flight: &Flight,
        grant: &mut Grant,
    ) -> Result<(), String> {
        let (flight, at) = (
            self.put(FLIGHT, layout::bytes(flight))?,
            self.put(GRANT, layout::bytes(grant))?,
        );
        self.run(|store| function.call(store, (state, number, flight, at)))?;
        self.take(grant)
    }

    fn run<T>(&mut self, call: impl FnOnce(&mut Store<Host>) -> Result<T, Error>) -> Result<T, String> {
        heartbeat::during(|| call(&mut self.store)).map_err(line)
    }

    /// Runs an operation of the controller, not of a connection, which errors name.
    fn run_once<T>(
        &mut self,
        name: &str,
        call: impl FnOnce(&mut Store<Host>) -> Result<T, Error>,
    ) -> Result<T, String> {
        self.run(call).map_err(|why| format!("{name}: {why}"))
    }

    /// Writes bytes into the page for arguments and returns their address.
    fn put(&mut self, offset: u32, bytes: &[u8]) -> Result<u32, String> {
        let at = self.page + offset;
        let written = self.memory.write(&mut self.store, at as usize, bytes);
        written.map_err(line).map(|()| at)
    }

    /// Reads the grant that a function has written.
    fn take(&self, grant: &mut Grant) -> Result<(), String> {
        let mut bytes = [0; size_of::<Grant>()];
        let read = self.memory.read(&self.store, (self.page + GRANT) as usize, &mut bytes);
        read.map_err(line)?;
        *grant = layout::grant(&bytes);
        Ok(())
    }

    fn word(&self, at: u32) -> Result<u32, String> {
        word((&self.store, self.memory), at)
    }

    /// Reads a NUL-terminated text.
    fn text(&self, at: u32) -> Result<String, String> {
        let from = self.memory.data(&self.store).get(at as usize..).unwrap_or_default();
        let most = &from[..from.len().min(MOST_TEXT as usize)];
        let end = most
            .iter()
            .position(|&byte| byte == 0)
            .ok_or("has a text without an end")?;
        Ok(String::from_utf8_lossy(&most[..end]).into_owned())
    }
}

/// Defines the imports of a module, as functions that fail when they are called.
fn linker(engine: &Engine, store: &mut Store<Host>, module: &Module) -> Result<Linker<Host>, String> {
    let mut linker = Linker::new(engine);
    for import in module.imports() {
        let name = format!("{}.{}", import.module(), import.name());
        let ExternType::Func(kind) = import.ty() else {
            return Err(format!("imports {name}; needs a module that imports only functions"));
        };
        let called = name.clone();
        let fails = move |_: Caller<'_, Host>, _: &[Val], _: &mut [Val]| {
            Err(Error::new(format!("calls {called}, which a sandbox does not have")))
        };
        let function = Func::new(&mut *store, kind.clone(), fails);
        let defined = linker.define(import.module(), import.name(), function);
        defined.map_err(|error| format!("imports {name}: {}", line(error)))?;
    }
    Ok(linker)
}

fn word((store, memory): (&Store<Host>, Memory), at: u32) -> Result<u32, String> {
    let mut bytes = [0; 4];
    let read = memory.read(store, at as usize, &mut bytes);
    read.map_err(|_| "has an address outside its memory")?;
    Ok(u32::from_le_bytes(bytes))
}

/// Returns the function whose index in the table is the value of a field; None if the index is 0.
fn optional<P, R>(
    memory: (&Store<Host>, Memory),
    table: Table,
    field: u32,
    name: &str,
) -> Result<Option<TypedFunc<P, R>>, String>
where
    P: wasmi::WasmParams,
    R: wasmi::WasmResults,
{
    let index = word(memory, field)?;
    if index == 0 {
        return Ok(None);
    }
    let found = table.get(memory.0, u64::from(index));
    let function = found
        .as_ref()
        .and_then(|found| found.as_func()?.val().copied().copied());
    let typed = function.and_then(|function| function.typed::<P, R>(memory.0).ok());
    typed
        .map(Some)
        .ok_or_else(|| format!("its {name} is not a function of the interface"))
}

fn required<P, R>(
    memory: (&Store<Host>, Memory),
    table: Table,
    field: u32,
    name: &str,
) -> Result<TypedFunc<P, R>, String>
where
    P: wasmi::WasmParams,
    R: wasmi::WasmResults,
{
    optional(memory, table, field, name)?.ok_or_else(|| format!("needs the operation {name} in its longpipe_control"))
}
