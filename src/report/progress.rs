use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{speed::Speed, text};
use crate::domain::Tally;

/// Between two drawings of a bar.
const FRAME: Duration = Duration::from_millis(200);
/// Between two plain lines.
const LINE: Duration = Duration::from_secs(5);
/// What "recent" is in the speed.
const RECENT: Duration = Duration::from_secs(15);

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A bar that is drawn over, on a terminal.
    Terminal,
    /// A line every five seconds.
    Plain,
    /// Not at all.
    Off,
}

/// How far a run is, on stderr.
pub struct Progress {
    face: Face,
    speed: Speed,
    began: Instant,
    drawn: Option<Instant>,
}

enum Face {
    Bar(ProgressBar),
    Lines(Box<dyn Write + Send>),
    Off,
}

impl Progress {
    /// Nothing is shown before the first [`Self::update`].
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self::on(match mode {
            Mode::Terminal => Face::Bar(bar()),
            Mode::Plain => Face::Lines(Box::new(io::stderr())),
            Mode::Off => Face::Off,
        })
    }

    fn on(face: Face) -> Self {
        Self {
            face,
            speed: Speed::over(RECENT),
            began: Instant::now(),
            drawn: None,
        }
    }

    /// Shows `tally` if the last drawing is long enough ago. `pass_rate` makes the text of the
    /// pass rate so far; it is asked only then.
    pub fn update(&mut self, tally: &Tally, pass_rate: impl FnOnce(&Tally) -> String) {
        let pause = match self.face {
            Face::Bar(_) => FRAME,
            Face::Lines(_) => LINE,
            Face::Off => return,
        };
        let now = Instant::now();
        if self.drawn.is_some_and(|at| now - at < pause) {
            return;
        }
        self.drawn = Some(now);
        self.draw(tally, &pass_rate(tally), now - self.began);
    }

    /// Ends it: the bar goes, for the report to take its place; lines get a last one.
    pub fn finish(mut self, tally: &Tally, pass_rate: impl FnOnce(&Tally) -> String) {
        match &self.face {
            Face::Bar(bar) => bar.finish_and_clear(),
            Face::Lines(_) => self.draw(tally, &pass_rate(tally), self.began.elapsed()),
            Face::Off => {}
        }
    }

    fn draw(&mut self, tally: &Tally, pass_rate: &str, since: Duration) {
        let done = tally.ledger.planned.saturating_sub(tally.ledger.not_run);
        self.speed.mark(since, done);
        let facts = facts(tally, pass_rate, &self.speed);
        match &mut self.face {
            Face::Bar(bar) => {
                // Sets the message without drawing, so that a frame is drawn once.
                let _ = bar.clone().with_message(facts.join(" · "));
                bar.update(|state| {
                    state.set_len(tally.ledger.planned);
                    state.set_pos(done);
                });
            }
            Face::Lines(out) => {
                let planned = text::count(tally.ledger.planned);
                let line = format!("{}/{planned} done, {}", text::count(done), facts.join(", "));
                // A run does not fail because nobody can watch it.
                let _ = writeln!(out, "{line}").and_then(|()| out.flush());
            }
            Face::Off => {}
        }
    }
}

fn bar() -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(5);
    let bar = ProgressBar::with_draw_target(Some(0), target);
    match ProgressStyle::with_template("{bar:20} {human_pos}/{human_len} · {wide_msg}") {
        Ok(style) => bar.with_style(style.progress_chars("━╸─")),
        Err(_) => bar, // the default look
    }
}

/// What there is to say, the most wanted first: a narrow terminal cuts the end off.
fn facts(tally: &Tally, pass_rate: &str, speed: &Speed) -> Vec<String> {
    let ledger = &tally.ledger;
    let mut facts = vec![match tally.to_grade {
        0 => format!("{} in flight", tally.in_flight),
        left => format!("{} to grade", text::count(left as u64)),
    }];
    if ledger.scored() > 0 {
        facts.push(format!("pass {pass_rate}"));
    }
    if ledger.errored > 0 {
        facts.push(format!("{} errored", text::count(ledger.errored)));
    }
    if tally.cost_usd > 0.0 {
        facts.push(text::usd(tally.cost_usd));
    }
    // With nothing in flight nothing is to come: the run is over, early or whole.
    let is_going_on = ledger.not_run > 0 && tally.in_flight > 0 && !tally.winding_down;
    if tally.winding_down {
        facts.push("winding down".to_owned());
    }
    if let Some(eta) = speed.eta(ledger.not_run).filter(|_| is_going_on) {
        facts.push(format!("ETA {}", text::span(eta)));
    }
    if let Some(speed) = speed.per_second() {
        facts.push(format!("{speed:.1}/s"));
    }
    if tally.restarts > 0 {
        facts.push(text::plural(tally.restarts, "restart"));
    }
    facts
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;
    use crate::domain::Ledger;

    fn tally() -> Tally {
        Tally {
            ledger: Ledger {
                planned: 1200,
                passed: 300,
                failed: 60,
                errored: 2,
                not_run: 838,
                ..Ledger::default()
            },
            in_flight: 16,
            cost_usd: 0.0412,
            restarts: 1,
            ..Tally::default()
        }
    }

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            sink.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_most_wanted_facts_come_first() {
        let mut speed = Speed::over(RECENT);
        speed.mark(Duration::ZERO, 0);
        speed.mark(Duration::from_secs(10), 362);
        let facts = facts(&tally(), "0.833 [0.791, 0.868]", &speed).join(" · ");
        insta::assert_snapshot!(facts, @"16 in flight · pass 0.833 [0.791, 0.868] · 2 errored · $0.0412 · ETA 24 s · 36.2/s · 1 restart");
    }

    #[test]
    fn nothing_is_said_of_what_is_not_known() {
        let tally = Tally {
            ledger: Ledger::planned(12),
            ..Tally::default()
        };
        let facts = facts(&tally, "n/a n=0", &Speed::over(RECENT));
        assert_eq!(facts, ["0 in flight"]);
    }

    #[test]
    fn what_is_still_to_be_graded_is_told_when_nothing_is_in_flight() {
        let tally = Tally {
            to_grade: 1840,
            ..Tally::default()
        };
        let facts = facts(&tally, "n/a n=0", &Speed::over(RECENT));
        assert_eq!(facts, ["1,840 to grade"]);
    }

    #[test]
    fn plain_lines_are_few_and_the_last_is_the_end() {
        let sink = Sink::default();
        let mut progress = Progress::on(Face::Lines(Box::new(sink.clone())));
        let mut asked = 0;
        for _ in 0..1000 {
            progress.update(&tally(), |_| {
                asked += 1;
                "0.833".to_owned()
            });
        }
        progress.finish(&tally(), |_| "0.833".to_owned());
        let written = sink
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let text = String::from_utf8(written).unwrap();
        assert_eq!((asked, text.lines().count()), (1, 2));
        assert!(
            text.starts_with("362/1,200 done, 16 in flight, pass 0.833, 2 errored, $0.0412"),
            "{text}"
        );
    }
}
