//! The guest: a process of user-mode Linux whose clock the simulation advances.
//!
//! When the kernel is idle, the preloaded library `lockstep.c` sends the frames of the guest's device, and waits until
//! it receives the time to which the clock advances next. The guest's first process, `guest.c`, creates hosts with
//! their applications and reads their TCP_INFO when control frames request it.

use super::counts::Counts;
use super::frame::{self, Frame};
use super::limits::{Limits, Wait};
use crate::program::{end_with_parent, one_line};
use longpipe_end::{Ecn, ProgramReport, NEVER};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

/// Files needed to start a guest.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kernel, `linux.uml`.
    pub program: PathBuf,
    /// The library that is preloaded into the kernel.
    pub preload: PathBuf,
    /// Folder with `init`, the first process.
    pub folder: PathBuf,
    /// Folder with the kernel's modules.
    pub modules: PathBuf,
    /// Environment of user programs.
    pub environment: Environment,
}

/// Environment of user programs in a guest.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Working directory.
    pub directory: PathBuf,
    /// Directories in which programs are searched, as in the variable PATH.
    pub search: String,
    /// Interpreter that replaces the word `python` at the start of a command.
    pub python: PathBuf,
}

/// A user program at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments; if the list is empty, the host runs no program.
    pub words: Vec<String>,
    /// Name of the host.
    pub own_name: String,
    /// Name of the other host of its flow.
    pub other_name: String,
}

/// Application of a host.
#[derive(Clone, Debug)]
pub struct Application {
    /// Whether the host sends the flow's data.
    pub sends: bool,
    /// Whether the host's connections negotiate ECN.
    pub ecn: bool,
    /// Largest IP packet that the host can send [byte].
    pub mtu: u32,
    /// Start time [ps].
    pub start_ps: u64,
    /// Amount of data to send [byte]; unlimited if `None`.
    pub bytes: Option<u64>,
    /// Congestion control.
    pub congestion: String,
    /// The user's program; `None` for longpipe's application, which sends or receives `bytes`.
    pub program: Option<Program>,
}

/// State of a host. Times are in picoseconds of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    /// Data received [byte].
    pub delivered_bytes: u64,
    /// Time at which all data had been received.
    pub completed_ps: Option<u64>,
    /// Time at which the connection was established.
    pub connected_ps: Option<u64>,
    /// Time and reason of the connection's failure.
    pub closed: Option<(u64, String)>,
    /// Congestion window [segment].
    pub cwnd: u64,
    /// Slow-start threshold [segment].
    pub ssthresh: u64,
    /// Payload of a segment [byte].
    pub mss: u64,
    /// Smoothed RTT [us].
    pub srtt_us: u64,
    /// Variation of the RTT [us].
    pub rttvar_us: u64,
    /// Minimum RTT [us].
    pub min_rtt_us: u64,
    /// Pacing rate [byte/s].
    pub pacing_rate: u64,
    /// Data segments sent, including retransmissions.
    pub sent_segments: u64,
    /// Data sent, including retransmissions [byte].
    pub sent_bytes: u64,
    /// Retransmitted segments.
    pub retransmitted_segments: u64,
    /// Retransmitted data [byte].
    pub retransmitted_bytes: u64,
    /// Number of recoveries after losses, not counting timeouts.
    pub recoveries: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// A host in the guest.
