//! The HTTP client of one endpoint.

use std::time::Duration;

use reqwest::{
    NoProxy, Proxy, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use secrecy::{ExposeSecret, SecretString};

use crate::{
    domain::Redactor,
    error::{Context, Error, Result},
};

/// Where an endpoint is and how it is reached.
#[derive(Debug, Clone, Default)]
pub struct ClientOptions {
    /// `http://127.0.0.1:8080/v1`: what stands before `/chat/completions`.
    pub base_url: String,
    /// The key.
    pub key: Option<SecretString>,
    /// The header that the key stands in as it is; none: `Authorization: Bearer`.
    pub key_header: Option<String>,
    /// Sent along with each request.
    pub headers: Vec<(String, String)>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// Which proxies to use.
    pub proxies: Proxies,
}

/// Proxies as the environment names them.
#[derive(Clone, Default)]
pub struct Proxies {
    /// `HTTP_PROXY`: for http addresses.
    pub http: Option<String>,
    /// `HTTPS_PROXY`: for https addresses.
    pub https: Option<String>,
    /// `ALL_PROXY`: for those that have none of their own.
    pub all: Option<String>,
    /// `NO_PROXY`: hosts that are reached without one.
    pub no_proxy: Option<String>,
}

impl std::fmt::Debug for Proxies {
    /// Proxies may have passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proxies")
    }
}

/// Sends requests to one endpoint. It follows no redirect: a key belongs to one host.
#[derive(Clone)]
pub struct Client {
    pub(super) http: reqwest::Client,
    pub(super) url: Url,
    pub(super) redactor: Redactor,
    /// The variable that names a proxy for the endpoint, unless another leaves the endpoint out.
    pub(super) proxy: Option<&'static str>,
}

impl Client {
    /// A client of that endpoint. It connects when it first sends.
    ///
    /// # Errors
    /// When a header, the key or a proxy cannot be sent or used.
    pub fn new(options: &ClientOptions) -> Result<Self> {
        // Another provider that a program has installed is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("farm/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers(options)?)
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(options.connect_timeout)
            .no_proxy();
        let proxies = proxies(&options.proxies)?;
        let is_https = options.base_url.starts_with("https:");
        let own = if is_https {
            "HTTPS_PROXY"
        } else {
            "HTTP_PROXY"
        };
        let named = |name: &str| proxies.iter().map(|(n, _)| *n).find(|n| *n == name);
        let proxy = named(own).or_else(|| named("ALL_PROXY"));
        for (_, proxy) in proxies {
            builder = builder.proxy(proxy);
        }
        let http = builder
            .build()
            .map_err(|e| Error::input("no HTTP client can be had").caused_by(e.without_url()))?;
        let url = format!("{}/chat/completions", options.base_url);
        Ok(Self {
            http,
            url: url
                .parse()
                .input(|| format!("{:?} is no address", options.base_url))?,
            redactor: Redactor::of(options.key.as_ref())?,
            proxy,
        })
    }
}

fn headers(options: &ClientOptions) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in &options.headers {
        let wrong = || format!("header {name} cannot be sent");
        let name: HeaderName = name.parse().input(wrong)?;
        let value: HeaderValue = value.parse().input(wrong)?;
        headers.insert(name, value);
    }
    if let Some(key) = &options.key {
        let (name, value) = match &options.key_header {
            None => (AUTHORIZATION, format!("Bearer {}", key.expose_secret())),
            Some(name) => {
                let wrong = || format!("header {name} cannot be sent");
                let name: HeaderName = name.parse().input(wrong)?;
                (name, key.expose_secret().to_owned())
            }
        };
        // The error of a bad value does not quote it.
        let mut value: HeaderValue = value
            .parse()
            .input(|| "the key holds what no header can hold, such as a line break".to_owned())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Proxies with the variables that name them.
fn proxies(of: &Proxies) -> Result<Vec<(&'static str, Proxy)>> {
    type Make = fn(&str) -> reqwest::Result<Proxy>;
    let makes: [(&str, &Option<String>, Make); 3] = [
        ("HTTP_PROXY", &of.http, |url| Proxy::http(url)),
        ("HTTPS_PROXY", &of.https, |url| Proxy::https(url)),
        ("ALL_PROXY", &of.all, |url| Proxy::all(url)),
    ];
    // The client takes a star for all names, but for no address.
    if of
        .no_proxy
        .as_deref()
        .is_some_and(|hosts| hosts.trim() == "*")
    {
        return Ok(Vec::new());
    }
    let except = of.no_proxy.as_deref().and_then(NoProxy::from_string);
    let given = makes
        .into_iter()
        .filter_map(|(name, url, make)| Some((name, url.as_deref()?, make)));
    given
        .filter(|(_, url, _)| !url.is_empty())
        .map(|(name, url, make)| {
            let wrong = || {
                let error = Error::input(format!("{name} is not the address of a proxy"));
                error.hint("write http://HOST:PORT or https://HOST:PORT; others are not used")
            };
            let proxy = make(url).map_err(|e| wrong().caused_by(e.without_url()))?;
            // Without a scheme it is taken for http.
            let scheme = url.split_once("://").map_or("http", |(scheme, _)| scheme);
            if !["http", "https"]
                .iter()
                .any(|s| s.eq_ignore_ascii_case(scheme))
            {
                return Err(wrong());
            }
            Ok((name, proxy.no_proxy(except.clone())))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_sent_is_said_without_the_key() {
        let of = |options: ClientOptions| Client::new(&options).map(|_| ()).unwrap_err();
        let bad_key = of(ClientOptions {
            key: Some("sk-canary\n".into()),
            ..ClientOptions::default()
        });
        assert!(bad_key.message.contains("the key holds"), "{bad_key}");
        assert!(!format!("{bad_key:?}").contains("sk-canary"));
        let bad_header = of(ClientOptions {
            headers: vec![("a b".into(), "c".into())],
            ..ClientOptions::default()
        });
        assert!(bad_header.message.contains("header a b"), "{bad_header}");
        let bad_proxy = of(ClientOptions {
            proxies: Proxies {
                https: Some("http://user:secret@[:bad".into()),
                ..Proxies::default()
            },
            ..ClientOptions::default()
        });
        assert!(bad_proxy.message.contains("HTTPS_PROXY"), "{bad_proxy}");
        assert!(!format!("{bad_proxy:?}").contains("secret"));
        let socks = of(ClientOptions {
            proxies: Proxies {
                all: Some("socks5://127.0.0.1:1".into()),
                ..Proxies::default()
            },
            ..ClientOptions::default()
        });
        assert!(socks.message.contains("ALL_PROXY"), "{socks}");
    }

    #[test]
    fn debug_shows_no_key() {
        let options = ClientOptions {
            key: Some("sk-canary-1".into()),
            proxies: Proxies {
                all: Some("http://user:sk-canary-2@127.0.0.1:1".into()),
                ..Proxies::default()
            },
            ..ClientOptions::default()
        };
        let redactor = Redactor::of(options.key.as_ref()).unwrap();
        assert!(!format!("{options:?} {redactor:?}").contains("sk-canary"));
    }
}
