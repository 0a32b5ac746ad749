use crate::domain::{Limit, Limits, Usage, add_tokens};

/// What a session has spent, against what it may.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    limits: Limits,
    /// Steps taken.
    pub steps: u32,
    /// Tokens of all requests; unknown once any is.
    pub tokens_in: Option<u64>,
    /// Tokens of all replies; unknown once any is.
    pub tokens_out: Option<u64>,
    /// US dollars; unknown once any call's price is.
    pub cost_usd: Option<f64>,
    /// What is known of tokens and dollars: limits bind on it.
    known_tokens: u64,
    known_cost: f64,
    work_s: f64,
}

impl Budget {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            steps: 0,
            tokens_in: Some(0),
            tokens_out: Some(0),
            cost_usd: Some(0.0),
            known_tokens: 0,
            known_cost: 0.0,
            work_s: 0.0,
        }
    }

    /// Books a reply.
    pub fn spend(&mut self, usage: Option<Usage>, cost_usd: Option<f64>) {
        let usage = usage.unwrap_or_default();
        self.tokens_in = add_tokens(self.tokens_in, usage.tokens_in);
        self.tokens_out = add_tokens(self.tokens_out, usage.tokens_out);
        self.cost_usd = self.cost_usd.zip(cost_usd).map(|(a, b)| a + b);
        for tokens in [usage.tokens_in, usage.tokens_out].into_iter().flatten() {
            self.known_tokens = self.known_tokens.saturating_add(tokens);
        }
        self.known_cost += cost_usd.unwrap_or(0.0);
    }

    /// Sets the working time since the session began.
    pub fn worked(&mut self, work_s: f64) {
        self.work_s = work_s;
    }

    pub fn steps_left(&self) -> usize {
        self.limits.max_steps.saturating_sub(self.steps) as usize
    }

    /// The first limit that is reached.
    pub fn exhausted(&self) -> Option<Limit> {
        let limits = &self.limits;
        [
            (Limit::Steps, self.steps_left() == 0),
            (
                Limit::Tokens,
                limits
                    .max_tokens
                    .is_some_and(|max| self.known_tokens >= max),
            ),
            (
                Limit::CostUsd,
                limits
                    .max_cost_usd
                    .is_some_and(|max| self.known_cost >= max),
            ),
            (
                Limit::Seconds,
                limits.max_seconds.is_some_and(|max| self.work_s >= max),
            ),
        ]
        .into_iter()
        .find_map(|(limit, reached)| reached.then_some(limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(tokens_in: u64, tokens_out: u64) -> Option<Usage> {
        Some(Usage {
            tokens_in: Some(tokens_in),
            tokens_out: Some(tokens_out),
            ..Usage::default()
        })
    }

    #[test]
    fn each_limit_binds() {
        let limits = Limits {
            max_steps: 2,
            max_tokens: Some(100),
            max_cost_usd: Some(0.5),
            max_seconds: Some(3.0),
        };
        let fresh = Budget::new(limits);
        assert_eq!(fresh.exhausted(), None);
        let with = |change: &dyn Fn(&mut Budget)| {
            let mut budget = fresh.clone();
            change(&mut budget);
            budget.exhausted()
        };
        assert_eq!(with(&|b| b.steps = 2), Some(Limit::Steps));
        assert_eq!(with(&|b| b.spend(used(60, 39), Some(0.0))), None);
        assert_eq!(
            with(&|b| b.spend(used(60, 40), Some(0.0))),
            Some(Limit::Tokens)
        );
        assert_eq!(with(&|b| b.spend(None, Some(0.5))), Some(Limit::CostUsd));
        assert_eq!(with(&|b| b.worked(3.0)), Some(Limit::Seconds));
    }

    #[test]
    fn no_sum_begins_anew() {
        let mut budget = Budget::new(Limits::default());
        for _ in 0..3 {
            budget.spend(used(u64::MAX, 1), Some(1e6));
        }
        assert_eq!(budget.tokens_in, Some(u64::MAX));
        assert_eq!(budget.cost_usd, Some(3e6));
    }

    #[test]
    fn unknown_stays_unknown() {
        let mut budget = Budget::new(Limits::default());
        budget.spend(used(5, 1), Some(0.25));
        assert_eq!((budget.tokens_in, budget.cost_usd), (Some(5), Some(0.25)));
        budget.spend(None, None);
        budget.spend(used(5, 1), Some(0.25));
        assert_eq!(
            (budget.tokens_in, budget.tokens_out, budget.cost_usd),
            (None, None, None)
        );
    }
}