#[derive(Debug, Default)]
struct Host {
    sends: bool,
    state: HostState,
    /// For a host with a user program: the program's words, its results, and the counters of the host's packets.
    program: Option<ProgramReport>,
    sent: Counts,
    received: Counts,
    /// Packets to be sent at the current time, one after another, and the end offset of each packet.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// A running guest.
pub struct Guest {
    child: Child,
    input: UnixStream,
    output: BufReader<UnixStream>,
    console: File,
    /// Folder with the kernel's modules, and environment of user programs.
    modules: String,
    environment: Environment,
    hosts: Vec<Host>,
    /// Clock [ns] of the guest, time [ns] of its next timer (0 if there is none), and reading [ns] of its clock at time
    /// 0 of the run.
    now_ns: u64,
    due_ns: u64,
    zero_ns: u64,
    /// Latest time [ps] of the run, and time [ps] at which the states of all senders are read next.
    at_ps: u64,
    sample_ps: u64,
    /// Whether the states of all hosts at the end of the run have been read.
    is_finished: bool,
    /// Frames for the guest.
    pending: Vec<u8>,
    /// Latest message from the guest, and the latest answer that it contained.
    message: Vec<u8>,
    answer: Option<Vec<u8>>,
}

/// Maximum total length of the frames in a message [byte]; equal to `MAX_BYTES` in `lockstep.c`.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Length of a message before its frames [byte].
const HEAD: usize = 24;
/// Maximum time until the guest must have sent its next message.
const ANSWER: Limits = Limits {
    cpu: Duration::from_secs(60),
    real: Duration::from_secs(900),
};
/// Interval at which a wait for the guest checks these limits.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of messages that the guest may send before its answer.
const MAX_MESSAGES: u32 = 100_000;
/// Interval [ps] at which the senders' states are read.
const SAMPLE_PS: u64 = 100_000_000_000;
/// On the guest's clock, time 0 of a run is a multiple of this value [ns].
const SECOND_NS: u64 = 1_000_000_000;
const PS_PER_NS: u64 = 1000;
/// Text in the last message of a kernel after a panic.
const PANIC: &str = "Kernel panic";
/// Maximum length of the part of a program's words or output that one control frame carries [byte]; equal to `PART` in
/// `guest.c`.
const PART: usize = 1000;
/// Maximum length of a program's words, directory, PATH and host names [byte]; equal to `MAX_TEXT` in `guest.c`.
const MAX_TEXT: usize = 1 << 16;
/// Maximum length [byte] of a program's output that is reported.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// First word of a command that runs longpipe's Python interpreter.
const PYTHON: &str = "python";
/// Value that stands for an absent time or size.
const UNKNOWN: u64 = u64::MAX;

/// Kernel parameters. Except for the MTU, which limits the frames of the device, they are the same in all runs, because
/// the kernel derives random numbers from them.
const BOOT: [&str; 10] = [
    "mem=512M",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    "quiet",
    "init=/proc/self/cwd/init",
    // Prevents the kernel from creating a folder for its sockets, because it cannot create one in /proc.
    "uml_dir=/proc",
    "con=null",
    "con0=null,fd:1",
    "lpj=1000000",
];
/// Parts of the kernel that are disabled: choices that depend on measured speed, random numbers from the machine, and
/// block devices, whose thread would outlive the kernel.
const DISABLED_INITCALLS: &str = "initcall_blacklist=raid6_select_algo,rng_init,ubd_driver_init";

mod request {
    pub const ADD_HOST: u16 = 1;
    pub const START: u16 = 2;
    pub const READ_HOST: u16 = 3;
    pub const ADD_TEXT: u16 = 4;
    pub const STOP: u16 = 5;
    pub const READ_OUTPUT: u16 = 6;
}

impl Guest {
    /// Starts a guest whose hosts send packets of at most `mtu` bytes.
    ///
    /// # Errors
    /// Returns a one-line error if the guest does not start.
    pub fn boot(kernel: &Kernel, seed: u64, mtu: u32) -> Result<Guest, String> {
        let failed = |error: std::io::Error| format!("{}: does not start ({error})", kernel.program.display());
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        ours.set_read_timeout(Some(CHECK_INTERVAL)).map_err(failed)?;
        let console = console().map_err(failed)?;
        let mut command = Command::new(&kernel.program);
        command
            .args(BOOT)
            .arg(DISABLED_INITCALLS)
            .arg(format!(
                "vec0:transport=fd,fd=100,vec=0,gro=0,mtu={mtu},mac=02:00:00:00:00:00"
            ))
            .env_clear()
            .env("LD_PRELOAD", &kernel.preload)
            .env("HOME", "/")
            // The guest's clock advances by 1 ns at each reading; with this small step, packets leave within a
            // microsecond.
            .env("VT_STEP", "1")
            .env("VT_SEED", seed.max(1).to_string())
            .current_dir(&kernel.folder)
            .stdin(OwnedFd::from(theirs))
            .stdout(console.try_clone().map_err(failed)?)
            .stderr(console.try_clone().map_err(failed)?)
            // The guest is in its own process group, so it does not receive the terminal's signals.
            .process_group(0);
        end_with_parent(&mut command);
        let child = command.spawn().map_err(failed)?;
        // After this, only the guest has a copy of its end of the connection, so that the connection closes when the
        // guest ends.
        drop(command);
        let mut guest = Guest {
            child,
            input: ours.try_clone().map_err(failed)?,
            output: BufReader::with_capacity(1 << 18, ours),
            console,
            modules: kernel.modules.to_string_lossy().into_owned(),
            environment: kernel.environment.clone(),
            hosts: Vec::new(),
            now_ns: 0,
            due_ns: 0,
            zero_ns: UNKNOWN,
            at_ps: 0,
            sample_ps: NEVER,
            is_finished: false,
            pending: Vec::new(),
            message: Vec::new(),
            answer: None,
        };
        guest.read()?;
        // The first answer reports that the guest is ready.
        guest.wait_for_answer()?;
        Ok(guest)
    }

