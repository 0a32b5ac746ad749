//! Looks through settings and tells what is wrong with them, where it stands.

use super::{
    kinds::{Misfit, check_names, did_you_mean},
    settings::{Name, Origin, Settings, show},
};
use crate::error::Problem;

/// Settings that are looked through, and what is wrong with them.
pub(super) struct Audit<'a> {
    pub settings: &'a Settings,
    pub problems: &'a mut Vec<Problem>,
}

impl Audit<'_> {
    /// Tells what is wrong with the value at `path`.
    pub fn tell(&mut self, path: &[&str], misfit: impl Into<Misfit>) {
        let problem = self.settings.problem(path, misfit.into());
        self.problems.push(problem);
    }

    /// Tells what is wrong with a table.
    pub fn tell_table(&mut self, at: &Name, message: String, hint: impl Into<String>) {
        self.problems.push(at.origin.problem(message).hint(hint));
    }

    /// Tells what is wrong with the value at `path`: at its table `at` where nobody has set it.
    pub fn tell_within(&mut self, at: &Name, path: &[&str], misfit: Misfit) {
        let path: Vec<String> = path.iter().map(|part| (*part).to_owned()).collect();
        let origin = self.settings.get(&path).map(|setting| &setting.origin);
        let origin = origin.filter(|origin| **origin != Origin::Default);
        self.problems
            .push(origin.unwrap_or(&at.origin).misfit(&path, misfit));
    }

    /// Tells which of these names are not known.
    pub fn names(&mut self, what: &str, path: &[&str], names: &[String], known: &[&str]) {
        for misfit in check_names(what, names, known) {
            self.tell(path, misfit);
        }
    }

    /// Whether the model that a key names is one of `[models]`; tells if it is not.
    pub fn model(&mut self, path: &[&str], model: &str) -> bool {
        let names: Vec<&str> = self.settings.names("models").collect();
        let is_known = names.contains(&model);
        if !is_known {
            let misfit = Misfit {
                message: format!("unknown model `{model}`; known are {}", names.join(", ")),
                hint: did_you_mean(model, &names),
            };
            self.tell(path, misfit);
        }
        is_known
    }

    /// Tells at the first of some keys of a table that is set which of those that it `needs` are
    /// missing beside it.
    pub fn whole(&mut self, table: &[&str], keys: &[&str], needs: &[&str]) {
        let settings = self.settings;
        let is_missing = |key: &str| settings.is_missing(&[table, &[key]].concat());
        let Some(first) = keys.iter().find(|key| !is_missing(key)) else {
            return;
        };
        let path: Vec<String> = table.iter().map(|part| (*part).to_owned()).collect();
        for key in needs.iter().filter(|key| is_missing(key)) {
            let misfit = Misfit {
                message: format!("there is no {key} beside it"),
                hint: Some(format!("add {}.{key}", show(&path))),
            };
            self.tell(&[table, &[*first]].concat(), misfit);
        }
    }
}
