//! An instance of a module, and calls to its operations.

use super::executor::{Argument, Draw, Executor, Kind, Signature};
use super::layout::{self, control, parameter, Block, FLIGHT, GRANT, PAGE, REPORT, TEXTS};
use crate::heartbeat;
use crate::settings::Value;
use longpipe_events::{Span, Stream};
use longpipe_plugin::table::{Ack, Flight, Grant, Lost, Sample, Sent, VERSION};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use Argument::{Long, Word};

/// Maximum number of parameters that are read.
const MAX_PARAMETERS: u32 = 256;
/// Maximum length of a text that is read [byte].
const MAX_TEXT: usize = 1000;

/// Signatures of the functions of `struct longpipe_control`, in which pointers are 32-bit numbers.
mod signature {
    use super::{Kind, Signature};

    const fn of(parameters: &'static [Kind], returns: bool) -> Signature {
        Signature { parameters, returns }
    }

    pub const LIST: Signature = of(&[], true);
    pub const SET: Signature = of(&[Kind::Word; 2], true);
    pub const ONE: Signature = of(&[Kind::Word], true);
    pub const DESTROY: Signature = of(&[Kind::Word], false);
    pub const ON_START: Signature = of(&[Kind::Word, Kind::Long, Kind::Word, Kind::Word], false);
    /// Signature of functions whose parameters are state, report and flight.
    pub const REPORT: Signature = of(&[Kind::Word; 3], false);
    /// Signature of functions whose parameters are state, report or number, flight, and grant.
    pub const DECISION: Signature = of(&[Kind::Word; 4], false);
}

/// An entry of the list of parameters.
#[derive(Debug)]
pub struct Parameter {
    pub name: String,
    pub kind: u32,
    address: u32,
    set: u32,
}

/// Operations by name.
#[derive(Debug)]
struct Functions<F> {
    create: F,
    destroy: F,
    on_start: Option<F>,
    on_sample: Option<F>,
    on_acked: Option<F>,
    on_ack: F,
    on_sent: Option<F>,
    on_lost: Option<F>,
    on_reduction: F,
    on_recovered: Option<F>,
}

/// Random streams of the connections, from which `draw` takes its numbers.
#[derive(Clone, Default)]
struct Draws(Arc<Mutex<Vec<Stream>>>);

impl Draws {
    fn streams(&self) -> MutexGuard<'_, Vec<Stream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the function that the module calls.
    fn as_function(&self) -> Draw {
        let draws = self.clone();
        Box::new(move |source, bound| {
            let bound = if bound == 0 { 1 << 32 } else { u64::from(bound) };
            let mut streams = draws.streams();
            streams
                .get_mut(source as usize)
                .map_or(0, |stream| stream.below(bound) as u32)
        })
    }
}

/// An instance.
pub struct Guest<E: Executor> {
    executor: E,
    /// Address of `longpipe_control`.
    control: u32,
    /// Address of the page for arguments, and offset at which the next text is written in it.
    page: u32,
    next_text: u32,
    draws: Draws,
    /// Index of `draw` in the table.
    draw: u32,
    functions: Functions<E::Function>,
}

impl<E: Executor> fmt::Debug for Guest<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Guest").finish_non_exhaustive()
    }
}

impl<E: Executor> Guest<E> {
    /// Returns the controller of an instance. An error is one line that states the requirements that the module does
    /// not meet.
    pub fn new(mut executor: E) -> Result<Guest<E>, String> {
        let control = executor
            .global("longpipe_control")
            .ok_or("no controller: needs the linker's --export=longpipe_control")?;
        let page = executor.add_page()?;
        let draws = Draws::default();
        let draw = executor.add_draw(draws.as_function())?;
        let (version, size) = (
            word(&executor, control.saturating_add(control::VERSION))?,
            word(&executor, control.saturating_add(control::SIZE))?,
        );
        if version != VERSION || ![control::LENGTH_WITHOUT_ON_ACKED, control::LENGTH].contains(&size) {
            return Err(format!(
                "has version {version} of the interface and {size} bytes of operations; needs version {VERSION} and {} \
                 or {} bytes: build it again",
                control::LENGTH_WITHOUT_ON_ACKED,
                control::LENGTH
            ));
        }
        if control as usize + size as usize > executor.memory_size() {
            return Err("its longpipe_control is outside its memory".to_owned());
        }
        let mut find = |offset, name, signature| optional(&mut executor, control + offset, name, signature);
        let functions = Functions {
            create: required(find(control::CREATE, "create", signature::ONE)?, "create")?,
            destroy: required(find(control::DESTROY, "destroy", signature::DESTROY)?, "destroy")?,
            on_start: find(control::ON_START, "on_start", signature::ON_START)?,
            on_sample: find(control::ON_SAMPLE, "on_sample", signature::REPORT)?,
            on_acked: match size {
                control::LENGTH => find(control::ON_ACKED, "on_acked", signature::DECISION)?,
                _ => None,
            },
            on_ack: required(find(control::ON_ACK, "on_ack", signature::DECISION)?, "on_ack")?,
            on_sent: find(control::ON_SENT, "on_sent", signature::DECISION)?,
            on_lost: find(control::ON_LOST, "on_lost", signature::REPORT)?,
            on_reduction: required(
                find(control::ON_REDUCTION, "on_reduction", signature::DECISION)?,
                "on_reduction",
            )?,
            on_recovered: find(control::ON_RECOVERED, "on_recovered", signature::DECISION)?,
        };
        Ok(Guest {
            executor,
            control,
            page,
            next_text: TEXTS,
            draws,
            draw,
            functions,
        })
    }

