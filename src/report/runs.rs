//! The list of runs.

use super::{
    table::{Column, lines},
    text::count,
};
use crate::store::Manifest;

/// One line a run, oldest first.
#[must_use]
pub fn render(manifests: &[Manifest]) -> String {
    let of = |cell: fn(&Manifest) -> String| manifests.iter().map(cell).collect::<Vec<String>>();
    let columns = [
        Column::left("run", of(|m| m.run.clone())),
        Column::left("status", of(|m| m.status.as_str().to_owned())),
        Column::left("cases", of(|m| m.inputs.cases.clone())),
        Column::right("sessions", of(|m| count(sessions(m)))),
        Column::left(
            "variants",
            of(|m| {
                m.variants
                    .iter()
                    .map(|v| v.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            }),
        ),
    ];
    lines(&columns).join("\n") + "\n"
}

fn sessions(manifest: &Manifest) -> u64 {
    let grid = &manifest.grid;
    let seeds = grid.seeds.end.saturating_sub(grid.seeds.start);
    [grid.variants.len() as u64, seeds]
        .into_iter()
        .fold(grid.cases, u64::saturating_mul)
}
