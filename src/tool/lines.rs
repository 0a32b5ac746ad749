//! Lines of a stream whose length is bounded.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Reads the next line into `line`, without its end. False: it is longer than `max` bytes, and not all
/// there. None: the stream has ended.
///
/// # Errors
/// When the stream cannot be read.
pub async fn next_line(
    input: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    max: usize,
) -> io::Result<Option<bool>> {
    line.clear();
    let (mut is_whole, mut any) = (true, false);
    loop {
        let bytes = input.fill_buf().await?;
        if bytes.is_empty() {
            return Ok(any.then_some(is_whole));
        }
        any = true;
        let end = bytes.iter().position(|b| *b == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        match line.len() + part.len() <= max {
            true if is_whole => line.extend_from_slice(part),
            _ => is_whole = false,
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(Some(is_whole));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    #[tokio::test]
    async fn a_long_line_is_told_and_the_next_is_whole() {
        for buffer in [1, 3, 100] {
            let text: &[u8] = b"abc\n\nabcdef\nabcd\nab";
            let mut input = BufReader::with_capacity(buffer, text);
            let (mut line, mut seen) = (Vec::new(), Vec::new());
            while let Some(is_whole) = next_line(&mut input, &mut line, 4).await.unwrap() {
                seen.push(is_whole.then(|| String::from_utf8(line.clone()).unwrap()));
            }
            let want = [Some("abc"), Some(""), None, Some("abcd"), Some("ab")];
            assert_eq!(seen, want.map(|line| line.map(str::to_owned)));
        }
    }
}