    /// Returns whether the module has `on_acked` or `on_sample`.
    pub fn has_samples(&self) -> bool {
        self.functions.on_acked.is_some() || self.functions.on_sample.is_some()
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
        let Some(mut address) = self.call_once(control::PARAMETERS, "parameters", signature::LIST, &[])? else {
            return Ok(listed);
        };
        for _ in 0..MAX_PARAMETERS {
            let name = if address == 0 {
                0
            } else {
                self.word(address.saturating_add(parameter::NAME))?
            };
            if name == 0 {
                return Ok(listed);
            }
            listed.push(Parameter {
                name: self.text(name)?,
                kind: self.word(address.saturating_add(parameter::TYPE))?,
                address,
                set: address.saturating_add(parameter::SET),
            });
            address = address.saturating_add(parameter::LENGTH);
        }
        Err(format!("has more than {MAX_PARAMETERS} parameters"))
    }

    /// Sets a parameter. Returns whether the module accepts the value.
    pub fn set(&mut self, parameter: &Parameter, value: &Value) -> Result<bool, String> {
        let at = match value {
            Value::Integer(number) => self.put(REPORT, &number.to_le_bytes())?,
            Value::Real(number) => self.put(REPORT, &number.to_le_bytes())?,
            Value::Text(text) => {
                let (bytes, offset) = (text.to_bytes_with_nul(), self.next_text);
                self.next_text = offset.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
                if self.next_text > PAGE {
                    return Err(format!("parameters.{}: too long", parameter.name));
                }
                self.put(offset, bytes)?
            }
        };
        let set = optional(&mut self.executor, parameter.set, "set", signature::SET)?;
        let Some(set) = set else {
            return Ok(false);
        };
        let returned = self.run(set, &[Word(parameter.address), Word(at)]);
        Ok(returned.map_err(|why| format!("set: {why}"))? == 0)
    }

    /// Opens the controller. An error is the line in which the controller states the reason why it cannot run.
    pub fn open(&mut self, hz: u32) -> Result<(), String> {
        match self.call_once(control::OPEN, "open", signature::ONE, &[Word(hz)])? {
            None | Some(0) => Ok(()),
            Some(problem) => Err(self.text(problem)?),
        }
    }

    /// Returns the bits of the optional inputs.
    pub fn wants(&mut self) -> Result<u32, String> {
        let requested = self.call_once(control::WANTS, "wants", signature::LIST, &[])?;
        Ok(requested.unwrap_or(0))
    }

    /// Adds a random stream and returns its number.
    pub fn add_source(&mut self) -> u32 {
        let mut streams = self.draws.streams();
        streams.push(Stream::new(0, "control", 0));
        streams.len() as u32 - 1
    }

    /// Sets a random stream.
    pub fn draw_from(&mut self, source: u32, stream: Stream) {
        self.draws.streams()[source as usize] = stream;
    }

    /// Creates the state of a connection and returns its address.
    pub fn create(&mut self, source: u32, ecn: bool, preconnect: Span) -> Result<u32, String> {
        let words = [self.draw, source, u32::from(ecn), 0];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(preconnect.0.to_le_bytes());
        let connection = self.put(REPORT, &bytes)?;
        match self.run(self.functions.create, &[Word(connection)])? {
            0 => Err("out of memory for a connection".to_owned()),
            state => Ok(state),
        }
    }

    /// Ends a connection.
    pub fn destroy(&mut self, state: u32) -> Result<(), String> {
        self.run(self.functions.destroy, &[Word(state)]).map(|_| ())
    }

    /// Calls `on_start`.
    pub fn on_start(&mut self, state: u32, rtt_ps: u64, flight: &Flight, grant: &mut Grant) -> Result<(), String> {
        let block = Block::new(flight).with_grant(grant);
        self.decide(self.functions.on_start, state, Long(rtt_ps), &block, grant)
    }

    /// Calls `on_ack`.
    pub fn on_ack(&mut self, state: u32, ack: &Ack, flight: &Flight, grant: &mut Grant) -> Result<(), String> {
        let block = Block::new(flight).with_grant(grant).with_report(ack);
        self.decide(Some(self.functions.on_ack), state, self.report(), &block, grant)
    }

    /// Calls `on_sent`.
    pub fn on_sent(&mut self, state: u32, sent: &Sent, flight: &Flight, grant: &mut Grant) -> Result<(), String> {
        let block = Block::new(flight).with_grant(grant).with_report(sent);
        self.decide(self.functions.on_sent, state, self.report(), &block, grant)
    }

