//! Which session begins next. Pure.

use std::{collections::HashSet, ops::Range};

use crate::domain::{Grid, SessionId};

/// Sessions still to be done, admitted in plan order under a cap for each endpoint.
///
/// Each endpoint walks the plan on its own, so that one that is full or parked never holds up
/// another.
#[derive(Debug)]
pub struct Schedule {
    grid: Grid,
    /// The numbers of the first session and of the one after the last.
    span: Range<u64>,
    endpoints: Vec<Endpoint>,
    /// The index of each variant's endpoint.
    endpoint_of: Vec<usize>,
    in_flight: HashSet<SessionId>,
    /// Sessions that do not begin when their turn comes: done before, or taken out of turn. Memory
    /// grows with these alone, not with the plan.
    passed_over: HashSet<SessionId>,
    closed_cases: Vec<bool>,
    parked: Vec<bool>,
    winding_down: bool,
}

/// Where a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is still to begin.
    Waiting,
    /// It holds a credit.
    InFlight,
    /// It is over, or its turn is.
    Done,
}

#[derive(Debug)]
struct Endpoint {
    cap: usize,
    in_flight: usize,
    next: u64,
}

impl Schedule {
    /// A schedule of all sessions of `grid` but those in `done`. `endpoint_of` says which endpoint
    /// each variant uses, `caps` how many sessions each endpoint takes at once.
    #[must_use]
    pub fn new(
        grid: Grid,
        endpoint_of: Vec<usize>,
        caps: &[usize],
        done: impl IntoIterator<Item = SessionId>,
    ) -> Self {
        let span = grid.span();
        let endpoint = |cap: &usize| Endpoint {
            cap: *cap,
            in_flight: 0,
            next: span.start,
        };
        Self {
            endpoints: caps.iter().map(endpoint).collect(),
            endpoint_of,
            in_flight: HashSet::new(),
            passed_over: done.into_iter().collect(),
            closed_cases: vec![false; grid.cases.len()],
            parked: vec![false; grid.variants.len()],
            winding_down: false,
            span,
            grid,
        }
    }

    /// The next session to begin, now counted as in flight.
    pub fn admit(&mut self) -> Option<SessionId> {
        if self.winding_down {
            return None;
        }
        for at in 0..self.endpoints.len() {
            while self.endpoints[at].in_flight < self.endpoints[at].cap
                && self.endpoints[at].next < self.span.end
            {
                let id = SessionId(self.endpoints[at].next);
                self.endpoints[at].next += 1;
                let cell = self.grid.cell(id);
                let wanted = self.endpoint_of[cell.variant] == at
                    && !self.passed_over.remove(&id)
                    && !self.closed_cases[cell.case]
                    && !self.parked[cell.variant];
                if wanted {
                    self.endpoints[at].in_flight += 1;
                    self.in_flight.insert(id);
                    return Some(id);
                }
            }
        }
        None
    }

    /// Where a session is.
    #[must_use]
    pub fn place(&self, id: SessionId) -> Place {
        let next = self.endpoints[self.endpoint_at(id)].next;
        if self.in_flight.contains(&id) {
            Place::InFlight
        } else if id.0 < next || self.passed_over.contains(&id) {
            Place::Done
        } else {
            Place::Waiting
        }
    }

    /// Takes a session out of its turn, whatever the caps; false if it is not waiting.
    pub fn take(&mut self, id: SessionId) -> bool {
        if self.place(id) != Place::Waiting {
            return false;
        }
        let at = self.endpoint_at(id);
        self.endpoints[at].in_flight += 1;
        self.in_flight.insert(id);
        self.passed_over.insert(id);
        true
    }

    /// A session is over: its credit is free.
    pub fn settle(&mut self, id: SessionId) {
        if self.in_flight.remove(&id) {
            let at = self.endpoint_at(id);
            self.endpoints[at].in_flight -= 1;
        }
    }

    /// No further session of this case begins.
    pub fn close_case(&mut self, case: usize) {
        self.closed_cases[case] = true;
    }

