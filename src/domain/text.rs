/// Bytes in lower-case hex, as digests are written everywhere.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

/// The first `max` characters, with a mark where there are more.
#[must_use]
pub fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// A word of a command as a shell reads it: in single quotes unless all of it is plain, and with
/// nothing unseen, `$'a\x0ab'`.
#[must_use]
pub fn shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains(is_unseen) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for c in word.chars() {
        match c {
            c if is_unseen(c) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    quoted.push_str("\\x");
                    quoted.push_str(&hex(&[byte]));
                }
            }
            '\'' | '\\' => quoted.extend(['\\', c]),
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

/// Whether a reader of the text would not see the character: controls (line breaks and tabs too),
/// marks that turn the direction of writing, characters without a width, separators of lines
/// and paragraphs, and what is no character. Blanks are seen; so are the selectors that belong to emoji.
#[must_use]
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'..='\u{ffff}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(hex(&[0, 9, 10, 255]), "00090aff");
    }

    #[test]
    fn a_shell_reads_one_word() {
        for (word, want) in [
            ("latest", "latest"),
            ("/tmp/a-b_c.d:1@x%+=,", "/tmp/a-b_c.d:1@x%+=,"),
            ("", "''"),
            ("/tmp/my run", "'/tmp/my run'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
            ("~", "'~'"),
            ("ä*", "'ä*'"),
            ("a\n'\\\u{202e}", r"$'a\x0a\'\\\xe2\x80\xae'"),
        ] {
            assert_eq!(shell(word), want);
            let mut bash = std::process::Command::new("bash");
            let said = bash.args(["-c", &format!("printf %s {want}")]).output();
            assert_eq!(String::from_utf8(said.unwrap().stdout).unwrap(), word);
        }
    }

    #[test]
    fn what_has_no_shape_is_unseen() {
        let unseen = "\n\t\0\x1b\u{7f}\u{85}\u{ad}\u{200b}\u{200d}\u{200f}\u{2028}\u{2029}\u{202a}\
            \u{202e}\u{2066}\u{2069}\u{feff}\u{ffff}\u{e0041}";
        assert_eq!(unseen.chars().find(|c| !is_unseen(*c)), None);
        let seen = "a 1 ä…→\u{a0}\u{3000}漢\u{301}\u{fe0f}🌾";
        assert_eq!(seen.chars().find(|c| is_unseen(*c)), None);
    }

    #[test]
    fn only_what_is_longer_is_cut() {
        for (text, want) in [("", ""), ("äöü", "äöü"), ("äöüß", "äöü…")] {
            assert_eq!(shortened(text, 3), want);
        }
    }
}
