//! An end in a separate process: a program that uses a binary protocol over its standard input and output.
//!
//! Each message is its length without this field (32 bits), its kind (8 bits) and a body; numbers are little-endian.
//!
//! ```text
//! to the program    0 set up      JSON: version, sends, seed, start_ps, most_bytes, settings
//!                   1 receive     time [ps] (64 bits), ECN bits (8 bits), payload
//!                   2 wake        time [ps] (64 bits)
//!                   3 state, 4 report   without a body
//! from the program  0 done        time of the next wake [ps] (64 bits), all ones for none; answers 0 and 2
//!                   1 send        ECN bits (8 bits), payload; any number of them before `done`
//!                   2 answer      JSON; answers 3 and 4
//!                   3 failed      a line of text, in place of any other answer
//! ```
//!
//! `receive` has no answer, so that there is one exchange per instant.
#![allow(unsafe_code)]

use longpipe_end::{Ecn, End, Outbox, Report, Role, Setup, State, NEVER};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Version of the protocol.
pub const VERSION: u32 = 1;
/// Maximum length of a message that a program sends [byte].
const LONGEST: u32 = 1 << 24;
/// Maximum length of a line that a program returns [character].
const LINE: usize = 500;
/// Time within which a program must exit after it has closed its output, so that the error can contain its exit status.
const EXIT: Duration = Duration::from_secs(2);

mod to_program {
    pub const SET_UP: u8 = 0;
    pub const RECEIVE: u8 = 1;
    pub const WAKE: u8 = 2;
    pub const STATE: u8 = 3;
    pub const REPORT: u8 = 4;
}

mod from_program {
    pub const DONE: u8 = 0;
    pub const SEND: u8 = 1;
    pub const ANSWER: u8 = 2;
    pub const FAILED: u8 = 3;
}

/// An end that is a separate process.
pub struct Program {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
    due: u64,
    /// Latest message from the program: its kind and body.
    kind: u8,
    body: Vec<u8>,
    /// First error of `state` and `report`.
    failed: Option<String>,
}

/// `State` in the form in which a program sends it; values that are absent are unknown.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StateAnswer {
    cwnd: Option<u64>,
    ssthresh: Option<u64>,
    srtt_ps: Option<u64>,
    min_rtt_ps: Option<u64>,
    pacing_bps: Option<u64>,
    sent_packets: u64,
    lost_packets: u64,
}

/// `Report` in the form in which a program sends it.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ReportAnswer {
    delivered_bytes: u64,
    completed_ps: Option<u64>,
    sent_packets: u64,
    sent_bytes: u64,
    lost_packets: u64,
    lost_bytes: u64,
    congestion_events: u64,
    handshake_ps: Option<u64>,
    closed_ps: Option<u64>,
    closed: String,
    values: BTreeMap<String, f64>,
}