    /// Calls `on_reduction`.
    pub fn on_reduction(&mut self, state: u32, cause: i32, flight: &Flight, grant: &mut Grant) -> Result<(), String> {
        let block = Block::new(flight).with_grant(grant);
        self.decide(
            Some(self.functions.on_reduction),
            state,
            Word(cause as u32),
            &block,
            grant,
        )
    }

    /// Calls `on_recovered`.
    pub fn on_recovered(
        &mut self,
        state: u32,
        spurious: i32,
        flight: &Flight,
        grant: &mut Grant,
    ) -> Result<(), String> {
        let block = Block::new(flight).with_grant(grant);
        self.decide(self.functions.on_recovered, state, Word(spurious as u32), &block, grant)
    }

    /// Calls `on_acked`, or `on_sample` if the module lacks `on_acked`.
    pub fn on_acked(&mut self, state: u32, sample: &Sample, flight: &Flight, grant: &mut Grant) -> Result<(), String> {
        if self.functions.on_acked.is_none() {
            let block = Block::new(flight).with_report(sample);
            return self.notify(self.functions.on_sample, state, &block);
        }
        let block = Block::new(flight).with_grant(grant).with_report(sample);
        self.decide(self.functions.on_acked, state, self.report(), &block, grant)
    }

    /// Calls `on_lost`.
    pub fn on_lost(&mut self, state: u32, lost: &Lost, flight: &Flight) -> Result<(), String> {
        let block = Block::new(flight).with_report(lost);
        self.notify(self.functions.on_lost, state, &block)
    }

    /// Returns the address of a report, which most operations take as their second argument.
    fn report(&self) -> Argument {
        Word(self.page + REPORT)
    }

    /// Calls a function, if the module has it, and reads the window update that it has written.
    fn decide(
        &mut self,
        function: Option<E::Function>,
        state: u32,
        second: Argument,
        block: &Block,
        grant: &mut Grant,
    ) -> Result<(), String> {
        let Some(function) = function else {
            return Ok(());
        };
        let page = self.put(0, block.bytes())?;
        self.run(
            function,
            &[Word(state), second, Word(page + FLIGHT), Word(page + GRANT)],
        )?;
        let mut bytes = [0; size_of::<Grant>()];
        self.executor.read(page + GRANT, &mut bytes)?;
        *grant = layout::grant(&bytes);
        Ok(())
    }

    /// Calls a function with a report, if the module has this function.
    fn notify(&mut self, function: Option<E::Function>, state: u32, block: &Block) -> Result<(), String> {
        let Some(function) = function else {
            return Ok(());
        };
        let page = self.put(0, block.bytes())?;
        self.run(function, &[Word(state), self.report(), Word(page + FLIGHT)])
            .map(|_| ())
    }

    fn run(&mut self, function: E::Function, arguments: &[Argument]) -> Result<u32, String> {
        heartbeat::during(|| self.executor.call(function, arguments))
    }

    /// Calls an operation that concerns the whole controller; returns None if the controller lacks it. Errors name the
    /// operation.
    fn call_once(
        &mut self,
        offset: u32,
        name: &str,
        signature: Signature,
        arguments: &[Argument],
    ) -> Result<Option<u32>, String> {
        let Some(function) = optional(&mut self.executor, self.control + offset, name, signature)? else {
            return Ok(None);
        };
        let returned = self.run(function, arguments);
        returned.map(Some).map_err(|why| format!("{name}: {why}"))
    }

    /// Writes bytes into the page for arguments and returns their address.
    fn put(&mut self, offset: u32, bytes: &[u8]) -> Result<u32, String> {
        let at = self.page + offset;
        self.executor.write(at, bytes).map(|()| at)
    }

    fn word(&self, at: u32) -> Result<u32, String> {
        word(&self.executor, at)
    }

    /// Reads a NUL-terminated text.
    fn text(&self, at: u32) -> Result<String, String> {
        let left = self.executor.memory_size().saturating_sub(at as usize);
        let mut bytes = vec![0; left.min(MAX_TEXT)];
        self.executor.read(at, &mut bytes)?;
        let end = bytes
            .iter()
            .position(|&byte| byte == 0)
            .ok_or("has a text without an end")?;
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

fn word<E: Executor>(executor: &E, at: u32) -> Result<u32, String> {
    let mut bytes = [0; 4];
    let read = executor.read(at, &mut bytes);
    read.map_err(|_| "has an address outside its memory")?;
    Ok(u32::from_le_bytes(bytes))
}

/// Returns the function whose table index is the value of a field of `longpipe_control`; None if the index is 0.
fn optional<E: Executor>(
    executor: &mut E,
    field: u32,
    name: &str,
    signature: Signature,
) -> Result<Option<E::Function>, String> {
    match word(executor, field)? {
        0 => Ok(None),
        index => executor
            .function(index, signature)
            .map(Some)
            .ok_or_else(|| format!("its {name} is not a function of the interface")),
    }
}

fn required<F>(export: Option<F>, name: &str) -> Result<F, String> {
    export.ok_or_else(|| format!("needs the operation {name} in its longpipe_control"))
}
