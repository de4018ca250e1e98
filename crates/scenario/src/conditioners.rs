//! Checks of the conditioners of ports.

use crate::topology::Topology;
use longpipe_network::conditioners::problems_of_all;

/// Returns the problems of conditioners by themselves, together, and with the framing or the send jitter; `cells` is
/// whether the links carry ATM cells.
pub(crate) fn problems(topology: &Topology, cells: bool) -> Vec<String> {
    let mut problems = vec![];
    for link in topology.described_links() {
        for (link, name) in [(2 * link, "conditioners"), (2 * link + 1, "return_conditioners")] {
            let field = topology.link_field(link / 2, name);
            let mut kinds = vec![];
            for (place, conditioner) in topology.conditioners(link).enumerate() {
                problems.extend(conditioner.shown_problems(&format!("{field}[{place}]")));
                kinds.push(conditioner.kind.as_str());
            }
            if kinds.is_empty() {
                continue;
            }
            let of_all = problems_of_all(&kinds).into_iter();
            problems.extend(of_all.map(|(place, kind, needs)| format!("{field}[{place}]: {kind}; {needs}")));
            if cells {
                problems.push(format!(
                    "{field}: set; needs framing 'ip', because conditioners act on packets"
                ));
            } else if let Some(needs) = topology.needs_no_jitter(link) {
                problems.push(format!("{field}: set; {needs}"));
            }
        }
    }
    problems
}
