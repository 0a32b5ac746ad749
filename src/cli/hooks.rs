//! Faults for tests, from the environment. `FARM_TEST_*` is not config.

use std::{
    env::{self, VarError},
    time::Duration,
};

use crate::{
    domain::SessionKey,
    error::{Context, Error, Result},
    run::Hooks,
    store::{AbortAt, Moment},
};

fn var(name: &str) -> Result<Option<String>> {
    match env::var(name) {
        Ok(text) => Ok(Some(text)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(Error::input(format!("{name} is not UTF-8"))),
    }
}

/// Faults for tests.
pub(super) struct Faults {
    /// Those of sessions.
    pub hooks: Hooks,
    /// That of the store.
    pub abort_at: Option<AbortAt>,
}

/// What the environment asks for.
pub(super) fn faults() -> Result<Faults> {
    Ok(Faults {
        hooks: Hooks {
            patience: patience()?,
            ..hooks()?
        },
        abort_at: abort_at()?,
    })
}

/// `FARM_TEST_PATIENCE=MILLISECONDS`.
fn patience() -> Result<Option<Duration>> {
    let text = var("FARM_TEST_PATIENCE")?;
    let ms = text.map(|text| text.parse()).transpose();
    let ms: Option<u64> = ms.input(|| "FARM_TEST_PATIENCE".to_owned())?;
    Ok(ms.map(Duration::from_millis))
}

/// `FARM_TEST_PANIC=KEY:TURN` or `KEY:score`.
fn hooks() -> Result<Hooks> {
    let Some(text) = var("FARM_TEST_PANIC")? else {
        return Ok(Hooks::default());
    };
    let (key, at) = text
        .rsplit_once(':')
        .ok_or_else(|| Error::input("FARM_TEST_PANIC is KEY:TURN"))?;
    let key: SessionKey = key.parse().input(|| "FARM_TEST_PANIC".to_owned())?;
    if at == "score" {
        return Ok(Hooks {
            panic_scoring: Some(key),
            ..Hooks::default()
        });
    }
    let turn = at
        .parse()
        .input(|| "FARM_TEST_PANIC: the turn".to_owned())?;
    Ok(Hooks {
        panic_at: Some((key, turn)),
        ..Hooks::default()
    })
}

/// `FARM_TEST_ABORT=commit:N:before` or `commit:N:after`.
fn abort_at() -> Result<Option<AbortAt>> {
    let Some(text) = var("FARM_TEST_ABORT")? else {
        return Ok(None);
    };
    let wrong = || Error::input("FARM_TEST_ABORT is commit:N:before or commit:N:after");
    let ["commit", commit, moment] = text.split(':').collect::<Vec<_>>()[..] else {
        return Err(wrong());
    };
    let moment = match moment {
        "before" => Moment::Before,
        "after" => Moment::After,
        _ => return Err(wrong()),
    };
    Ok(Some(AbortAt {
        commit: commit.parse().map_err(|_| wrong())?,
        moment,
    }))
}
