//! Strict JSON Lines, as people write them: every problem with its place, none lost.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use serde::de::DeserializeOwned;

use super::input;
use crate::error::{Problem, nearest};

/// The longest line that is read, in bytes.
pub const MAX_LINE: usize = 16 << 20;

/// Whether problems may quote what the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrecy {
    /// They may.
    Public,
    /// They name places and fields only: the file is sealed.
    Sealed,
}

/// What a file holds: values with the number of their line, from 1, and what is wrong.
#[derive(Debug)]
pub struct Lines<T> {
    /// The lines that could be read.
    pub values: Vec<(usize, T)>,
    /// The lines that could not.
    pub problems: Vec<Problem>,
}

/// Reads a file of one JSON object a line. Blank lines, CRLF and a leading byte order mark are
/// fine; anything else that is not a `T` is a problem of its line, and reading goes on; only after a line
/// that is too long it ends.
pub fn read<T: DeserializeOwned>(file: &Path, secrecy: Secrecy) -> Lines<T> {
    let mut lines = Lines {
        values: Vec::new(),
        problems: Vec::new(),
    };
    if let Err(e) = read_into(file, secrecy, &mut lines) {
        let problem = Problem::file(file, format!("cannot be read: {e}"));
        lines.problems.push(match e.kind() {
            io::ErrorKind::NotFound => problem.hint("check the path"),
            io::ErrorKind::IsADirectory => problem.hint("name a file of JSON lines"),
            _ => problem,
        });
    }
    lines
}

fn read_into<T: DeserializeOwned>(
    file: &Path,
    secrecy: Secrecy,
    lines: &mut Lines<T>,
) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 16, input::open(file)?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = reader
            .by_ref()
            .take(MAX_LINE as u64 + 1)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if read > MAX_LINE {
            let message = format!("the line is longer than {} MiB", MAX_LINE >> 20);
            let problem = Problem::at(file, number, 0, message);
            lines
                .problems
                .push(problem.hint("is it a file of one JSON object a line?"));
            // Such a line may have no end.
            return Ok(());
        }
        let is_torn = !line.ends_with(b"\n");
        match parse_line(&line, number == 1, secrecy) {
            Ok(Some(value)) => lines.values.push((number, value)),
            Ok(None) => {}
            Err(fault) => {
                let mut problem = Problem::at(file, number, fault.column, fault.message);
                problem.hint = fault.hint;
                if is_torn && fault.is_eof {
                    problem = problem.hint("the last line is cut off: was the file written whole?");
                }
                lines.problems.push(problem);
            }
        }
    }
    Ok(())
}

/// What is wrong with one JSON text.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// In characters, from 1; 0 when unknown.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// Whether the text ended too early.
    pub is_eof: bool,
}

fn parse_line<T: DeserializeOwned>(
    line: &[u8],
    is_first: bool,
    secrecy: Secrecy,
) -> Result<Option<T>, Fault> {
    let text = std::str::from_utf8(line).map_err(|e| {
        let column = String::from_utf8_lossy(&line[..e.valid_up_to()])
            .chars()
            .count()
            + 1;
        let message = "not UTF-8".to_owned();
        Fault {
            column,
            message,
            hint: Some("save the file as UTF-8".to_owned()),
            is_eof: false,
        }
    })?;
    let text = if is_first {
        text.strip_prefix('\u{feff}').unwrap_or(text)
    } else {
        text
    };
    let value = text.trim_start();
    if value.is_empty() {
        return Ok(None);
    }
    // Serde would read a list as the fields of a struct in order.
    if !value.starts_with('{') {
        return Err(Fault {
            column: text[..text.len() - value.len()].chars().count() + 1,
            message: "not a JSON object".to_owned(),
            hint: Some(match value.starts_with('[') {
                true => "write each object on a line of its own, without a list around".to_owned(),
                false => "write one object a line".to_owned(),
            }),
            is_eof: false,
        });
    }
    parse(text, secrecy).map(Some)
}

/// Parses one JSON text strictly, with the place and the nearest known name of what is wrong.
///
/// # Errors
/// What is wrong, and where.
pub fn parse<T: DeserializeOwned>(text: &str, secrecy: Secrecy) -> Result<T, Fault> {
    let mut json = serde_json::Deserializer::from_str(text);
    let parsed: Result<T, _> = serde_path_to_error::deserialize(&mut json);
    let (error, path) = match parsed {
        Ok(value) => match json.end() {
            Ok(()) => return Ok(value),
            Err(error) => (error, String::new()),
        },
        Err(error) => {
            let path = error.path().to_string();
            (error.into_inner(), path)
        }
    };
    Err(explain(text, &error, &path, secrecy))
}

fn explain(text: &str, error: &serde_json::Error, path: &str, secrecy: Secrecy) -> Fault {
    let full = error.to_string();
    let said = full.split(" at line ").next().unwrap_or(&full);
    let (message, hint) = describe(said, secrecy);
    let at_field = said.starts_with("unknown field") || said.starts_with("duplicate field");
    let path = match path.rsplit_once('.') {
        Some((parent, _)) if at_field => parent,
        None if at_field => "",
        _ => path,
    };
    let message = match path {
        "" | "." | "?" => message,
        path => format!("{path}: {message}"),
    };
    let column = quoted(said)
        .filter(|_| at_field)
        .and_then(|name| field_offset(text, name))
        .unwrap_or_else(|| byte_offset(text, error.line(), error.column()));
    let before = text.get(..column).unwrap_or(text);
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    Fault {
        column,
        message,
        hint,
        is_eof: error.is_eof(),
    }
}

