//! Real protocol stacks as the end points of a flow, and further paths of their connections.

use super::parameters::{Facts, NewApplication, NewFlow, Parameters, Transport};
use super::web::WebConfig;
use longpipe_events::Span;
use longpipe_json::FromJson;
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::described::Described;
use longpipe_tcp::Problem;
use serde::Serialize;

/// A protocol stack outside the core; its flow is external. The core does not interpret these fields, but results
/// depend on them.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Described)]
#[serde(deny_unknown_fields)]
pub struct StackConfig {
    /// Name of the stack.
    #[field(skip)]
    pub stack: String,
    /// Version of the stack.
    #[field(skip)]
    pub version: String,
    /// Names and values of the stack's settings, sorted by name.
    #[field(skip)]
    pub settings: Vec<(String, String)>,
    /// Requests of a web client at the flow's receiver, which the stacks transport, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[field(skip)]
    pub web: Option<WebConfig>,
}

/// A further path of a connection between two stacks: the packets that the stacks send on this path take the routes of
/// this flow, which is external.
#[derive(Clone, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(deny_unknown_fields)]
pub struct StackPathConfig {
    /// Name of the flow whose traffic is the stack.
    #[field(skip)]
    pub of: String,
    /// Names and values of the path's settings, sorted by name.
    #[field(skip)]
    pub settings: Vec<(String, String)>,
}

impl Parameters for StackConfig {
    const FACTS: Facts = Facts {
        is_bulk: true,
        draws: true,
        ..Facts::new(Transport::Stack)
    };

    fn problem(&self, tcp: &TcpConfig) -> Option<Problem> {
        let problem = self.web.as_ref().and_then(|web| web.problem(tcp));
        problem.map(|problem| problem.within("web"))
    }

    fn interval(&self, tcp: &TcpConfig) -> Option<(&'static str, Span)> {
        let (_, cycle) = self.web.as_ref().and_then(|web| web.interval(tcp))?;
        Some(("web.cycle", cycle))
    }

    fn application(&self, _flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::External
    }

    fn receiver_connects(&self) -> bool {
        let is_requests = |(name, value): &(String, String)| name == "workload" && value == "requests";
        self.web.is_some() || self.settings.iter().any(is_requests)
    }
}

impl Parameters for StackPathConfig {
    const FACTS: Facts = Facts::new(Transport::FurtherPath);

    fn application(&self, _flow: &NewFlow<'_>) -> NewApplication {
        NewApplication::External
    }
}
