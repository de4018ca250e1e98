//! Cells of links with medium access.

use super::refusal::{accept, refuse, ScenarioError};
use super::{Framing, LinkConfig, Scenario};
pub use crate::access::cellreplay::{CellReplayConfig, HeavyQueue};
pub use crate::access::cellular::{CellularConfig, Direction};
pub use crate::access::docsis::DocsisConfig;
pub use crate::access::dvb_rcs2::{Category, DvbRcs2Config, Preset, RandomAccess};
pub use crate::access::dvb_s2::{DvbS2Config, FecFrame};
pub use crate::access::wifi::WifiConfig;
use crate::access::{problem_of_cell, NewStation};
pub use crate::access::{AccessConfig, AccessReport, StationAction};
use longpipe_events::Span;
use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use std::collections::HashMap;

/// A link with medium access, apart from its other parts.
#[derive(Clone, Debug, FromJson)]
#[serde(deny_unknown_fields)]
pub struct AccessLink {
    /// Rate of the link.
    pub rate_bps: u64,
    /// Propagation delay of the link.
    pub delay_ps: u64,
    /// Medium access of the link.
    pub access: AccessConfig,
}

/// Returns the first problem of links with medium access, or of their cells, with the number of the link in the list.
pub fn problem_of_links(links: &[AccessLink]) -> Option<(usize, Problem)> {
    let numbered = links.iter().enumerate();
    let stations: Vec<_> = numbered
        .map(|(link, of_link)| NewStation {
            config: &of_link.access,
            link,
            // No check depends on the nodes.
            node: link,
            to: link,
            rate_bps: of_link.rate_bps,
            delay: Span(of_link.delay_ps),
        })
        .collect();
    let mut invalid = stations.iter().map(|station| (station.link, station.config.invalid()));
    let invalid = invalid.find_map(|(link, problem)| Some((link, problem?)));
    invalid.or_else(|| cells(stations).iter().find_map(|cell| problem_of_stations(cell)))
}

/// Returns the stations of each cell, in order; a station that names no cell has one of its own.
fn cells(stations: Vec<NewStation<'_>>) -> Vec<Vec<NewStation<'_>>> {
    let mut cells: Vec<Vec<NewStation<'_>>> = Vec::new();
    let mut named: HashMap<&str, usize> = HashMap::new();
    for station in stations {
        let new = cells.len();
        let number = station
            .config
            .cell()
            .map_or(new, |name| *named.entry(name).or_insert(new));
        match cells.get_mut(number) {
            Some(cell) => cell.push(station),
            None => cells.push(vec![station]),
        }
    }
    cells
}

/// Returns the problem of the stations of a cell, with the link of the station, if there is one.
fn problem_of_stations(stations: &[NewStation<'_>]) -> Option<(usize, Problem)> {
    problem_of_cell(stations).map(|(station, problem)| (stations[station].link, problem))
}

impl Scenario {
    /// Returns the stations of each cell.
    pub(crate) fn cells(&self) -> Vec<Vec<NewStation<'_>>> {
        let numbered = self.links.iter().enumerate();
        let stations = numbered.filter_map(|(link, config)| {
            Some(NewStation {
                config: config.access.as_deref()?,
                link,
                node: config.from,
                to: config.to,
                rate_bps: config.rate_bps,
                delay: Span(config.delay_ps),
            })
        });
        cells(stations.collect())
    }
}

impl LinkConfig {
    /// If medium access excludes another part of the link, returns the part and the accepted values.
    fn excluded_by_access(&self, framing: Framing) -> Option<(&'static str, &'static str)> {
        if framing == Framing::Aal5 {
            return Some(("set", "needs none under AAL5, because medium access sends IP packets"));
        }
        if self.varies() {
            let accepted = "needs a link without path, jitter, reordering and aggregation";
            return Some(("with a rate or a delay that varies", accepted));
        }
        let accepted = "needs a link without tbf and without a rate of cake";
        self.has_shaper().then_some(("with a shaper of the link", accepted))
    }
}

/// Checks that packets of a length may pass a link.
pub(super) fn check_length(link: &LinkConfig, bytes: u32) -> Result<(), ScenarioError> {
    let max = link
        .access
        .as_ref()
        .map_or(u64::MAX, |access| access.max_packet_bytes());
    match u64::from(bytes) > max {
        true => refuse(
            "packets over access",
            bytes,
            format!("needs at most {max} bytes with headers, as with tcp.mss = {}", max - 52),
        ),
        false => Ok(()),
    }
}

/// Checks the medium access of each link, and that the links of each cell fit each other.
pub(super) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    for (index, link) in scenario.links.iter().enumerate() {
        let Some(access) = &link.access else { continue };
        let field = || format!("links[{index}].access");
        accept(field, access.invalid())?;
        if let Some((value, accepted)) = link.excluded_by_access(scenario.framing) {
            return refuse(field(), value, accepted);
        }
    }
    match scenario.cells().iter().find_map(|cell| problem_of_stations(cell)) {
        Some((link, problem)) => accept(|| format!("links[{link}].access"), Some(problem)),
        None => Ok(()),
    }
}
