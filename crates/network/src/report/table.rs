//! Description of a table of results: its rows and its columns, each with its kind, meaning, condition and values.

use super::Report;
use crate::scenario::Scenario;

/// A scenario and the results of its run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its results.
    pub report: &'a Report,
}

/// How a column behaves if the beginning of a run is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A name, a time, a state at the end, or an extreme of the whole run: unchanged.
    State,
    /// A counter: the value at the beginning is subtracted.
    Counter,
    /// A mean over time.
    Mean,
    /// A mean whose weights are the differences of another column, a counter.
    MeanOver(&'static str),
    /// A quantile of delays.
    Quantile(f64),
    /// The share of a link's capacity that was used.
    Utilization,
}

/// A row: its number in the report, and the number of an item of that row, which is 0 for tables without items.
pub type Row = (usize, usize);

/// Values of a column, by row.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// Text.
    Text(fn(&Run<'_>, Row) -> String),
    /// Number of a flow or a class.
    Number(fn(&Run<'_>, Row) -> u32),
    /// Count.
    Count(fn(&Run<'_>, Row) -> u64),
    /// Real number; NaN if there is no value.
    Real(fn(&Run<'_>, Row) -> f64),
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name; its last part is the unit.
    pub name: &'static str,
    /// Behavior if the beginning of the run is left out.
    pub kind: Kind,
    /// Meaning, as a sentence.
    pub about: &'static str,
    /// Whether a run has the column.
    pub present: fn(&Run<'_>) -> bool,
    /// Values.
    pub values: Values,
}

/// A table of results.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name.
    pub name: &'static str,
    /// Groups of columns, in order.
    pub columns: &'static [&'static [Column]],
    /// Whether a run has the table.
    pub present: fn(&Run<'_>) -> bool,
    /// Rows.
    pub rows: fn(&Run<'_>) -> Vec<Row>,
    /// Whether it can have millions of rows. Python then has arrays in place of lists, and the browser has no columns.
    pub is_large: bool,
}

impl Table {
    /// Returns the columns that a run has.
    pub fn columns_of(&self, run: &Run<'_>) -> Vec<&'static Column> {
        let columns = self.columns.iter().copied().flatten();
        columns.filter(|column| (column.present)(run)).collect()
    }
}

/// Declares columns. The closure's arguments are the run and the number of a row, from which the row is computed, and
/// the number of an item if the table has items. A column has the form `Values Kind "name": "Meaning." => value`, with
/// `if condition` before the arrow if not all runs have it.
macro_rules! columns {
    (|$run:ident, $index:ident| $($declared:tt)+) => {
        columns! { |$run, $index, item| $($declared)+ }
    };
    (
        |$run:ident, $index:ident, $item:ident| $row:ident = $of:expr;
        $($values:ident $kind:expr, $column:literal: $about:literal $(if $present:expr)? => $value:expr;)+
    ) => {
        &[$(Column {
            name: $column,
            kind: $kind,
            about: $about,
            present: |$run| true $(&& $present)?,
            values: Values::$values(|$run, ($index, $item)| {
                let $row = $of;
                $value
            }),
        },)+]
    };
}

pub(super) use columns;