    /// No further session of this variant begins.
    pub fn park(&mut self, variant: usize) {
        self.parked[variant] = true;
    }

    /// Whether no further session of this variant begins.
    #[must_use]
    pub fn is_parked(&self, variant: usize) -> bool {
        self.parked[variant]
    }

    /// Nothing new begins.
    pub fn wind_down(&mut self) {
        self.winding_down = true;
    }

    /// Sessions in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The index of a session's endpoint.
    fn endpoint_at(&self, id: SessionId) -> usize {
        self.endpoint_of[self.grid.cell(id).variant]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(variants: usize, cases: usize, seeds: Range<u64>) -> Grid {
        Grid {
            variants: (0..variants)
                .map(|i| format!("v{i}").parse().unwrap())
                .collect(),
            cases: (0..cases)
                .map(|i| format!("c{i}").parse().unwrap())
                .collect(),
            seeds,
        }
    }

    fn admit_all(schedule: &mut Schedule) -> Vec<u64> {
        std::iter::from_fn(|| schedule.admit())
            .map(|id| id.0)
            .collect()
    }

    #[test]
    fn plan_order_under_the_cap() {
        let mut schedule = Schedule::new(grid(1, 3, 0..2), vec![0], &[2], []);
        assert_eq!(admit_all(&mut schedule), [0, 1]);
        schedule.settle(SessionId(0));
        assert_eq!(admit_all(&mut schedule), [2]);
        schedule.settle(SessionId(1));
        schedule.settle(SessionId(2));
        assert_eq!(admit_all(&mut schedule), [3, 4]);
        assert_eq!(schedule.in_flight(), 2);
    }

    #[test]
    fn a_full_endpoint_holds_up_no_other() {
        let mut schedule = Schedule::new(grid(2, 2, 5..7), vec![0, 1], &[1, 4], []);
        assert_eq!(admit_all(&mut schedule), [20, 21, 23, 25, 27]);
        schedule.settle(SessionId(20));
        assert_eq!(admit_all(&mut schedule), [22]);
    }

    #[test]
    fn a_parked_variant_holds_up_no_other() {
        let mut schedule = Schedule::new(grid(2, 2, 0..2), vec![0, 1], &[1, 1], []);
        assert_eq!(admit_all(&mut schedule), [0, 1]);
        schedule.park(0);
        schedule.settle(SessionId(0));
        assert_eq!(schedule.admit(), None);
        schedule.settle(SessionId(1));
        assert_eq!(admit_all(&mut schedule), [3]);
        assert!(schedule.is_parked(0) && !schedule.is_parked(1));
    }

    #[test]
    fn done_closed_and_winding_down_are_not_begun() {
        let done = [SessionId(0), SessionId(3)];
        let mut schedule = Schedule::new(grid(1, 3, 0..3), vec![0], &[9], done);
        schedule.close_case(1);
        assert_eq!(admit_all(&mut schedule), [2, 5, 6, 8]);
        let mut schedule = Schedule::new(grid(1, 3, 0..3), vec![0], &[1], []);
        assert!(schedule.admit().is_some());
        schedule.wind_down();
        schedule.settle(SessionId(0));
        assert_eq!((schedule.admit(), schedule.in_flight()), (None, 0));
    }

    #[test]
    fn a_session_is_taken_out_of_its_turn_once() {
        let mut schedule = Schedule::new(grid(1, 3, 0..1), vec![0], &[1], []);
        assert_eq!(schedule.admit(), Some(SessionId(0)));
        assert!(!schedule.take(SessionId(0)), "it has begun");
        assert!(schedule.take(SessionId(1)), "the cap is for those in turn");
        assert!(!schedule.take(SessionId(1)));
        assert_eq!((schedule.admit(), schedule.in_flight()), (None, 2));
        schedule.settle(SessionId(0));
        schedule.settle(SessionId(1));
        assert_eq!(schedule.admit(), Some(SessionId(2)));
    }
}
