//! The settings of a flow, as `python/longpipe/scenario/stack.py` resolves them.

use longpipe_end::adapter::{WebExchange, Workload, WEB};
use longpipe_end::{Role, Setup};

/// Names of the settings of a flow, and of a further path.
const NAMES: [&str; 14] = [
    "congestion",
    "size",
    "workload",
    "streams",
    "requests",
    "request",
    "datagram",
    "interval",
    "window",
    "crypto",
    "early_data",
    "path_idle_timeout",
    "status",
    WEB,
];

/// Settings of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Congestion control of the stack.
    pub congestion: &'a str,
    /// The application's workload.
    pub workload: Workload,
    /// Total amount of data, or length of a response [byte]; `u64::MAX` means unlimited.
    pub size: u64,
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
            _ if setup.setting(WEB).is_some() => Workload::Web {
                count: WebExchange::read(setup)?.count(),
            },
            "bulk" => Workload::Streams { count: 1 },
            "streams" => Workload::Streams {
                count: setup.number("streams", 1)?,
            },
            "requests" => Workload::Requests {
                count: setup.number("requests", 1)?,
                request: setup.number("request", 1)?,
            },
            "datagrams" => Workload::Datagrams {
                bytes: setup.number("datagram", 1000)?,
                interval_ps: setup.number("interval", 10_000_000_000)?,
            },
            other => return Err(format!("workload: {other}; needs bulk, streams, requests, datagrams")),
        };
        let window = setup.number("window", 0)?;
        Ok(Settings {
            congestion,
            workload,
            size,
            tls: setup.setting("crypto") != Some("null"),
            early_data: setup.setting("early_data") == Some("true"),
            window: (window > 0).then_some(window),
            path_idle_timeout_ps: setup.number("path_idle_timeout", 0)?,
        })
    }

    /// Returns whether an end with this role opens the connection.
    pub fn connects(&self, role: Role) -> bool {
        self.workload.is_requested() != (role == Role::Sender)
    }
}
