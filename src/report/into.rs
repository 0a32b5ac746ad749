//! A report inside a file of others: what stands between two markers of a README is replaced, and
//! every other byte stays.

mod lines;

use std::fmt::{self, Write as _};

use lines::{Fence, Headings, heading, unindented};

/// Why a block cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoBlock {
    /// There is none of this name, or none at all.
    Missing(Option<String>),
    /// There are several, with these names: which one is meant?
    Several(Vec<String>),
    /// There are two of one name, the second at this line.
    Twice(usize),
    /// The one that begins at this line does not end.
    Open(usize),
    /// In the one that begins at the first line, another begins at the second: what is between
    /// may be anything.
    Within(usize, usize),
}

impl std::error::Error for NoBlock {}

impl fmt::Display for NoBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(None) => write!(f, "no block of farm's"),
            Self::Missing(Some(name)) => write!(f, "no block {name}"),
            Self::Several(names) => write!(f, "several blocks: {}", names.join(", ")),
            Self::Twice(line) => write!(f, "line {line}: a second block of this name"),
            Self::Open(line) => write!(f, "line {line}: the block that begins here has no end"),
            Self::Within(outer, line) => write!(
                f,
                "line {line}: a block begins inside the one that begins at line {outer}"
            ),
        }
    }
}

impl NoBlock {
    /// What to do.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Missing(name) => {
                let name = name.as_deref().map(|n| format!(" {n}")).unwrap_or_default();
                format!(
                    "add these two lines where it is to stand: <!-- farm:begin{name} --> and \
                     <!-- farm:end -->"
                )
            }
            Self::Several(_) => "say which one with --block NAME".to_owned(),
            Self::Twice(_) => "give it another name".to_owned(),
            Self::Open(_) => "add the line <!-- farm:end --> where it ends".to_owned(),
            Self::Within(outer, _) => {
                format!("add the line <!-- farm:end --> where the block of line {outer} ends")
            }
        }
    }
}

/// Where a block of a text is.
struct Block<'a> {
    /// Empty if it has none.
    name: &'a str,
    /// The number of its first line, from 1.
    line: usize,
    /// The level of the heading before it; 0 if there is none.
    level: usize,
    /// What is between the markers, as bytes of the text.
    from: usize,
    to: usize,
    /// How its lines end.
    line_end: &'a str,
}

/// `text` with `markdown` in the block between a line `<!-- farm:begin -->` and the next
/// `<!-- farm:end -->`. With a name (`<!-- farm:begin NAME -->`) a file may have several; without
/// `name`, the only block is meant. Headings of `markdown` go below the heading before the block,
/// its lines end as the file's do there. Markers in code, fenced or
/// indented, are text.
///
/// # Errors
/// When there is no such block, not one alone, or one whose end is not sure.
pub fn replace(text: &str, name: Option<&str>, markdown: &str) -> Result<String, NoBlock> {
    let mut blocks = blocks(text)?;
    if let Some(name) = name {
        blocks.retain(|b| b.name == name);
    }
    let block = match blocks.as_slice() {
        [] => return Err(NoBlock::Missing(name.map(str::to_owned))),
        [block] => block,
        [_, second, ..] if name.is_some() => return Err(NoBlock::Twice(second.line)),
        several => {
            let names = several.iter().map(|b| match b.name {
                "" => "one without a name".to_owned(),
                name => name.to_owned(),
            });
            return Err(NoBlock::Several(names.collect()));
        }
    };
    let mut out = String::with_capacity(text.len() + markdown.len());
    out.push_str(text.get(..block.from).unwrap_or_default());
    out.push_str(block.line_end);
    for line in nested(markdown, block.level).lines() {
        let _ = write!(out, "{line}{}", block.line_end);
    }
    out.push_str(block.line_end);
    out.push_str(text.get(block.to..).unwrap_or_default());
    Ok(out)
}

