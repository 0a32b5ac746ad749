use std::{fmt, sync::Arc};

use cap_std::fs::Dir;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{DEFAULT_MAX_BYTES, ReadError, Tool, ToolContext, blocking, fenced_read, parse, spec};
use crate::domain::{BoxFuture, Hints, Observation, ToolSpec};

/// Longest URL that is read, in bytes.
const MAX_URL: usize = 2048;
/// What a folder answers with, the first that is there.
const INDEXES: [&str; 2] = ["index.html", "index.txt"];
/// How many known pages an error names.
const SHOWN: usize = 5;
/// How many files are looked at for that, and how deep.
const WALKED: usize = 1000;
const DEPTH: usize = 16;

/// Stands in for the web: answers from canned pages, the page of `https://HOST/PATH?QUERY` being the
/// file `HOST/PATH`, or its `index.html` or `index.txt`. It has no network.
pub struct WebFetch {
    spec: ToolSpec,
    pages: Option<Arc<Dir>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The address of the page, http or https, at most 2048 bytes.
    /// Example: `https://example.org/docs/start`
    url: String,
}

impl WebFetch {
    /// The name that calls use.
    pub const NAME: &str = "web_fetch";

    /// Answers from `pages`, where there are any.
    #[must_use]
    pub fn new(pages: Option<Arc<Dir>>) -> Self {
        let description = format!(
            "Returns the text of a web page. This is an offline stub: it answers from a folder of \
             canned pages and never touches the network; the query part of a URL is ignored. \
             Limits: http and https URLs of at most {MAX_URL} bytes with a host name and no port, \
             user or percent-encoding; pages of at most {DEFAULT_MAX_BYTES} bytes of UTF-8 text. \
             Errors: a URL outside these limits, a page that is not among the canned ones (some \
             known URLs are named), a run without canned pages."
        );
        Self {
            spec: spec::<Args>(Self::NAME, &description, true, Hints::LOOKS_ONLY),
            pages,
        }
    }
}

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, Observation> {
        Box::pin(async move {
            let page = match parse(args).map(|Args { url }| Page::parse(&url)) {
                Ok(Ok(page)) => page,
                Ok(Err(why)) => return Observation::error(format!("cannot fetch this URL: {why}")),
                Err(observation) => return observation,
            };
            let Some(dir) = self.pages.clone() else {
                return Observation::error(
                    "web_fetch is an offline stub here and this run has no canned pages: answer without it",
                );
            };
            blocking(move || answer(&dir, &page)).await
        })
    }
}

/// A URL taken apart, without query and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Page {
    scheme: &'static str,
    host: String,
    /// Without the slash in front; a slash at the end is kept.
    path: String,
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/{}", self.scheme, self.host, self.path)
    }
}

impl Page {
    /// Strict on purpose: what it takes is a plain path below the folder of pages.
    fn parse(url: &str) -> Result<Self, &'static str> {
        if url.len() > MAX_URL {
            return Err("it is longer than 2048 bytes");
        }
        if !url.bytes().all(|b| b.is_ascii_graphic()) {
            return Err("it has blanks, control or non-ASCII characters");
        }
        let (scheme, rest) = url
            .split_once("://")
            .ok_or("it must begin with http:// or https://")?;
        let scheme = ["http", "https"]
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(scheme))
            .ok_or("only http and https are known")?;
        let end = rest.find(['?', '#']).unwrap_or(rest.len());
        let rest = rest.get(..end).unwrap_or(rest);
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if host.contains('@') {
            return Err("a user or password in a URL is refused");
        }
        if host.contains(':') {
            return Err("ports are refused");
        }
        if !is_host(host) {
            return Err("its host is not a host name such as example.org");
        }
        if path.contains('%') {
            return Err("percent-encoding is refused");
        }
        if path.contains('\\') {
            return Err("backslashes are refused");
        }
        let segments = path.strip_suffix('/').unwrap_or(path);
        let is_plain = |segment| !matches!(segment, "" | "." | "..");
        if !path.is_empty() && !segments.split('/').all(is_plain) {
            return Err("empty and dot segments in its path are refused");
        }
        Ok(Self {
            scheme,
            host: host.to_ascii_lowercase(),
            path: path.to_owned(),
        })
    }

    /// Where its file is.
    fn file(&self) -> String {
        format!("{}/{}", self.host, self.path)
    }
}

fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    host.len() <= 253 && host.split('.').all(is_label)
}

fn answer(dir: &Dir, page: &Page) -> Observation {
    match read(dir, page) {
        Ok(text) => Observation::ok(format!(
            "[offline: canned page for {page}; nothing was fetched]\n{text}"
        )),
        Err(ReadError::NotFound | ReadError::Folder) => Observation::error(format!(
            "no canned page for {page}: web_fetch is an offline stub, nothing was fetched; {}",
            known(dir, &page.host)
        )),
        Err(e) => Observation::error(format!("the canned page for {page} is not served: {e}")),
    }
}

fn read(dir: &Dir, page: &Page) -> Result<String, ReadError> {
    let file = page.file();
    let folder = file.trim_end_matches('/');
    match fenced_read(dir, &file, DEFAULT_MAX_BYTES) {
        Err(ReadError::Folder) => INDEXES
            .iter()
            .map(|index| fenced_read(dir, &format!("{folder}/{index}"), DEFAULT_MAX_BYTES))
            .find(|result| *result != Err(ReadError::NotFound))
            .unwrap_or(Err(ReadError::NotFound)),
        result => result,
    }
}

/// Some pages that are there, those of `host` first.
fn known(dir: &Dir, host: &str) -> String {
    let mut files = Vec::new();
    walk(dir, "", DEPTH, &mut files);
    let mut pages: Vec<Page> = files.iter().filter_map(|file| page_of(file)).collect();
    pages.sort_by_cached_key(|page| (page.host != host, page.file()));
    let urls: Vec<String> = pages.iter().take(SHOWN).map(Page::to_string).collect();
    if urls.is_empty() {
        "it has no pages".to_owned()
    } else {
        format!("it knows {}", urls.join(" "))
    }
}

/// The page that a file is; none for a file that no URL leads to.
fn page_of(file: &str) -> Option<Page> {
    let file = without_index(file);
    let page = Page::parse(&format!("https://{file}")).ok()?;
    (page.file() == file).then_some(page)
}

fn without_index(file: &str) -> &str {
    INDEXES
        .iter()
        .find_map(|index| file.strip_suffix(index).filter(|rest| rest.ends_with('/')))
        .unwrap_or(file)
}

