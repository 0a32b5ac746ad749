//! What lines of Markdown are: headings, code and the rest, as far as it matters where a block is.

/// A line without its indentation, unless that makes it code.
pub(super) fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3 && !text.starts_with('\t')).then_some(text)
}

/// The level of a heading that begins with `#`, from 1 to 6.
pub(super) fn heading(line: &str) -> Option<usize> {
    let hashes = line.bytes().take_while(|b| *b == b'#').count();
    let rest = line.get(hashes..)?;
    let ends = rest.is_empty() || rest.starts_with([' ', '\t']);
    ((1..=6).contains(&hashes) && ends).then_some(hashes)
}

/// The headings that lines are under.
pub(super) struct Headings {
    /// The level of the last one; 0 before the first.
    pub level: usize,
    /// Whether the line before is text that an underline makes a heading.
    is_text: bool,
    /// Lines of the front matter that are still to come: its last looks like an underline.
    front: usize,
}

impl Headings {
    pub fn of(text: &str) -> Self {
        let mut lines = text.trim_start_matches('\u{feff}').lines();
        let begins = lines.next().is_some_and(|line| line.trim_end() == "---");
        let ends = lines.position(|line| line.trim_end() == "---");
        Self {
            level: 0,
            is_text: false,
            front: ends.filter(|_| begins).map_or(0, |end| end + 2),
        }
    }

    /// Takes the next line; `is_code` of one in fenced code.
    pub fn take(&mut self, line: &str, is_code: bool) {
        let was_text = std::mem::take(&mut self.is_text);
        if self.front > 0 {
            self.front -= 1;
            return;
        }
        if is_code {
            return;
        }
        // What is indented goes on with a paragraph, and does not begin one.
        let Some(line) = unindented(line) else {
            self.is_text = was_text;
            return;
        };
        if let Some(level) = heading(line) {
            self.level = level;
        } else if let Some(level) = underline(line).filter(|_| was_text) {
            self.level = level;
        } else {
            self.is_text = is_text(line);
        }
    }
}

/// The level of the heading that a line makes of the one before.
fn underline(line: &str) -> Option<usize> {
    let line = line.trim_end();
    match line.chars().next()? {
        '=' if line.bytes().all(|b| b == b'=') => Some(1),
        '-' if line.bytes().all(|b| b == b'-') => Some(2),
        _ => None,
    }
}

/// Whether a line is one of a paragraph: no item, quote, rule, markup or row of a table.
fn is_text(line: &str) -> bool {
    let is_rule = line.starts_with(['-', '*', '_']) && line.chars().all(|c| "-*_ \t".contains(c));
    let is_other = line.starts_with(['>', '<', '|']);
    !line.trim().is_empty() && !is_rule && !is_other && bullet(line).is_none()
}

/// The length of what makes a line an item of a list: `- `, `* `, `+ `, `1. ` or `1) `.
fn bullet(line: &str) -> Option<usize> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let mark = line.get(digits..)?;
    let is_mark = match digits {
        0 => mark.starts_with(['-', '*', '+']),
        1..=9 => mark.starts_with(['.', ')']),
        _ => false,
    };
    let after = mark.get(1..).filter(|_| is_mark)?;
    let blanks = after.bytes().take_while(|b| *b == b' ').count();
    match (after.is_empty(), blanks) {
        (true, _) => Some(digits + 1),
        (false, 0) => None,
        // More blanks begin indented code.
        (false, 5..) => Some(digits + 2),
        (false, n) => Some(digits + 1 + n),
    }
}

/// The fenced code that lines are in.
#[derive(Default)]
pub(super) struct Fence {
    open: Option<Open>,
}

#[derive(Clone, Copy)]
struct Open {
    /// The mark that it began with, and how many of them.
    mark: char,
    marks: usize,
    /// Where the text of its item begins; 0 outside of lists.
    item: usize,
}

impl Fence {
    /// Takes the next line: whether it belongs to fenced code, its fences included.
    pub fn holds(&mut self, line: &str) -> bool {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if let Some(open) = self.open {
            // An item ends before a line that is less indented, and its code with it.
            if indent >= open.item || line.trim().is_empty() {
                let inside = line.get(open.item..).unwrap_or_default();
                if fence(inside).is_some_and(|(mark, marks, rest)| {
                    mark == open.mark && marks >= open.marks && rest.trim().is_empty()
                }) {
                    self.open = None;
                }
                return true;
            }
            self.open = None;
        }
        let item = items(line);
        let inside = line.get(item..).unwrap_or_default();
        self.open = fence(inside)
            .filter(|(mark, _, rest)| !(*mark == '`' && rest.contains('`')))
            .map(|(mark, marks, _)| Open { mark, marks, item });
        self.open.is_some()
    }
}

/// Where the text of the innermost item begins that begins on this line; 0 if none does.
fn items(line: &str) -> usize {
    let mut at = 0;
    while let Some(text) = line.get(at..).and_then(unindented)
        && let Some(length) = bullet(text)
    {
        at = line.len() - text.len() + length;
    }
    at
}

/// The mark of a fence, how many of them, and what is behind them.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let text = unindented(line)?;
    let mark = text.chars().next().filter(|c| *c == '`' || *c == '~')?;
    let marks = text.chars().take_while(|c| *c == mark).count();
    Some((mark, marks, text.get(marks..)?)).filter(|_| marks >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_levels() {
        for (text, want) in [
            ("", 0),
            ("# A\n## B\ntext\n", 2),
            ("   ### A\n    # code\n", 3),
            ("A\n===\n", 1),
            ("A\nand more\n  ---  \n", 2),
            // Rules, and what is no paragraph.
            ("# A\n\ntext\n\n---\n", 1),
            ("# A\n---\n", 1),
            ("# A\n- item\n---\n", 1),
            ("# A\n> quote\n---\n", 1),
            ("# A\n<!-- x -->\n---\n", 1),
            ("# A\n***\n---\n", 1),
            ("# A\n```\nx\n```\n---\n", 1),
            ("# A\n=\n", 1),
            ("# A\ntext\n- - -\n", 1),
            // Front matter.
            ("---\ntitle: x\n---\ntext\n", 0),
            ("\u{feff}---\r\n# no\r\n---\r\n# A\r\n", 1),
            ("---\ntext\n\n# A\n", 1),
        ] {
            let (mut headings, mut fence) = (Headings::of(text), Fence::default());
            for line in text.lines() {
                headings.take(line, fence.holds(line));
            }
            assert_eq!(headings.level, want, "{text}");
        }
    }

    #[test]
    fn code_is_fenced() {
        for (text, want) in [
            ("```\na\n```\nb", "yyyn"),
            ("````\n```\n~~~~\n`````\nb", "yyyyn"),
            ("~~~ `x`\na\n~~~ b\n~~~", "yyyy"),
            ("``` `x`\na", "nn"),
            ("    ```\na", "nn"),
            ("   ```\na\n    ```\n ```\nb", "yyyyn"),
            // In items of lists, with or without an end.
            ("- ```\n  a\n\n  ```\nb", "yyyyn"),
            ("10. ```\n    a\n    ```\nb", "yyyn"),
            ("- 1. ```\n     a\n     ```\nb", "yyyn"),
            ("- ```\n  a\nb", "yyn"),
            ("-```\na", "nn"),
            ("-     ```\n  a", "nn"),
        ] {
            let mut fence = Fence::default();
            let held = text.lines().map(|l| if fence.holds(l) { 'y' } else { 'n' });
            assert_eq!(held.collect::<String>(), want, "{text}");
        }
    }
}