impl Program {
    /// Starts a program as an end; `words` are its file and its arguments.
    ///
    /// # Errors
    /// Returns a one-line error if the program does not start, or rejects its settings.
    pub fn start(words: &[String], setup: &Setup<'_>) -> Result<Program, String> {
        let Some((file, arguments)) = words.split_first() else {
            return Err("command: empty; needs a program".to_owned());
        };
        let mut command = Command::new(file);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        end_with_parent(&mut command);
        let mut child = command
            .spawn()
            .map_err(|error| format!("command: {file} does not start ({error})"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are pipes");
        };
        let mut program = Program {
            child,
            input: BufWriter::new(input),
            output: BufReader::with_capacity(1 << 16, output),
            due: NEVER,
            kind: 0,
            body: Vec::new(),
            failed: None,
        };
        let settings: BTreeMap<&str, &str> = setup.settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        let settings_json = json!({
            "version": VERSION,
            "sends": setup.role == Role::Sender,
            "seed": setup.seed,
            "start_ps": setup.start_ps,
            "most_bytes": setup.most_bytes,
            "settings": settings,
        });
        program.write(to_program::SET_UP, &[settings_json.to_string().as_bytes()])?;
        program.flush()?;
        program.finish(None)?;
        Ok(program)
    }

    fn write(&mut self, kind: u8, parts: &[&[u8]]) -> Result<(), String> {
        let length = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
        let mut written = self.input.write_all(&(length as u32).to_le_bytes());
        for part in [&[kind][..]].iter().chain(parts) {
            written = written.and_then(|()| self.input.write_all(part));
        }
        written.map_err(|_| self.ended())
    }

    fn flush(&mut self) -> Result<(), String> {
        self.input.flush().map_err(|_| self.ended())
    }

    /// Reads the next message into `kind` and `body`.
    fn read(&mut self) -> Result<(), String> {
        let mut head = [0; 5];
        self.output.read_exact(&mut head).map_err(|_| self.ended())?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        if !(1..=LONGEST).contains(&length) {
            return Err(format!(
                "wrote a message of {length} bytes; needs 1 to {LONGEST}: does it print to its standard output?"
            ));
        }
        self.kind = head[4];
        self.body.resize(length as usize - 1, 0);
        self.output.read_exact(&mut self.body).map_err(|_| self.ended())?;
        if self.kind == from_program::FAILED {
            return Err(one_line(&self.body));
        }
        Ok(())
    }

    /// Passes the datagrams that the program sends on to `outbox`, until the program sends the message `done`.
    fn finish(&mut self, mut outbox: Option<&mut dyn Outbox>) -> Result<(), String> {
        loop {
            self.read()?;
            match (self.kind, outbox.as_deref_mut()) {
                (from_program::SEND, Some(outbox)) if !self.body.is_empty() => {
                    outbox.send(&self.body[1..], Ecn::from_bits(u32::from(self.body[0])));
                }
                (from_program::DONE, _) => {
                    let due = self.body.as_slice().try_into().map_err(|_| self.unexpected())?;
                    self.due = u64::from_le_bytes(due);
                    return Ok(());
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    /// Requests a value in JSON.
    fn ask<T: for<'a> Deserialize<'a>>(&mut self, kind: u8) -> Result<T, String> {
        self.write(kind, &[])?;
        self.flush()?;
        self.read()?;
        if self.kind != from_program::ANSWER {
            return Err(self.unexpected());
        }
        serde_json::from_slice(&self.body).map_err(|error| format!("answered {error}"))
    }

    /// Requests a value in JSON. If there is no valid answer, stores the error and returns the default.
    fn ask_or_default<T: Default + for<'a> Deserialize<'a>>(&mut self, kind: u8) -> T {
        self.ask(kind).unwrap_or_else(|line| {
            self.failed.get_or_insert(line);
            T::default()
        })
    }

    fn unexpected(&self) -> String {
        let (kind, length) = (self.kind, self.body.len());
        format!(
            "wrote message {kind} with {length} bytes, which protocol version {VERSION} does not define at this point"
        )
    }

    /// Returns the reason why one of the program's pipes is closed.
    fn ended(&mut self) -> String {
        let begin = Instant::now();
        while begin.elapsed() < EXIT {
            if let Ok(Some(status)) = self.child.try_wait() {
                return format!("ended before the run did ({status})");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        "closed its standard input or output before the run ended".to_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // An error here means that the program has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl End for Program {
    fn due(&mut self) -> u64 {
        self.due
    }

    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        self.write(to_program::WAKE, &[&now.to_le_bytes()])?;
        self.flush()?;
        self.finish(Some(outbox))
    }

    fn receive(&mut self, now: u64, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        self.write(to_program::RECEIVE, &[&now.to_le_bytes(), &[ecn as u8], payload])
    }

    fn state(&mut self) -> State {
        let answer: StateAnswer = self.ask_or_default(to_program::STATE);
        State {
            cwnd: answer.cwnd,
            ssthresh: answer.ssthresh,
            srtt_ps: answer.srtt_ps,
            min_rtt_ps: answer.min_rtt_ps,
            pacing_bps: answer.pacing_bps,
            sent_packets: answer.sent_packets,
            lost_packets: answer.lost_packets,
        }
    }

    fn report(&mut self) -> Report {
        let answer: ReportAnswer = self.ask_or_default(to_program::REPORT);
        Report {
            delivered_bytes: answer.delivered_bytes,
            completed_ps: answer.completed_ps,
            sent_packets: answer.sent_packets,
            sent_bytes: answer.sent_bytes,
            lost_packets: answer.lost_packets,
            lost_bytes: answer.lost_bytes,
            congestion_events: answer.congestion_events,
            handshake_ps: answer.handshake_ps,
            closed: answer.closed_ps.map(|at| (at, one_line(answer.closed.as_bytes()))),
            values: answer.values.into_iter().collect(),
        }
    }

    fn failure(&mut self) -> Option<String> {
        self.failed.take()
    }
}

/// Returns a text as one line without control characters.
pub(crate) fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(LINE)
        .collect()
}

/// Makes the kernel kill the program when the thread that started it ends, even if SIGKILL ends the thread.
#[cfg(target_os = "linux")]
pub(crate) fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec only one system call is made, which allocates nothing.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn end_with_parent(_: &mut Command) {}