    /// Creates a host, which starts with the run. Returns its number. Hosts 2n and 2n + 1 are the sender and the
    /// receiver of a flow.
    ///
    /// # Errors
    /// Returns a one-line error if the guest cannot create the host.
    pub fn add(&mut self, application: &Application) -> Result<usize, String> {
        let number = self.hosts.len();
        let congestion = application.congestion.as_bytes();
        let modules = self.modules.as_bytes();
        if congestion.len() > 15 {
            return Err(format!(
                "congestion: {}; needs at most 15 bytes",
                application.congestion
            ));
        }
        if modules.len() > 255 {
            return Err(format!("modules: {}; needs a path of at most 255 bytes", self.modules));
        }
        let mut body = Vec::new();
        let words = [
            request::ADD_HOST,
            number as u16,
            u16::from(application.sends),
            u16::from(application.ecn),
        ];
        words
            .iter()
            .for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
        body.extend_from_slice(&application.mtu.to_le_bytes());
        body.extend_from_slice(&u32::from(application.program.is_some()).to_le_bytes());
        body.extend_from_slice(&(application.start_ps / PS_PER_NS).to_le_bytes());
        body.extend_from_slice(&application.bytes.unwrap_or(UNKNOWN).to_le_bytes());
        put_text(&mut body, congestion, 16);
        put_text(&mut body, modules, 256);
        self.ask(&body)?;
        self.hosts.push(Host {
            sends: application.sends,
            program: application.program.as_ref().map(|program| ProgramReport {
                words: program.words.clone(),
                ..ProgramReport::default()
            }),
            ..Host::default()
        });
        if let Some(program) = application.program.as_ref().filter(|program| !program.words.is_empty()) {
            self.add_program(number, program)?;
        }
        Ok(number)
    }