fn blocks(text: &str) -> Result<Vec<Block<'_>>, NoBlock> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let (mut at, mut open) = (0, false);
    let mut fence = Fence::default();
    let mut headings = Headings::of(text);
    for (i, whole) in text.split_inclusive('\n').enumerate() {
        let line = bare(i, whole);
        let is_code = fence.holds(line);
        let ends = marker(line, "end").filter(|_| !is_code);
        let begins = marker(line, "begin").filter(|_| !is_code);
        match blocks.last_mut() {
            Some(block) if open => {
                if begins.is_some() {
                    return Err(NoBlock::Within(block.line, i + 1));
                }
                match ends {
                    Some(name) if name.is_empty() || name == block.name => {
                        block.to = at;
                        open = false;
                    }
                    Some(_) => return Err(NoBlock::Open(block.line)),
                    None => {}
                }
            }
            _ => {
                headings.take(line, is_code);
                if let Some(name) = begins {
                    open = true;
                    blocks.push(Block {
                        name,
                        line: i + 1,
                        level: headings.level,
                        from: at + whole.len(),
                        to: text.len(),
                        line_end: if whole.ends_with("\r\n") {
                            "\r\n"
                        } else {
                            "\n"
                        },
                    });
                }
            }
        }
        at += whole.len();
    }
    match blocks.last() {
        Some(block) if open => Err(NoBlock::Open(block.line)),
        _ => Ok(blocks),
    }
}

/// A line without its end and, if it is the first, without a byte order mark.
fn bare(i: usize, line: &str) -> &str {
    let line = line.trim_end_matches(['\n', '\r']);
    match line.strip_prefix('\u{feff}') {
        Some(rest) if i == 0 => rest,
        _ => line,
    }
}

/// The name in a marker that stands alone on its line; empty if it has none.
fn marker<'a>(line: &'a str, which: &str) -> Option<&'a str> {
    let inside = unindented(line)?.trim_end();
    let inside = inside.strip_prefix("<!--")?.strip_suffix("-->")?;
    let mut words = inside.split_whitespace();
    if words.next()?.strip_prefix("farm:")? != which {
        return None;
    }
    let name = words.next().unwrap_or_default();
    words.next().is_none().then_some(name)
}

