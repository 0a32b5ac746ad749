//! How an error is told on stderr: what is wrong, where, why, what to do.

use std::error::Error as _;

use super::{Style, text::visible};
use crate::error::Error;

/// The error with its problems, causes and hints, ending in a line break:
/// ```text
/// error: 2 problems in the input
///   eval/cases.jsonl:3:7: unknown field `tsk`; did you mean `task`?
///   eval/cases.jsonl:9: the id arith-001 is taken
/// caused by: …
/// hint: …
/// ```
#[must_use]
pub fn render(error: &Error, style: Style) -> String {
    let mut out = format!("{} {}\n", style.red("error:"), visible(&error.message));
    let mut hints = Vec::new();
    of(error, &mut hints, &mut out);
    let mut said = error.message.clone();
    let mut cause = error.source();
    while let Some(source) = cause {
        let message = source.to_string();
        // Many errors repeat their source in their own words.
        if !said.contains(&message) {
            out.push_str(&format!(
                "{} {}\n",
                style.bold("caused by:"),
                visible(&message)
            ));
        }
        said = message;
        if let Some(own) = source.downcast_ref::<Error>() {
            of(own, &mut hints, &mut out);
        }
        cause = source.source();
    }
    for hint in hints {
        out.push_str(&format!("{} {}\n", style.green("hint:"), visible(hint)));
    }
    out
}

fn of<'a>(error: &'a Error, hints: &mut Vec<&'a str>, out: &mut String) {
    for problem in &error.problems {
        out.push_str(&format!("  {}\n", visible(&problem.to_string())));
    }
    hints.extend(error.hint.as_deref());
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::error::Problem;

    #[test]
    fn problems_stand_together() {
        let file = Path::new("eval/cases.jsonl");
        let error = Error::problems(vec![
            Problem::at(file, 3, 7, "unknown field `tsk`").hint("did you mean `task`?"),
            Problem::at(file, 9, 0, "the id arith-001 is taken"),
            Problem::file(
                Path::new("configs/sealed/cases.jsonl"),
                "no line for web-003",
            ),
        ])
        .hint("nothing was run; `farm check` shows the same");
        insta::assert_snapshot!(render(&error, Style::default()), @r#"
        error: 3 problems in the input
          eval/cases.jsonl:3:7: unknown field `tsk`; did you mean `task`?
          eval/cases.jsonl:9: the id arith-001 is taken
          configs/sealed/cases.jsonl: no line for web-003
        hint: nothing was run; `farm check` shows the same
        "#);
    }

    #[test]
    fn causes_are_told_once() {
        let io = std::io::Error::new(std::io::ErrorKind::NotFound, "No such file");
        let below = Error::input("cannot read configs/farm.toml: No such file")
            .hint("`farm init` writes one")
            .caused_by(io);
        let error = Error::internal("the run could not begin").caused_by(below);
        insta::assert_snapshot!(render(&error, Style::default()), @r#"
        error: the run could not begin
        caused by: cannot read configs/farm.toml: No such file
        hint: `farm init` writes one
        "#);
    }

    #[test]
    fn colour_is_for_the_words_in_front() {
        let error = Error::input("bad \x1b[2J").hint("mend it");
        insta::assert_snapshot!(render(&error, Style { colour: true }).escape_debug(), @r#"\u{1b}[31merror:\u{1b}[0m bad \\u{1b}[2J\n\u{1b}[32mhint:\u{1b}[0m mend it\n"#);
    }
}