    /// Sends a host's program in control frames: the program's environment, the names of the hosts, and the program's
    /// words.
    fn add_program(&mut self, host: usize, program: &Program) -> Result<(), String> {
        let [own, other] = [host, host ^ 1].map(address_of);
        let field = if self.hosts[host].sends { "command" } else { "serve" };
        let names = format!(
            "127.0.0.1 localhost\n{own} {}\n{other} {} peer\n",
            program.own_name, program.other_name
        );
        let directory = self.environment.directory.to_string_lossy().into_owned();
        let python = self.environment.python.to_string_lossy().into_owned();
        let first = program
            .words
            .first()
            .map(|word| if word == PYTHON { &python } else { word });
        let words = first.into_iter().chain(program.words.iter().skip(1));
        let mut text = Vec::new();
        for part in [&directory, &self.environment.search, &names].into_iter().chain(words) {
            if part.contains('\0') {
                return Err(format!("{field}: {part:?}; needs words without NUL characters"));
            }
            text.extend_from_slice(part.as_bytes());
            text.push(0);
        }
        if text.len() > MAX_TEXT {
            return Err(format!(
                "{field}: {} bytes; needs at most {MAX_TEXT}, including its directory, PATH and the names of its hosts",
                text.len()
            ));
        }
        for part in text.chunks(PART) {
            let mut body = short_request(request::ADD_TEXT, host as u16);
            body.extend_from_slice(&(part.len() as u32).to_le_bytes());
            body.extend_from_slice(part);
            self.ask(&body)?;
        }
        Ok(())
    }

    /// Starts the applications of all hosts if they have not been started. The current time of the guest's clock
    /// becomes time 0 of the run.
    ///
    /// # Errors
    /// Returns a one-line error if the guest does not continue.
    pub fn start(&mut self) -> Result<(), String> {
        if self.zero_ns != UNKNOWN {
            return Ok(());
        }
        let zero = self.now_ns.next_multiple_of(SECOND_NS);
        while self.now_ns < zero {
            let due = if self.due_ns == 0 { zero } else { self.due_ns.min(zero) };
            self.exchange(due.max(self.now_ns))?;
        }
        self.zero_ns = zero;
        self.sample_ps = SAMPLE_PS;
        self.ask(&short_request(request::START, 0)).map(drop)
    }

    /// Returns the time [ps] at which the guest must advance next if no packet arrives.
    pub fn due(&self) -> u64 {
        if self.zero_ns == UNKNOWN {
            return 0;
        }
        let timer = match self.due_ns {
            0 => NEVER,
            due => due.saturating_sub(self.zero_ns) * PS_PER_NS,
        };
        timer.min(self.sample_ps)
    }

    /// Returns the latest time [ps] to which the guest has advanced.
    pub fn at(&self) -> u64 {
        self.at_ps
    }

    /// Returns whether a host has packets to be sent.
    pub fn has_packets(&self, host: usize) -> bool {
        !self.hosts[host].ends.is_empty()
    }

    /// Returns the latest known state of a host.
    pub fn state(&self, host: usize) -> &HostState {
        &self.hosts[host].state
    }

    /// Queues a packet for a host; the guest receives it when it advances.
    pub fn receive(&mut self, host: usize, packet: &[u8], ecn: Ecn) {
        let slot = &mut self.hosts[host];
        if slot.program.is_some() {
            slot.received.take(packet);
        }
        frame::put_packet(&mut self.pending, host, packet, ecn);
    }

    /// Advances the guest to the time `now` [ps], if it has anything to process by then.
    ///
    /// # Errors
    /// Returns a one-line error if the guest does not continue.
    pub fn advance(&mut self, now: u64) -> Result<(), String> {
        self.at_ps = now;
        if self.sample_ps <= now {
            self.sample_ps = (now / SAMPLE_PS + 1) * SAMPLE_PS;
            for number in 0..self.hosts.len() {
                if self.hosts[number].sends && self.hosts[number].program.is_none() {
                    frame::put_control(&mut self.pending, &short_request(request::READ_HOST, number as u16));
                }
            }
        } else if self.pending.is_empty() && self.due() > now {
            return Ok(());
        }
        let clock = self.zero_ns + now / PS_PER_NS;
        self.exchange(clock)?;
        while !self.pending.is_empty() {
            self.exchange(clock)?;
        }
        Ok(())
    }

