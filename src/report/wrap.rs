//! Text broken between words.

/// Columns of a label and of the blank after it.
pub(super) const LABEL: usize = 9;

/// A sentence of farm in lines of at most `width`; a command in backticks is one word.
pub(super) fn prose(text: &str, width: usize) -> Vec<String> {
    let mut in_command = false;
    let words = text.split(|c: char| {
        in_command ^= c == '`';
        c.is_whitespace() && !in_command
    });
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_owned).collect();
    flow(&words, " ", width)
}

/// What others wrote in lines of at most `width`; backticks mean nothing there.
pub(super) fn words(text: &str, width: usize) -> Vec<String> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    flow(&words, " ", width)
}

/// Items in lines of at most `width`, with `between` between them; an item is never broken.
pub(super) fn flow(items: &[String], between: &str, width: usize) -> Vec<String> {
    let length = |text: &str| text.chars().count();
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match lines.last_mut() {
            Some(line) if length(line) + length(between) + length(item) <= width => {
                line.push_str(between);
                line.push_str(item);
            }
            _ => lines.push(item.clone()),
        }
    }
    lines
}

/// Lines below each other with a label before the first, [`LABEL`] wide once `paint` has coloured
/// it. Ends in a line break; nothing without lines.
pub(super) fn field(
    indent: usize,
    label: &str,
    paint: impl Fn(&str) -> String,
    lines: &[String],
) -> String {
    let rows = lines.iter().enumerate().map(|(n, line)| {
        let label = match n {
            0 => paint(&format!("{label:<LABEL$}")),
            _ => " ".repeat(LABEL),
        };
        let row = format!("{:indent$}{label}{line}", "");
        row.trim_end().to_owned() + "\n"
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_not_broken() {
        let text = "not run: `farm report latest` shows it";
        let whole = ["not run:", "`farm report latest`", "shows it"];
        assert_eq!(prose(text, 20), whole);
        let blanks = ["see", "`farm report 'a  b'`"];
        assert_eq!(prose("see  `farm report 'a  b'`", 5), blanks);
        let broken = ["not run: `farm", "report latest` shows", "it"];
        assert_eq!(words(text, 20), broken);
    }

    #[test]
    fn a_label_stands_before_the_first_line() {
        let lines = ["a", "", "b"].map(str::to_owned);
        let plain = field(2, "task", str::to_owned, &lines);
        assert_eq!(plain, "  task     a\n\n           b\n");
        assert_eq!(field(2, "task", str::to_owned, &[]), "");
    }
}
