//! Settings of a scenario besides its network, as Python and the page pass them.

use crate::input::{self, is_true, read, rows, Part, Ports};
use crate::tcp::Tcp;
use crate::times::{Start, Stop};
use crate::Problems;
use longpipe_json::Json;

/// Settings of a scenario besides its network.
pub(crate) struct Settings<'a> {
    pub(crate) duration: String,
    pub(crate) start: Start,
    pub(crate) stop: Option<Stop>,
    /// Whether the delays of packets are traced.
    pub(crate) delays: bool,
    /// Sampling interval of the queues of VCs, if they are traced.
    pub(crate) sampling: Option<String>,
    /// Ports of switches; the connections whose packets they queue follow from `tcps`.
    pub(crate) ports: Ports,
    /// Settings of TCP: those of the scenario, and others, to which flows, proxies and traffic refer by number.
    pub(crate) tcps: Vec<Tcp<'a>>,
    /// Traffic of the scenario, and other traffic, to which flows refer by number.
    pub(crate) traffics: Vec<Traffic<'a>>,
}

/// Traffic of flows.
pub(crate) struct Traffic<'a> {
    /// Fields as the scenario sets them.
    pub(crate) fields: Json<'a>,
    /// Field with the time between events that occur in any case.
    pub(crate) repeats: Option<String>,
    pub(crate) transport: Transport,
    /// Length of the longest payload [byte] of datagrams.
    pub(crate) payload_bytes: Option<u64>,
    /// Number of the settings of TCP that replace those of the flow, if the traffic determines them.
    pub(crate) tcp: Option<usize>,
}

/// How the data of a source are transported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Datagrams,
    /// By a real stack, whose data cannot stop before their end.
    Stack,
}

impl<'a> Settings<'a> {
    /// Reads settings from JSON.
    ///
    /// # Errors
    /// Returns the problem of the text, which is a defect of the caller.
    pub(crate) fn read(text: &'a str) -> Result<Settings<'a>, Problems> {
        Settings::of_json(read(text)?)
    }

    /// Reads settings from a table.
    ///
    /// # Errors
    /// Returns the problem of the table, which is a defect of the caller.
    pub(crate) fn of_json(mut json: Json<'a>) -> Result<Settings<'a>, Problems> {
        let tcps = rows(json.take("tcps"), Tcp::of)?;
        let traffics = rows(json.take("traffics"), Traffic::of)?;
        Settings::of(json, tcps, traffics).ok_or_else(|| input::incomplete("settings"))
    }

    fn of(mut json: Json<'a>, tcps: Vec<Tcp<'a>>, traffics: Vec<Traffic<'a>>) -> Option<Settings<'a>> {
        Some(Settings {
            duration: json.take("duration").text()?,
            start: Start::of(json.take("start"))?,
            stop: Stop::of(json.take("stop")),
            delays: is_true(&json.take("delays")),
            sampling: json.take("sampling").text(),
            ports: Ports {
                cells: is_true(&json.take("cells")),
                buffer: json.take("buffer").text()?,
                policy: Part::of(json.take("policy"))?,
                scheduler: json.take("scheduler").text()?,
                rotates: json.take("ties").as_str() == Some("rotating"),
                tcps: vec![],
                tcp_of: vec![],
                datagrams: vec![],
            },
            tcps,
            traffics,
        })
    }
}

impl<'a> Traffic<'a> {
    fn of(mut row: Json<'a>) -> Option<Traffic<'a>> {
        Some(Traffic {
            fields: row.item(0),
            repeats: row.item(1).text(),
            transport: match row.item(2).as_str()? {
                "tcp" => Transport::Tcp,
                "datagrams" => Transport::Datagrams,
                _ => Transport::Stack,
            },
            payload_bytes: row.item(3).number(),
            tcp: row.item(4).place(),
        })
    }
}