    /// Calls `send` for each packet that a host sends at the current time, with the packet and its ECN bits.
    pub fn take_packets(&mut self, host: usize, send: &mut dyn FnMut(&[u8], Ecn)) {
        let host = &mut self.hosts[host];
        let mut begin = 0;
        for &end in &host.ends {
            let packet = &host.bytes[begin..end];
            begin = end;
            if host.program.is_some() {
                host.sent.take(packet);
            }
            send(packet, frame::ecn_of(packet));
        }
        host.bytes.clear();
        host.ends.clear();
    }

    /// Returns the report of a host's program, after [`finish`](Guest::finish).
    pub fn program(&self, host: usize) -> Option<ProgramReport> {
        self.hosts[host]
            .program
            .clone()
            .filter(|program| !program.words.is_empty())
    }

    /// Reads the state of all hosts at the end of the run, ends the programs that are still running, and reads their
    /// output. Packets that hosts send during this call are lost.
    ///
    /// # Errors
    /// Returns a one-line error if the guest does not continue.
    pub fn finish(&mut self) -> Result<(), String> {
        if std::mem::replace(&mut self.is_finished, true) {
            return Ok(());
        }
        self.advance(self.at_ps)?;
        for host in 0..self.hosts.len() {
            self.ask(&short_request(request::READ_HOST, host as u16))?;
        }
        // The receiver reports the time at which the flow was complete, which is the time at which the sender's program
        // ended successfully.
        for pair in self.hosts.chunks_exact_mut(2) {
            if let Some(program) = &pair[0].program {
                pair[1].state.completed_ps = program.ended_ps.filter(|_| program.exit_code == Some(0));
            }
        }
        let programs: Vec<usize> = (0..self.hosts.len())
            .filter(|&host| self.program(host).is_some())
            .collect();
        if programs.is_empty() {
            return Ok(());
        }
        self.ask(&short_request(request::STOP, 0))?;
        for host in programs {
            let output = self.read_output(host, 1)?;
            let errors = self.read_output(host, 2)?;
            if let Some(program) = &mut self.hosts[host].program {
                (program.output, program.errors) = (output, errors);
            }
        }
        Ok(())
    }

    /// Returns the beginning of the output that a host's program has written to a descriptor.
    fn read_output(&mut self, host: usize, descriptor: u32) -> Result<String, String> {
        let mut output = Vec::new();
        while output.len() < MAX_OUTPUT_BYTES {
            let mut body = short_request(request::READ_OUTPUT, host as u16);
            body.extend_from_slice(&descriptor.to_le_bytes());
            body.extend_from_slice(&(output.len() as u64).to_le_bytes());
            let answer = self.ask(&body)?;
            let bytes = u64::from_le_bytes(std::array::from_fn(|i| answer[168 + i])) as usize;
            if bytes == 0 {
                break;
            }
            output.extend_from_slice(&answer[176..176 + bytes.min(PART)]);
        }
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// Sends a request, and returns the answer to it.
    fn ask(&mut self, body: &[u8]) -> Result<Vec<u8>, String> {
        frame::put_control(&mut self.pending, body);
        self.exchange(self.now_ns)?;
        self.wait_for_answer()
    }

    /// Lets the guest run until it has answered. Returns the answer, or the error in the answer.
    fn wait_for_answer(&mut self) -> Result<Vec<u8>, String> {
        for _ in 0..MAX_MESSAGES {
            if let Some(answer) = self.answer.take() {
                return reported_error(&answer).map_or(Ok(answer), Err);
            }
            self.exchange(self.due_ns.max(self.now_ns))?;
        }
        Err(format!("the guest does not answer: {}", self.console_error()))
    }

    /// Sends the next frames and the time to which the clock advances, and reads messages until the guest is idle.
    fn exchange(&mut self, clock_ns: u64) -> Result<(), String> {
        let bytes = whole_frames(&self.pending, MAX_MESSAGE_BYTES);
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&clock_ns.to_le_bytes());
        // User programs may poll until a packet arrives, so time must advance while they poll.
        let passes_if_busy = self.zero_ns != UNKNOWN && self.hosts.iter().any(|host| host.program.is_some());
        head[8] = u8::from(passes_if_busy);
        head[16..20].copy_from_slice(&(bytes as u32).to_le_bytes());
        self.message.clear();
        self.message.extend_from_slice(&head);
        self.message.extend(self.pending.drain(..bytes));
        self.input.write_all(&self.message).map_err(|_| self.ended())?;
        self.read()
    }