/// Collects the files below `dir`; links are not followed, what cannot be read is left out.
fn walk(dir: &Dir, prefix: &str, depth: usize, files: &mut Vec<String>) {
    let Ok(entries) = dir.entries() else { return };
    let mut entries: Vec<_> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry)))
        .collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, entry) in entries {
        if files.len() == WALKED {
            return;
        }
        let path = format!("{prefix}{name}");
        match entry.file_type() {
            Ok(kind) if kind.is_file() => files.push(path),
            Ok(kind) if kind.is_dir() && depth > 0 => {
                if let Ok(below) = entry.open_dir() {
                    walk(&below, &format!("{path}/"), depth - 1, files);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cap_std::ambient_authority;
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    fn pages() -> (TempDir, WebFetch) {
        let base = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = base.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("secret", "secret");
        write("pages/README", "no page");
        write("pages/example.org/index.html", "home");
        write("pages/example.org/a", "a");
        write("pages/example.org/docs/index.txt", "docs");
        write("pages/example.org/docs/b.html", "b");
        write("pages/example.org/big", &"x".repeat(65537));
        write("pages/another.test/empty/deep/c", "c");
        write("pages/another.test/with blank", "unreachable");
        write("pages/Another.test/upper", "unreachable");
        for page in ["d", "e", "f"] {
            write(&format!("pages/third.test/{page}"), "x");
        }
        std::os::unix::fs::symlink("../../secret", base.path().join("pages/example.org/out"))
            .unwrap();
        let dir = Dir::open_ambient_dir(base.path().join("pages"), ambient_authority()).unwrap();
        (base, WebFetch::new(Some(Arc::new(dir))))
    }

    async fn fetch(tool: &WebFetch, url: &str) -> Observation {
        tool.call(&json!({"url": url}), &ToolContext::default())
            .await
    }

    #[tokio::test]
    async fn answers_from_its_pages() {
        let (_base, tool) = pages();
        let table = [
            ("https://example.org", "https://example.org/", "home"),
            ("https://example.org/?q=1", "https://example.org/", "home"),
            ("HTTP://Example.ORG/", "http://example.org/", "home"),
            ("https://example.org?q=/a", "https://example.org/", "home"),
            (
                "https://example.org/a?q=%20/..#x",
                "https://example.org/a",
                "a",
            ),
            (
                "https://example.org/docs",
                "https://example.org/docs",
                "docs",
            ),
            (
                "https://example.org/docs/",
                "https://example.org/docs/",
                "docs",
            ),
            (
                "https://example.org/docs/b.html",
                "https://example.org/docs/b.html",
                "b",
            ),
        ];
        for (url, page, text) in table {
            let want = format!("[offline: canned page for {page}; nothing was fetched]\n{text}");
            assert_eq!(fetch(&tool, url).await, Observation::ok(want), "{url}");
        }
    }

    #[tokio::test]
    async fn what_is_not_there_is_said_with_what_is() {
        let (base, tool) = pages();
        let known = "it knows https://example.org/ https://example.org/a https://example.org/big \
            https://example.org/docs/ https://example.org/docs/b.html";
        let got = fetch(&tool, "https://example.org/none").await;
        assert!(!got.ok);
        assert_eq!(
            *got.content,
            *format!(
                "no canned page for https://example.org/none: web_fetch is an offline stub, \
                 nothing was fetched; {known}"
            )
        );
        let got = fetch(&tool, "https://another.test/empty").await;
        assert!(
            got.content
                .contains("it knows https://another.test/empty/deep/c https://example.org/ ")
        );
        assert!(!got.content.contains("blank") && !got.content.contains("upper"));
        for (url, why) in [
            ("https://example.org/out", "leads out of the folder"),
            ("https://example.org/big", "larger than 65536 bytes"),
            ("https://readme", "no canned page"),
        ] {
            let got = fetch(&tool, url).await;
            assert!(!got.ok && got.content.contains(why), "{url}: {got:?}");
            assert!(!got.content.contains(base.path().to_str().unwrap()));
        }
        let empty = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(empty.path(), ambient_authority()).unwrap();
        let got = fetch(&WebFetch::new(Some(Arc::new(dir))), "https://example.org/").await;
        assert!(got.content.ends_with("it has no pages"), "{got:?}");
        let got = fetch(&WebFetch::new(None), "https://example.org/").await;
        assert!(
            !got.ok && got.content.contains("this run has no canned pages"),
            "{got:?}"
        );
    }

    #[test]
    fn urls_that_are_refused() {
        let long = format!("https://example.org/{}", "x".repeat(2048));
        let table = [
            ("", "must begin with http"),
            ("example.org/a", "must begin with http"),
            ("https:/example.org", "must begin with http"),
            ("file:///etc/passwd", "only http and https"),
            ("ftp://example.org/", "only http and https"),
            ("https://user@example.org/", "user or password"),
            ("https://user:pass@example.org/", "user or password"),
            ("https://example.org:443/", "ports"),
            ("https://[::1]/", "ports"),
            ("https:///a", "host name"),
            ("https://../secret", "host name"),
            ("https://example..org/", "host name"),
            ("https://.example.org/", "host name"),
            ("https://example.org./", "host name"),
            ("https://exa_mple.org/", "host name"),
            ("https://example.org\\a/", "host name"),
            ("https://example.org/a/../b", "dot segments"),
            ("https://example.org/..", "dot segments"),
            ("https://example.org/./a", "dot segments"),
            ("https://example.org//a", "dot segments"),
            ("https://example.org//", "dot segments"),
            ("https://example.org/%2e%2e/a", "percent-encoding"),
            ("https://example.org/..\\a", "backslashes"),
            ("https://example.org/a b", "blanks"),
            ("https://example.org/a\n", "blanks"),
            ("https://ex\u{e4}mple.org/", "non-ASCII"),
            (&long, "longer than 2048"),
        ];
        for (url, why) in table {
            let got = Page::parse(url).unwrap_err();
            assert!(got.contains(why), "{url:?}: {got}");
        }
    }
}
