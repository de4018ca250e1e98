//! The settings of a flow, as `python/longpipe/scenario/stack.py` resolves them.

use longpipe_end::{Role, Setup};

/// The application's workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// The flow's sender connects and sends all streams concurrently.
    Streams {
        /// Number of streams.
        count: u64,
        /// Total amount of data [byte]; `u64::MAX` means unlimited.
        bytes: u64,
    },
    /// The flow's receiver connects and sends one request after another; the sender answers each of them.
    Requests {
        /// Number of requests.
        count: u64,
        /// Length of a request [byte].
        request: u64,
        /// Length of a response [byte].
        response: u64,
    },
}

/// Names of the settings of a flow, and of a further path.
const NAMES: [&str; 11] = [
    "congestion",
    "size",
    "workload",
    "streams",
    "requests",
    "request",
    "window",
    "crypto",
    "early_data",
    "path_idle_timeout",
    "status",
];

/// Settings of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Congestion control of the stack.
    pub congestion: &'a str,
    /// The application's workload.
    pub workload: Workload,
    /// Whether packets are encrypted with the keys of TLS 1.3.
    pub tls: bool,
    /// Whether the client resumes a session and sends data in its first flight (0-RTT).
    pub early_data: bool,
    /// Flow-control windows of streams and of the connection, and the send buffer [byte]; the stack's defaults apply if
    /// they are absent.
    pub window: Option<u64>,
    /// Time [ps] without packets from the peer after which a path is abandoned; 0 means never.
    pub path_idle_timeout_ps: u64,
}

impl<'a> Settings<'a> {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error that names the setting if a setting is invalid.
    pub fn read(setup: &Setup<'a>, controls: &[&str]) -> Result<Settings<'a>, String> {
        setup.accept(&NAMES)?;
        let congestion = setup.setting("congestion").unwrap_or("cubic");
        if !controls.contains(&congestion) {
            return Err(format!("congestion: {congestion}; needs {}", controls.join(", ")));
        }
        if setup.most_bytes < 1200 || setup.most_bytes > 65_527 {
            let needs = "needs UDP payloads of 1200 to 65527 bytes (RFC 9000 section 14)";
            return Err(format!(
                "longest_packet: payloads of {} bytes; {needs}",
                setup.most_bytes
            ));
        }
        let size = setup.number("size", u64::MAX)?;
        let workload = match setup.setting("workload").unwrap_or("bulk") {
            "bulk" => Workload::Streams { count: 1, bytes: size },
            "streams" => Workload::Streams {
                count: setup.number("streams", 1)?,
                bytes: size,
            },
            "requests" => Workload::Requests {
                count: setup.number("requests", 1)?,
                request: setup.number("request", 1)?,
                response: size,
            },
            other => return Err(format!("workload: {other}; needs bulk, streams or requests")),
        };
        let window = setup.number("window", 0)?;
        Ok(Settings {
            congestion,
            workload,
            tls: setup.setting("crypto") != Some("null"),
            early_data: setup.setting("early_data") == Some("true"),
            window: (window > 0).then_some(window),
            path_idle_timeout_ps: setup.number("path_idle_timeout", 0)?,
        })
    }

    /// Returns whether an end with this role opens the connection.
    pub fn connects(&self, role: Role) -> bool {
        match self.workload {
            Workload::Streams { .. } => role == Role::Sender,
            Workload::Requests { .. } => role == Role::Receiver,
        }
    }
}
