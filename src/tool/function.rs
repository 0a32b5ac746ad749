use std::sync::Arc;

use serde_json::Value;

use super::{Tool, ToolContext};
use crate::domain::{BoxFuture, Observation, ToolSpec};

/// A tool that is a function.
struct Function<F> {
    spec: ToolSpec,
    run: F,
}

/// Makes a tool of a function that takes arguments and context; [`spec`](super::spec()) makes the
/// specification of it from the type of the arguments.
pub fn from_fn<F, Fut>(spec: ToolSpec, run: F) -> Arc<dyn Tool>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Observation> + Send + 'static,
{
    Arc::new(Function { spec, run })
}

impl<F, Fut> Tool for Function<F>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output = Observation> + Send + 'static,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, Observation> {
        Box::pin((self.run)(args.clone(), ctx.clone()))
    }
}
