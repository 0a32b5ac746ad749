//! Every problem with its place.

use super::*;

#[test]
fn all_problems_of_a_file_together() {
    let config = r#"
concurrency = 3
[suite]
level = 1.0
cases = "fixd"
[run]
seeds = 0
  concurency = 3
concurrency = 0
sealed = 1979-05-27
until = "8 o'clock"
[session]
tools = ["calculater"]
verifiers = ["shema"]
prompt = "none.md"
max_seconds = -1
[models.a]
kind = "scriptd"
[models.b]
[models."no/slash"]
kind = "scripted"
[variants.v]
model = "c"
tools = ["calculator", "calculator"]
limits = { max_steps = 0, max_stps = 1 }
[variants.w]
parameters = { when = 07:32:00 }
[variants.x]
model = "a"
prompt = "empty.md"
[tools]
calculator = 1
file_read = 99999999999999999999
"#;
    let want = r#"
F:2:1: unknown key `concurrency`; did you mean `run.concurrency`?
F:4:9: suite.level: must lie between 0 and 1, both excluded, is 1.0
F:5:9: suite.cases: "fixd" is not known here, only fixed, sample; did you mean `fixed`?
F:7:9: run.seeds: 0 seeds are none: a run needs at least one, such as --seeds 1
F:8:3: unknown key `run.concurency`; did you mean `concurrency`?
F:9:15: run.concurrency: must be at least 1, is 0
F:10:10: run.sealed: must be a path in quotes, is a date or time
F:11:9: run.until: "8 o'clock" is no time: write none, a span such as 1h30m (units d, h, m, s), a time of day such as 07:00, or a moment such as 2026-12-01T07:00:00Z
F:13:9: session.tools: unknown tool `calculater`; known are calculator, file_read, web_fetch; did you mean `calculator`?
F:14:13: session.verifiers: unknown verifier `shema`; known are schema, budget, repeat; did you mean `schema`?
F:15:10: session.prompt: D/none.md cannot be read: No such file or directory (os error 2)
F:16:15: session.max_seconds: must be a positive, finite number, is -1; leave the key out to set no limit
F:18:8: models.a.kind: "scriptd" is not known here, only scripted, openai, cassette; did you mean `scripted`?
F:19:9: model `b` has no kind; add kind = one of "scripted", "openai", "cassette"
F:20:9: "no/slash" is not a valid variant name: use 1 to 128 of A-Z a-z 0-9 . _ - and begin with a letter or digit
F:23:9: variants.v.model: unknown model `c`; known are a, b, no/slash
F:24:9: variants.v.tools: names `calculator` twice
F:25:24: variants.v.limits.max_steps: must be at least 1, is 0
F:25:27: unknown key `variants.v.limits.max_stps`; did you mean `max_steps`?
F:26:11: variant `w` has no model; add model = one of a, b, no/slash
F:27:14: variants.w.parameters: when: write the date 07:32:00 in quotes: JSON has no dates
F:30:10: variants.x.prompt: D/empty.md is empty
F:32:1: unknown key `tools.calculator`; known here are file_read, web_fetch, mcp
F:33:13: tools.file_read: must be a table
"#;
    let got = Fixture::new(config).problems(&[], &[], &[]);
    assert_eq!(got.trim(), want.trim());
}

#[test]
fn what_is_not_toml() {
    let table = [
        ("[run]\nseeds = \n", "F:2:9: not TOML: "),
        ("[run\nseeds = 1\n", "F:1:5: not TOML: "),
        (
            "[run]\nseeds = 1\nseeds = 2\n",
            "F:3:1: not TOML: duplicate key",
        ),
        (
            "x = 1e999\n[run]\nrun_seed = 99999999999999999999\n",
            "F:1:1: unknown key `x`; known here are suite, run, session, score, tools, models, variants\nF:3:12: run.run_seed: ",
        ),
    ];
    for (config, want) in table {
        // A model that the file may well have is not said to be missing.
        let models: &[&str] = if want.contains("not TOML") {
            &["m"]
        } else {
            &[]
        };
        let got = Fixture::new(config).problems(&[], &[], models);
        assert!(!got.contains("--model"), "{config}\n{got}");
        assert!(got.starts_with(want), "{config}\n{got}");
    }
    let fixture = Fixture::new("");
    fs::write(
        fixture.dir.path().join("farm.toml"),
        b"# \xc3\xa4\nx = \"\xff\"",
    )
    .unwrap();
    assert_eq!(
        fixture.problems(&[], &[], &[]),
        "F:2:6: not UTF-8; save the file as UTF-8"
    );
}

#[test]
fn problems_of_the_other_layers() {
    let fixture = Fixture::new("[models.fast]\nkind = \"scripted\"\n");
    let env = [
        ("FARM_RUN_CONCURENCY", "1"),
        ("FARM_RUN_SEEDS", "x"),
        ("FARM_RUN_UNSCORED", "maybe"),
        ("FARM_ZZZ", ""),
    ];
    let flags = [
        ("run.seeds", Value::Integer(0)),
        ("run.seed", Value::Integer(1)),
        ("run", Value::Integer(1)),
        ("variants.v.limits.max_steps", Value::Integer(1)),
    ];
    let want = "\
--model: unknown model `fat`; known are fast; did you mean `fast`?
--seeds: run.seeds: 0 seeds are none: a run needs at least one, such as --seeds 1
FARM_RUN_CONCURENCY: no key of the config has this environment variable; did you mean `FARM_RUN_CONCURRENCY`?
FARM_RUN_SEEDS: run.seeds: \"x\" is no number of seeds: write 12, or a half-open range such as 3..5
FARM_RUN_UNSCORED: run.unscored: must be true or false, is a text
FARM_ZZZ: no key of the config has this environment variable; unset it, or name a key: FARM_RUN_SEEDS sets run.seeds
run: is a table, not a key
run.seed: unknown key; did you mean `seeds`?
variants.v.limits.max_steps: there is no [variants.v] to change";
    assert_eq!(fixture.problems(&env, &flags, &["fat"]), want);
}

#[test]
fn variants_that_a_file_system_may_take_for_one() {
    let models = "[models.m]\nkind = \"scripted\"\n[models.M]\nkind = \"scripted\"\n";
    let said = Fixture::new(models).problems(&[], &[], &[]);
    let want = "F:3:9: variant `M` differs from `m` in its case alone; some file systems take them for one";
    assert_eq!(said, want);
    let variants = "[variants.v]\nmodel = \"m\"\n[variants.V]\nmodel = \"M\"\n";
    let said = Fixture::new(&format!("{models}{variants}")).problems(&[], &[], &[]);
    assert_eq!(
        said,
        want.replace("3:9", "7:11")
            .replace('M', "V")
            .replace("`m`", "`v`")
    );
    assert!(Fixture::new(models).resolve(&[], &[], &["m"]).is_ok());
}