    /// Reads the messages of the guest until it is idle.
    fn read(&mut self) -> Result<(), String> {
        loop {
            let mut head = [0; HEAD];
            self.read_exact(&mut head)?;
            let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
            (self.now_ns, self.due_ns) = (word(0), word(8));
            let (bytes, more) = (word(16) as u32 as usize, word(16) >> 32 != 0);
            let mut message = std::mem::take(&mut self.message);
            message.resize(bytes, 0);
            self.read_exact(&mut message)?;
            self.sort(&message);
            self.message = message;
            if !more {
                return Ok(());
            }
        }
    }

    /// Fills `bytes` with the output of the guest. Ends the guest if it exceeds the limits on the time to its next
    /// message.
    fn read_exact(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        let (mut have, mut wait) = (0, None);
        while have < bytes.len() {
            match self.output.read(&mut bytes[have..]) {
                Ok(0) => return Err(self.ended()),
                Ok(count) => have += count,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    let wait = wait.get_or_insert_with(|| Wait::new(self.child.id()));
                    if let Some(limit) = wait.exceeded(ANSWER) {
                        self.end();
                        return Err(format!(
                            "the guest does not answer within {limit}: {}",
                            self.console_error()
                        ));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(self.ended()),
            }
        }
        Ok(())
    }

    /// Kills the guest, whose processes end with it (`PTRACE_O_EXITKILL`). Returns its exit status in words.
    fn end(&mut self) -> String {
        // An error here means that the guest has already ended.
        let _ = self.child.kill();
        let status = self.child.wait();
        status.map_or_else(|error| error.to_string(), |status| status.to_string())
    }

    /// Distributes the frames of a message to their hosts.
    fn sort(&mut self, message: &[u8]) {
        let mut rest = message;
        while let Some((length, after)) = rest.split_first_chunk() {
            let length = u32::from_le_bytes(*length) as usize;
            let (frame_bytes, next) = after.split_at(length.min(after.len()));
            rest = next;
            match frame::parse(frame_bytes) {
                Frame::Packet { host, packet } => {
                    if let Some(host) = self.hosts.get_mut(host) {
                        host.bytes.extend_from_slice(packet);
                        host.ends.push(host.bytes.len());
                    }
                }
                Frame::Answer(answer) => {
                    let number = usize::from(u16::from_le_bytes([answer[2], answer[3]]));
                    if u16::from_le_bytes([answer[0], answer[1]]) == request::READ_HOST && number < self.hosts.len() {
                        self.hosts[number].take_state(answer);
                    }
                    self.answer = Some(answer.to_vec());
                }
                Frame::Other => {}
            }
        }
    }

    /// Returns the reason why the connection to the guest failed.
    fn ended(&mut self) -> String {
        let status = self.end();
        format!("the guest has ended ({status}): {}", self.console_error())
    }

    /// Returns the line of the guest's console that reports a kernel panic, or the last line if there is no such line.
    fn console_error(&mut self) -> String {
        let mut text_bytes = Vec::new();
        let read = self
            .console
            .rewind()
            .and_then(|()| self.console.read_to_end(&mut text_bytes));
        let lines = String::from_utf8_lossy(&text_bytes);
        let panic = lines.lines().find(|line| line.contains(PANIC));
        match (read, panic.or_else(|| lines.lines().rfind(|line| !line.is_empty()))) {
            (Ok(_), Some(line)) => one_line(line.as_bytes()),
            _ => "its console is empty".to_owned(),
        }
    }
}

impl Host {
    /// Stores the state of a host from an answer. For a user program, the counters are those of its packets.
    fn take_state(&mut self, answer: &[u8]) {
        self.state = host_state(answer);
        let Some(program) = &mut self.program else {
            return;
        };
        let value = |place: usize| Some(answer_value(answer, place)).filter(|&value| value != UNKNOWN);
        program.started_ps = value(17).map(|ns| ns * PS_PER_NS);
        program.ended_ps = value(18).map(|ns| ns * PS_PER_NS);
        program.exit_code = value(19);
        self.state.delivered_bytes = self.received.new_bytes;
        self.state.sent_segments = self.sent.packets;
        self.state.sent_bytes = self.sent.bytes;
        self.state.retransmitted_segments = self.sent.repeated_packets;
        self.state.retransmitted_bytes = self.sent.bytes - self.sent.new_bytes;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns an unnamed file for the guest's console.
fn console() -> std::io::Result<File> {
    // SAFETY: the name is NUL-terminated, and nothing else owns a returned descriptor.
    #[allow(unsafe_code)]
    unsafe {
        match libc::memfd_create(c"console".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => Err(std::io::Error::last_os_error()),
            file => Ok(File::from_raw_fd(file)),
        }
    }
}

/// Returns the total length of the first frames of `frames` that fit into `most` bytes.
fn whole_frames(frames: &[u8], limit: usize) -> usize {
    if frames.len() <= limit {
        return frames.len();
    }
    let mut end = 0;
    loop {
        let length = u32::from_le_bytes(std::array::from_fn(|i| frames[end + i])) as usize + 4;
        if end + length > limit {
            return end;
        }
        end += length;
    }
}

fn short_request(kind: u16, host: u16) -> Vec<u8> {
    [kind.to_le_bytes(), host.to_le_bytes()].concat()
}

fn put_text(to: &mut Vec<u8>, text: &[u8], length: usize) {
    let end = to.len() + length;
    to.extend_from_slice(text);
    to.resize(end, 0);
}

/// Returns the address that `guest.c` assigns to a host.
fn address_of(host: usize) -> String {
    let flow = host / 2;
    format!("10.{}.{}.{}", flow >> 8 & 255, flow & 255, 1 + host % 2)
}

/// Returns the error of an answer, if there is one.
fn reported_error(answer: &[u8]) -> Option<String> {
    let kind = u16::from_le_bytes([answer[0], answer[1]]);
    // Two answers contain other texts: the first answer contains the kernel's version, and the answer about a host
    // contains the reason why its connection ended.
    Some(text(answer)).filter(|line| !line.is_empty() && kind != 0 && kind != request::READ_HOST)
}

/// Returns a number from `struct host_answer`, given the number's index after the header.
fn answer_value(answer: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| answer[168 + 8 * place + i]))
}

/// Returns the text of an answer.
fn text(answer: &[u8]) -> String {
    let bytes = &answer[8..168];
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    one_line(&bytes[..end])
}

/// Parses `struct host_answer` of `guest.c`.
fn host_state(answer: &[u8]) -> HostState {
    let value = |place: usize| answer_value(answer, place);
    let time = |place: usize| Some(value(place)).filter(|&ns| ns != UNKNOWN).map(|ns| ns * PS_PER_NS);
    HostState {
        delivered_bytes: value(0),
        completed_ps: time(1),
        connected_ps: time(2),
        closed: time(3).map(|at| (at, text(answer))),
        cwnd: value(4),
        ssthresh: value(5),
        mss: value(6),
        srtt_us: value(7),
        rttvar_us: value(8),
        min_rtt_us: value(9),
        pacing_rate: value(10),
        sent_segments: value(11),
        sent_bytes: value(12),
        retransmitted_segments: value(13),
        retransmitted_bytes: value(14),
        recoveries: value(15),
        timeouts: value(16),
    }
}
