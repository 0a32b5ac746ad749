//! `farm report RUN --failures`.

use crate::{
    cli::{
        args::{ReportArgs, ReportFormat},
        opened::Opened,
        screen,
    },
    domain::failures::Failures,
    error::{Error, Result},
    report::{
        self,
        failures::{self, View},
    },
};

/// Groups that are shown, unless all are wanted.
const GROUPS: usize = 10;

/// `farm report RUN --failures`.
pub(super) fn shown(opened: &Opened, args: &ReportArgs) -> Result<String> {
    let run = opened.spec();
    let view = View {
        run: &run,
        groups: (!args.all).then_some(GROUPS),
        width: screen::width(),
        style: screen::style(),
    };
    let show: fn(&Failures, &View<'_>) -> Result<String> = match args.format {
        None => |found, view| Ok(failures::render(found, view)),
        Some(ReportFormat::Md) => |found, view| Ok(failures::markdown(found, view)),
        Some(ReportFormat::Json) => |found, _| report::json(found),
        Some(_) => {
            return Err(Error::input("failures are not shown in this format")
                .hint("`--failures` goes with `--format md`, `--format json` or neither"));
        }
    };
    show(&opened.failures()?, &view)
}