/// Turns serde's words into ours: values are dropped where the file is sealed, and the nearest
/// known name is offered. Works on serde's stable texts, ``unknown field `x`, expected one of …``.
pub fn describe(said: &str, secrecy: Secrecy) -> (String, Option<String>) {
    let hint = said
        .starts_with("unknown ")
        .then(|| {
            let known: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
            let (word, known) = known.split_first()?;
            nearest(word, known.iter().copied()).map(|near| format!("did you mean `{near}`?"))
        })
        .flatten();
    let quotes_a_value = said.starts_with("invalid ");
    let message = match (secrecy, quotes_a_value, said.rfind(", expected ")) {
        (Secrecy::Sealed, true, Some(at)) => format!("wrong type or value{}", &said[at..]),
        (Secrecy::Sealed, true, None) => "wrong type or value".to_owned(),
        _ => said.to_owned(),
    };
    // Rust's names of types mean nothing to people.
    let message = ["u32", "u64"].iter().fold(message, |message, name| {
        message.replace(
            &format!("expected {name}"),
            "expected a whole number, 0 or more",
        )
    });
    (message, hint)
}

fn quoted(said: &str) -> Option<&str> {
    said.split('`').nth(1)
}

/// The byte offset of the key `"name":` in a text.
fn field_offset(text: &str, name: &str) -> Option<usize> {
    let key = format!("\"{name}\"");
    text.match_indices(&key)
        .find(|(at, key)| text[at + key.len()..].trim_start().starts_with(':'))
        .map(|(at, _)| at)
}

/// serde_json counts columns in bytes, and one too far: it has read the byte that it stops at.
fn byte_offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::domain::Case;

    fn lines_of(bytes: &[u8]) -> (Vec<usize>, Vec<String>) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let lines = read::<Case>(file.path(), Secrecy::Public);
        let name = file.path().display().to_string();
        (
            lines.values.iter().map(|(n, _)| *n).collect(),
            lines
                .problems
                .iter()
                .map(|p| p.to_string().replace(&name, "F"))
                .collect(),
        )
    }

    #[test]
    fn each_line_stands_alone() {
        let crlf = b"{\"id\":\"a\",\"task\":\"t\"}\r\n\r\n{\"id\":\"a\",\"task\":\"t\"}\n";
        let bom = b"\xef\xbb\xbf{\"id\":\"a\",\"task\":\"t\"}";
        let table: [(&[u8], &[usize], &[&str]); 9] = [
            (b"", &[], &[]),
            (crlf, &[1, 3], &[]),
            (bom, &[1], &[]),
            (
                b"{\"id\":\"a\",\"task\":\"t\",\"max_step\":1}\n{\"id\":\"a\"",
                &[],
                &[
                    "F:1:22: unknown field `max_step`",
                    "F:2:9: EOF while parsing an object; the last line is cut off",
                ],
            ),
            (
                b"{\"id\":\"..\",\"task\":\"t\"}\n",
                &[],
                &["F:1:10: id: \"..\" is not a valid case id"],
            ),
            (
                b"{\"id\":\"a\",\"task\":3}\n",
                &[],
                &["F:1:18: task: invalid type: integer `3`, expected a string"],
            ),
            (
                b"{\"id\":\"a\",\"task\":\"\xff\"}\n",
                &[],
                &["F:1:19: not UTF-8; save the file as UTF-8"],
            ),
            (
                b"{\"id\":\"a\",\"task\":\"t\"} x\n",
                &[],
                &["F:1:23: trailing characters"],
            ),
            (b"{\"id\":\"a\"}\n", &[], &["F:1:10: missing field `task`"]),
        ];
        for (bytes, values, problems) in table {
            let (got_values, got_problems) = lines_of(bytes);
            assert_eq!(got_values, values, "{got_problems:?}");
            assert_eq!(got_problems.len(), problems.len(), "{got_problems:?}");
            for (got, want) in got_problems.iter().zip(problems) {
                assert!(got.starts_with(want), "{got:?} should begin with {want:?}");
            }
        }
    }

    #[test]
    fn a_long_line_ends_the_reading() {
        let mut bytes = vec![b' '; MAX_LINE + 10];
        bytes.extend(b"\n{\"id\":\"a\",\"task\":\"t\"}\n");
        let (values, problems) = lines_of(&bytes);
        assert_eq!(
            (values, problems),
            (
                vec![],
                vec![
                    "F:1: the line is longer than 16 MiB; is it a file of one JSON object a line?"
                        .to_owned()
                ]
            )
        );
    }

    #[test]
    fn missing_and_directory() {
        let dir = tempfile::tempdir().unwrap();
        let missing = read::<Case>(&dir.path().join("no"), Secrecy::Public);
        assert!(
            missing.problems[0].to_string().contains("cannot be read"),
            "{missing:?}"
        );
        let folder = read::<Case>(dir.path(), Secrecy::Public);
        assert!(
            folder.problems[0].to_string().contains("cannot be read"),
            "{folder:?}"
        );
    }

    #[test]
    fn sealed_problems_quote_nothing() {
        let fault = parse::<Case>(r#"{"id":"a","task":42}"#, Secrecy::Sealed).unwrap_err();
        assert_eq!(
            fault.message,
            "task: wrong type or value, expected a string"
        );
        let fault = parse::<Case>(r#"{"id":"a","taks":"secret"}"#, Secrecy::Sealed).unwrap_err();
        assert_eq!(fault.hint.as_deref(), Some("did you mean `task`?"));
        assert!(!format!("{fault:?}").contains("secret"));
    }
}