/// Markdown whose headings go below one of `level`; there are none below the sixth.
fn nested(markdown: &str, level: usize) -> String {
    let mut fence = Fence::default();
    let mut out = String::with_capacity(markdown.len() + 256);
    for line in markdown.lines() {
        let own = if fence.holds(line) {
            None
        } else {
            heading(line)
        };
        let deeper = own.map_or(0, |own| level.min(6 - own));
        let _ = writeln!(out, "{}{line}", "#".repeat(deeper));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKDOWN: &str = "# Summary\n\nGood.\n\n## Cases\n";

    #[test]
    fn what_stands_between_the_markers_is_replaced() {
        for (text, name, want) in [
            (
                "a\n<!-- farm:begin -->\nold\n<!-- farm:end -->\nb",
                None,
                "a\n<!-- farm:begin -->\n\n# Summary\n\nGood.\n\n## Cases\n\n<!-- farm:end -->\nb",
            ),
            // Nothing between, no line break at the end, below a heading.
            (
                "# A\n## B\n### C\ntext\n<!-- farm:begin -->\n<!-- farm:end -->",
                None,
                "# A\n## B\n### C\ntext\n<!-- farm:begin -->\n\n#### Summary\n\nGood.\n\n##### Cases\n\n<!-- farm:end -->",
            ),
            // Line ends of the file; a heading in the block is no heading before it.
            (
                "# A\r\n<!--farm:begin x-->\r\n###### Old\r\n<!-- farm:end x -->\r\n",
                Some("x"),
                "# A\r\n<!--farm:begin x-->\r\n\r\n## Summary\r\n\r\nGood.\r\n\r\n### Cases\r\n\r\n<!-- farm:end x -->\r\n",
            ),
            // Markers and headings in fenced code are text; the named one of two.
            (
                "````md\n<!-- farm:begin -->\n```\n<!-- farm:end -->\n# no\n````\n<!-- farm:begin a -->\n<!-- farm:end -->\n<!-- farm:begin b -->\n<!-- farm:end -->\n",
                Some("b"),
                "````md\n<!-- farm:begin -->\n```\n<!-- farm:end -->\n# no\n````\n<!-- farm:begin a -->\n<!-- farm:end -->\n<!-- farm:begin b -->\n\n# Summary\n\nGood.\n\n## Cases\n\n<!-- farm:end -->\n",
            ),
            // A byte order mark, and a heading that is underlined.
            (
                "\u{feff}<!-- farm:begin -->\n<!-- farm:end -->\n",
                None,
                "\u{feff}<!-- farm:begin -->\n\n# Summary\n\nGood.\n\n## Cases\n\n<!-- farm:end -->\n",
            ),
            (
                "A\n===\n\nSub\n---\n\n  <!-- farm:begin -->\n<!-- farm:end -->\n",
                None,
                "A\n===\n\nSub\n---\n\n  <!-- farm:begin -->\n\n### Summary\n\nGood.\n\n#### Cases\n\n<!-- farm:end -->\n",
            ),
        ] {
            let once = replace(text, name, MARKDOWN).unwrap();
            assert_eq!(once, want);
            assert_eq!(replace(&once, name, MARKDOWN).unwrap(), want, "twice");
        }
    }

    #[test]
    fn what_is_not_one_block_is_refused() {
        let two =
            "<!-- farm:begin a -->\n<!-- farm:end -->\n<!-- farm:begin -->\n<!-- farm:end -->";
        let same =
            "<!-- farm:begin a -->\n<!-- farm:end -->\n<!-- farm:begin a -->\n<!-- farm:end -->";
        let names = ["a", "one without a name"].map(str::to_owned).to_vec();
        for (text, name, want) in [
            ("", None, NoBlock::Missing(None)),
            ("see <!-- farm:begin --> here", None, NoBlock::Missing(None)),
            (
                "<!-- farm:begin two words -->",
                None,
                NoBlock::Missing(None),
            ),
            (
                "```\n<!-- farm:begin -->\n```",
                None,
                NoBlock::Missing(None),
            ),
            (two, None, NoBlock::Several(names)),
            (two, Some("b"), NoBlock::Missing(Some("b".to_owned()))),
            (same, Some("a"), NoBlock::Twice(3)),
            ("x\n<!-- farm:begin -->\n", None, NoBlock::Open(2)),
            (
                "<!-- farm:begin a -->\n<!-- farm:end b -->",
                None,
                NoBlock::Open(1),
            ),
            // What is before the second end is not the block's.
            (
                "<!-- farm:begin a -->\n<!-- farm:end b -->\nprose\n<!-- farm:end -->",
                None,
                NoBlock::Open(1),
            ),
            (
                "x\n<!-- farm:begin a -->\nprose\n<!-- farm:begin b -->\n<!-- farm:end -->",
                Some("a"),
                NoBlock::Within(2, 4),
            ),
            (
                "<!-- farm:begin -->\n```\n<!-- farm:begin -->\n<!-- farm:end -->\n```\n",
                None,
                NoBlock::Open(1),
            ),
            (
                "    <!-- farm:begin -->\n    <!-- farm:end -->",
                None,
                NoBlock::Missing(None),
            ),
            (
                "1.  how:\n\n    ```md\n    <!-- farm:begin -->\n    ```\n",
                None,
                NoBlock::Missing(None),
            ),
            (
                "- ```md\n  <!-- farm:begin -->\n  <!-- farm:end -->\n  ```\n",
                None,
                NoBlock::Missing(None),
            ),
            (
                "\t<!-- farm:begin -->\n\t<!-- farm:end -->",
                None,
                NoBlock::Missing(None),
            ),
        ] {
            assert_eq!(replace(text, name, "x"), Err(want), "{text}");
        }
    }

    #[test]
    fn headings_go_below() {
        for (level, markdown, want) in [
            (0, "# a\n", "# a\n"),
            (2, "# a\n#b\n####### c\n", "### a\n#b\n####### c\n"),
            (5, "# a\n## b\n", "###### a\n###### b\n"),
            (1, "```sh\n# a\n```\n# b\n", "```sh\n# a\n```\n## b\n"),
        ] {
            assert_eq!(nested(markdown, level), want);
        }
    }
}
