//! Whether sessions can pay for their first call.

use super::live::host;
use crate::{
    config::{ModelKind, OpenAi, Resolved, Variant},
    error::Problem,
    run::Plan,
};

/// Bytes of a request beside messages, tools, parameters and the name of the model.
const FRAME: usize = 64;

/// The variants whose sessions may spend less than their first call is reserved at: they would all
/// end before anything was asked. `plan` has the variants of `config`, in that order.
pub(super) fn problems(config: &Resolved, plan: &Plan) -> Vec<Problem> {
    let variants = config.variants.iter().enumerate();
    variants
        .filter_map(|(at, variant)| {
            let ModelKind::OpenAi(live) = &variant.model.kind else {
                return None;
            };
            let message = problem(plan, at, variant, live)?;
            let hint = "raise it, or lower max_tokens in the parameters of the model";
            Some(config.cap_problem(&variant.name, message).hint(hint))
        })
        .collect()
}

/// What is wrong with the first case that cannot be paid.
fn problem(plan: &Plan, at: usize, variant: &Variant, live: &OpenAi) -> Option<String> {
    let (price, reply) = (live.price?, live.output_limit?);
    let grid = &plan.grid;
    (0..grid.cases.len()).find_map(|case| {
        let id = grid.ids_of(at, case).next()?;
        let cap = plan.spec(id).limits.max_cost_usd?;
        let bytes = plan.conversation(id).bytes() + live.model.len() + FRAME;
        let usd = price.at_most(bytes, reply);
        (usd > cap).then(|| {
            format!(
                "a session may spend {cap} USD, and the first call of case {} under variant {} at {} \
                 is reserved at {usd:.6} USD (a token for each of {bytes} bytes, and {reply} tokens of \
                 the reply)",
                grid.cases[case],
                variant.name,
                host(&live.base_url)
            )
        })
    })
}
