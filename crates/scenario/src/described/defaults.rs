//! Fields of parts with those that follow from others: the defaults that a scenario names, profiles of connections, former
//! names of options, and the number of sources.

use super::description::{float, get, whole, Description};
use super::part::{integer, json_text};
use super::words::{fields_of, plain};
use longpipe_json::Json;
use longpipe_units::TIME;

/// Returns a table with the fields of another one in place of its own.
fn under(mut table: Json<'static>, own: &Json<'static>) -> Json<'static> {
    if let Json::Table(own) = own {
        for (name, value) in own {
            table.set(name, value.clone());
        }
    }
    table
}

fn remove(table: &mut Json<'static>, name: &str) {
    if let Json::Table(fields) = table {
        fields.retain(|(key, _)| key != name);
    }
}

impl Description {
    /// Returns the fields of a part with what follows from others.
    pub(crate) fn completed(&self, part: &str, fields: &Json<'static>) -> Json<'static> {
        let mut fields = fields.clone();
        if let Json::Table(fields) = &mut fields {
            // Python's name of the field.
            for (name, _) in fields.iter_mut().filter(|(name, _)| name == "from_") {
                *name = "from".into();
            }
        }
        match part {
            "Scenario" => self.with_defaults(fields),
            "Tcp" => self.with_profile(&fields),
            "Dumbbell" => with_sources(fields),
            _ => fields,
        }
    }

    /// Returns the fields of a scenario with the defaults that its field `defaults` names.
    fn with_defaults(&self, fields: Json<'static>) -> Json<'static> {
        let newest = || match self.facts.at("schemas") {
            Json::Table(schemas) => schemas
                .iter()
                .max_by_key(|(version, _)| version.parse::<u32>().unwrap_or_default()),
            _ => None,
        };
        let named = get(&fields, "defaults").or_else(|| newest().map(|(_, named)| named));
        let chosen = named
            .and_then(Json::as_str)
            .and_then(|named| self.fact("defaults", named));
        let Some(chosen) = chosen.cloned() else {
            return fields;
        };
        let mut whole = under(
            chosen.at("scenario").clone(),
            &Json::Table(vec![("tcp".into(), Json::Table(vec![]))]),
        );
        whole = under(whole, &fields);
        if let Some(tcp) = fields_of(whole.at("tcp")) {
            let tcp = under(chosen.at("tcp").clone(), tcp);
            whole.set("tcp", tcp);
        }
        let dumbbell = || Json::Table(vec![("kind".into(), json_text("dumbbell"))]);
        let network = match get(&fields, "network") {
            Some(network) if network.as_str() != Some("dumbbell") => network.clone(),
            _ => dumbbell(),
        };
        if fields_of(&network).is_some() && network.at("kind").as_str() == Some("dumbbell") {
            let mut usual = chosen.at("network").clone();
            if get(&network, "group").is_some() {
                // The number of sources is computed from the groups.
                remove(&mut usual, "sources");
            }
            whole.set("network", under(usual, &network));
        }
        whole
    }

    /// Returns the fields of a connection with those that its profile determines, without former names of options.
    fn with_profile(&self, fields: &Json<'static>) -> Json<'static> {
        let profile = plain(get(fields, "profile").unwrap_or(&Json::Null));
        let none = Json::Table(vec![]);
        let defaults = self.fact("profiles", &profile).unwrap_or(&none);
        let mut whole = under(defaults.clone(), fields);
        for part in ["recovery", "congestion"] {
            let (own, usual) = (fields_of(whole.at(part)), fields_of(defaults.at(part)));
            if let (Some(own), Some(usual)) = (own, usual) {
                if get(own, "kind").is_none() {
                    let merged = under(usual.clone(), own);
                    whole.set(part, merged);
                }
            }
        }
        // A time above zero replaces the handshake of a profile.
        let initial_rtt = get(fields, "initial_rtt").and_then(Json::as_str);
        let is_known = initial_rtt.and_then(|text| TIME.parse(text).ok()) > Some(0.into());
        if get(fields, "handshake").is_none() && is_known {
            remove(&mut whole, "handshake");
        }
        let former = self.former_options(&whole);
        if let Json::Table(names) = self.facts.at("former") {
            for (name, _) in names {
                remove(&mut whole, name);
            }
        }
        if let Some(former) = former {
            whole.set("congestion", former);
        }
        let congestion = match get(&whole, "congestion") {
            Some(Json::Text(kind)) => Json::Table(vec![("kind".into(), Json::Text(kind.clone()))]),
            Some(table) if fields_of(table).is_some() => table.clone(),
            _ => return whole,
        };
        let kind = plain(get(&congestion, "kind").unwrap_or(&Json::Null));
        // Options that the profile sets, unless the scenario sets other rules.
        let options = self.fact("rules", &profile).and_then(|rules| get(rules, &kind));
        if let Some(options) = options {
            let rules = get(&congestion, "rules");
            if rules.is_none_or(|rules| rules == options.at("rules")) {
                let mut ruled = Json::Table(vec![(
                    "kind".into(),
                    get(&congestion, "kind").cloned().unwrap_or_default(),
                )]);
                ruled = under(under(ruled, options), &congestion);
                whole.set("congestion", ruled);
            }
        }
        whole
    }

    /// Returns the congestion control of a table of TCP with its options in former fields of TCP, which its own options
    /// override; None if these set no option. Files of earlier versions contain the defaults of these fields; they count as
    /// unspecified, except in a table with Linux's rules.
    fn former_options(&self, tcp: &Json<'static>) -> Option<Json<'static>> {
        let default = self.model("Tcp").field("congestion")?.default.as_ref();
        let congestion = get(tcp, "congestion").or(default)?;
        let own = match fields_of(congestion) {
            Some(table) => table.clone(),
            None => Json::Table(vec![("kind".into(), congestion.clone())]),
        };
        let kind = get(&own, "kind")?.clone();
        let Json::Table(former) = self.facts.at("former") else {
            return None;
        };
        let mut options = Json::Table(vec![]);
        for (name, of) in former {
            let Some(value) = get(tcp, name).filter(|_| *of == kind) else {
                continue;
            };
            options = match fields_of(value) {
                Some(table) => under(options, table),
                None => under(options, &Json::Table(vec![(name.clone(), value.clone())])),
            };
        }
        let named = plain(&kind);
        let control = self.kinds_of_tcp("congestion").iter().find(|(kind, _)| *kind == named);
        if let (Some((_, part)), Json::Table(options)) = (control, &mut options) {
            if !options
                .iter()
                .any(|(name, value)| name == "rules" && value.as_str() == Some("linux"))
            {
                let model = self.model(part);
                options.retain(|(name, value)| {
                    let default = model.field(name).and_then(|field| field.default.as_ref());
                    !default.is_some_and(|default| is_same(value, default))
                });
            }
        }
        match &options {
            Json::Table(fields) if fields.is_empty() => None,
            _ => Some(under(under(Json::Table(vec![("kind".into(), kind)]), &options), &own)),
        }
    }
}

/// Compares a value with a default.
fn is_same(one: &Json<'_>, other: &Json<'_>) -> bool {
    one == other || float(one).is_some_and(|number| float(other) == Some(number))
}

/// Returns the fields of a dumbbell with the number of sources in its groups.
fn with_sources(mut fields: Json<'static>) -> Json<'static> {
    let Some(Json::List(groups)) = get(&fields, "group").filter(|_| get(&fields, "sources").is_none()) else {
        return fields;
    };
    let one = Json::Number(1);
    let count = |group: &Json<'static>| whole(get(fields_of(group)?, "count").unwrap_or(&one));
    let counts: Option<Vec<i128>> = groups.iter().map(count).collect();
    let counts = counts.filter(|counts| !counts.is_empty() && !counts.contains(&0));
    if let Some(counts) = counts {
        let sources = counts.iter().sum();
        fields.set("sources", integer(sources));
    }
    fields
}
