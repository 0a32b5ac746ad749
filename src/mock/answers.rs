//! Which script answers which task.

use std::{collections::HashMap, ops::Range, sync::Arc};

use sha2::{Digest, Sha256};

use crate::domain::{CaseId, Entry, provider_seed, rng_seed};

/// What is known of one case.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The case.
    pub case: CaseId,
    /// Its task, as a session sends it.
    pub task: String,
    /// The script of all seeds that have none of their own.
    pub every: Option<Arc<[Entry]>>,
    /// The scripts of one seed, by its index.
    pub of_one_seed: Vec<(u64, Arc<[Entry]>)>,
}

/// The scripts by what requests show: the task, and the session's number where that matters.
#[derive(Debug, Default)]
pub struct Answers {
    by_task: HashMap<String, Task>,
}

/// The scripts of one task.
#[derive(Debug)]
pub(super) struct Task {
    /// SHA-256 of the task.
    pub digest: [u8; 32],
    every: Option<Arc<[Entry]>>,
    by_number: HashMap<u32, Arc<[Entry]>>,
}

impl Answers {
    /// Sorts scripts by task. `run_seed` and `seeds` are those of the runs that will ask: a request
    /// shows the number of its session and not the seed, from which it is computed here. It is
    /// needed for scripts of one seed, and for cases that share a task but not their script.
    #[must_use]
    pub fn new(answers: Vec<Answer>, run_seed: u64, seeds: Range<u64>) -> Self {
        let mut grouped: HashMap<String, Vec<Answer>> = HashMap::new();
        for mut answer in answers {
            let task = std::mem::take(&mut answer.task);
            grouped.entry(task).or_default().push(answer);
        }
        let by_task = grouped
            .into_iter()
            .map(|(task, answers)| {
                let digest = Sha256::digest(&task).into();
                let (every, by_number) = scripts(&answers, run_seed, &seeds);
                let scripts = Task {
                    digest,
                    every,
                    by_number,
                };
                (task, scripts)
            })
            .collect();
        Self { by_task }
    }

    pub(super) fn find(&self, task: &str) -> Option<&Task> {
        self.by_task.get(task)
    }
}

impl Task {
    /// Reply number `turn` of the session with that number.
    pub fn entry(&self, number: Option<u32>, turn: u64) -> Option<&Entry> {
        let of_seed = number.and_then(|number| self.by_number.get(&number));
        let script = of_seed.or(self.every.as_ref())?;
        let place = usize::try_from(turn).unwrap_or(usize::MAX);
        script.get(place).or(script.last())
    }
}

type Scripts = (Option<Arc<[Entry]>>, HashMap<u32, Arc<[Entry]>>);

/// The scripts of cases that share one task, as far as possible without a number.
fn scripts(answers: &[Answer], run_seed: u64, seeds: &Range<u64>) -> Scripts {
    let number = |case: &CaseId, seed| provider_seed(rng_seed(run_seed, case, seed));
    let every = answers.first().and_then(|answer| answer.every.clone());
    let is_shared = answers.iter().all(|answer| answer.every == every);
    let mut by_number = HashMap::new();
    if !is_shared {
        for answer in answers {
            let Some(script) = &answer.every else {
                continue;
            };
            for seed in seeds.clone() {
                by_number.insert(number(&answer.case, seed), script.clone());
            }
        }
    }
    for answer in answers {
        for (seed, script) in &answer.of_one_seed {
            by_number.insert(number(&answer.case, *seed), script.clone());
        }
    }
    (every.filter(|_| is_shared), by_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(answers: &[&str]) -> Arc<[Entry]> {
        let entry = |text: &&str| Entry {
            answer: Some((*text).to_owned()),
            ..Entry::default()
        };
        answers.iter().map(entry).collect()
    }

    fn answer(case: &str, task: &str, every: &[&str]) -> Answer {
        Answer {
            case: case.parse().unwrap(),
            task: task.to_owned(),
            every: (!every.is_empty()).then(|| script(every)),
            of_one_seed: Vec::new(),
        }
    }

    fn number(case: &str, seed: u64) -> Option<u32> {
        Some(provider_seed(rng_seed(7, &case.parse().unwrap(), seed)))
    }

    fn told(answers: &Answers, task: &str, number: Option<u32>, turn: u64) -> Option<String> {
        answers.find(task)?.entry(number, turn)?.answer.clone()
    }

    #[test]
    fn scripts_are_found_by_task_number_and_turn() {
        let mut one_seed = answer("b", "B", &["every"]);
        one_seed.of_one_seed.push((3, script(&["third"])));
        let mut only = answer("c", "C", &[]);
        only.of_one_seed.push((0, script(&["only"])));
        let answers = vec![answer("a", "A", &["1", "2"]), one_seed, only];
        let answers = Answers::new(answers, 7, 0..4);
        let table = [
            ("A", None, 0, Some("1")),
            ("A", Some(5), 1, Some("2")),
            ("A", None, 2, Some("2")),
            ("A", None, u64::MAX, Some("2")),
            ("A ", None, 0, None),
            ("B", None, 0, Some("every")),
            ("B", number("b", 2), 0, Some("every")),
            ("B", number("b", 3), 9, Some("third")),
            ("B", number("a", 3), 0, Some("every")),
            ("C", number("c", 0), 0, Some("only")),
            ("C", number("c", 1), 0, None),
            ("C", None, 0, None),
        ];
        for (task, number, turn, want) in table {
            let got = told(&answers, task, number, turn);
            assert_eq!(got.as_deref(), want, "{task} {number:?} {turn}");
        }
    }

    #[test]
    fn cases_that_share_a_task_are_told_apart_by_number() {
        let mut b = answer("b", "T", &["of b"]);
        b.of_one_seed.push((1, script(&["of b, seed 1"])));
        let answers = Answers::new(vec![answer("a", "T", &["of a"]), b], 7, 0..4);
        let table = [
            (number("a", 0), Some("of a")),
            (number("a", 3), Some("of a")),
            (number("b", 0), Some("of b")),
            (number("b", 1), Some("of b, seed 1")),
            (number("a", 4), None),
            (None, None),
        ];
        for (number, want) in table {
            assert_eq!(told(&answers, "T", number, 0).as_deref(), want);
        }
        let same = [answer("a", "T", &["1"]), answer("b", "T", &["1"])];
        let answers = Answers::new(same.into(), 7, 0..4);
        assert_eq!(told(&answers, "T", None, 0).as_deref(), Some("1"));
    }
}
