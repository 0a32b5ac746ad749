//! Which session begins next. Pure.

use std::ops::Range;

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
    /// By place in the plan.
    sessions: Vec<Place>,
    closed_cases: Vec<bool>,
    winding_down: bool,
}

/// Where a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is still to begin.
    Waiting,
    /// It holds a credit.
    InFlight,
    /// It is over.
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
        let mut schedule = Self {
            endpoints: caps.iter().map(endpoint).collect(),
            endpoint_of,
            sessions: vec![Place::Waiting; usize::try_from(grid.planned()).unwrap_or(usize::MAX)],
            closed_cases: vec![false; grid.cases.len()],
            winding_down: false,
            span,
            grid,
        };
        for id in done {
            *schedule.place_mut(id) = Place::Done;
        }
        schedule
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
                let wanted = self.endpoint_of[cell.variant] == at && !self.closed_cases[cell.case];
                if wanted && self.take(id) {
                    return Some(id);
                }
            }
        }
        None
    }

    /// Where a session is.
    #[must_use]
    pub fn place(&self, id: SessionId) -> Place {
        self.sessions[self.index(id)]
    }

    /// Takes a session out of its turn, whatever the caps; false if it is not waiting.
    pub fn take(&mut self, id: SessionId) -> bool {
        if self.place(id) != Place::Waiting {
            return false;
        }
        *self.place_mut(id) = Place::InFlight;
        self.endpoint(id).in_flight += 1;
        true
    }

    /// A session is over: its credit is free.
    pub fn settle(&mut self, id: SessionId) {
        *self.place_mut(id) = Place::Done;
        let endpoint = self.endpoint(id);
        endpoint.in_flight = endpoint.in_flight.saturating_sub(1);
    }

    /// No further session of this case begins.
    pub fn close_case(&mut self, case: usize) {
        self.closed_cases[case] = true;
    }

    /// Nothing new begins.
    pub fn wind_down(&mut self) {
        self.winding_down = true;
    }

    /// Sessions in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.endpoints.iter().map(|e| e.in_flight).sum()
    }

    fn index(&self, id: SessionId) -> usize {
        usize::try_from(id.0 - self.span.start).unwrap_or(usize::MAX)
    }

    fn place_mut(&mut self, id: SessionId) -> &mut Place {
        let at = self.index(id);
        &mut self.sessions[at]
    }

    fn endpoint(&mut self, id: SessionId) -> &mut Endpoint {
        &mut self.endpoints[self.endpoint_of[self.grid.cell(id).variant]]
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
