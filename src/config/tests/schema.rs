//! The schema and the reader agree on what is a config.

use super::*;

#[test]
fn the_schema_says_what_the_reader_says() {
    let validator = jsonschema::validator_for(schema().as_value()).unwrap();
    let good = [
        "",
        "[suite]\ncases = \"sample\"\nlevel = 0.9",
        "[run]\nseeds = 12\nconcurrency = 1\nrun_seed = 0\nunscored = true",
        "[run]\nseeds = \"3..5\"\nsealed = \"sealed.jsonl\"",
        "[run]\nseeds = \" 007 \"",
        "[run]\nseeds = \"0 .. 1\"",
        "[run]\nuntil = \"none\"",
        "[run]\nuntil = \"1d2h3m4s\"",
        "[run]\nuntil = \"07:00\"",
        "[run]\nuntil = \"23:59:59\"",
        "[run]\nuntil = \"2026-12-01T07:00:00Z\"",
        "[run]\nuntil = \"2026-12-01t07:00:00.5+01:00\"",
        "[session]\nprompt = \"a.md\"\ntools = []\nverifiers = [\"repeat\"]\nmax_seconds = 0.5",
        "[tools.file_read]\nmax_bytes = 1",
        "[tools.web_fetch]\npages = \"a\"",
        "[models.\"gpt-4.1\"]\nkind = \"scripted\"\ntool_mode = \"json\"\nparameters = { a = [1, {}] }",
        "[models.m]\nkind = \"scripted\"\n[variants.v]\nmodel = \"m\"\nlimits.max_tokens = 1",
        "[run]\nmax_cost_usd = 0.5\nprobe = false",
        "[run]\nmax_cost_usd = \"none\"",
        "[models.m]\nkind = \"openai\"\nbase_url = \"http://a\"\nmodel = \"x\"",
        "[models.m]\nkind = \"openai\"\nbase_url = \"http://a\"\nmodel = \"x\"\nheaders = { a = \"1\" }\nmax_cost_usd = 1\nprice = { input = 0, cached = 0, output = 1.5 }\nparameters = { max_tokens = 1 }\ntimeout_s = 0.5\nslots.start = 1\nrates.tokens_per_minute = 9",
        "[models.m]\nkind = \"cassette\"\nfrom = \"run/v\"",
        "[models.m]\nkind = \"scripted\"\n[models.j]\nkind = \"scripted\"\n[session.judge]\nmodel = \"j\"\nrubric = \"r\"\n[score]\njudge = \"j\"",
    ];
    let bad = [
        "suite = 1",
        "[suit]",
        "[suite]\ncases = \"fix\"",
        "[suite]\nlevel = 1",
        "[suite]\nlevel = \"0.9\"",
        "[run]\nseed = 1",
        "[run]\nseeds = 0",
        "[run]\nseeds = \"0\"",
        "[run]\nseeds = \"000\"",
        "[run]\nseeds = \"0..0\"",
        "[run]\nseeds = \"1..\"",
        "[run]\nseeds = \"-1\"",
        "[run]\nseeds = 1000000001",
        "[run]\nseeds = 1.5",
        "[run]\nseeds = [1]",
        "[run]\nuntil = 8",
        "[run]\nuntil = \"\"",
        "[run]\nuntil = \"8\"",
        "[run]\nuntil = \"0s\"",
        "[run]\nuntil = \"00h0m\"",
        "[run]\nuntil = \"1m1h\"",
        "[run]\nuntil = \"24:00\"",
        "[run]\nuntil = \"2026-12-01T07:00:00\"",
        "[run]\nconcurrency = 0",
        "[run]\nconcurrency = 4294967296",
        "[run]\nmax_cost_usd = 0",
        "[run]\nmax_cost_usd = \"2\"",
        "[run]\nprobe = 1",
        "[session]\njudge = \"scripted\"",
        "[session.judge]\nmodel = \"scripted\"",
        "[session.judge]\nrubric = \"r\"",
        "[score]\njudge = 1",
        "[models.m]\nkind = \"openai\"\nmodel = \"x\"",
        "[models.m]\nkind = \"openai\"\nbase_url = \"http://a\"",
        "[models.m]\nkind = \"openai\"\nbase_url = \"http://a\"\nmodel = \"x\"\nlatency_ms = 1",
        "[models.m]\nkind = \"openai\"\nbase_url = \"http://a\"\nmodel = \"x\"\nprice = { input = 1 }",
        "[models.m]\nkind = \"openai\"\nbase_url = \"http://a\"\nmodel = \"x\"\nprice = { input = -1, output = 1 }",
        "[models.m]\nkind = \"openai\"\nbase_url = \"http://a\"\nmodel = \"x\"\nheaders = { a = 1 }",
        "[models.m]\nkind = \"openai\"\nbase_url = \"http://a\"\nmodel = \"x\"\ntimeout_s = 0",
        "[models.m]\nkind = \"openai\"\nbase_url = \"http://a\"\nmodel = \"x\"\nslots = 3",
        "[models.m]\nkind = \"cassette\"",
        "[models.m]\nkind = \"cassette\"\nfrom = \"run/v\"\nscripts = \"a.jsonl\"",
        "[models.m]\nkind = \"scripted\"\nprice = { input = 1, output = 1 }",
        "[run]\nunscored = 1",
        "[run]\nsealed = \"\"",
        "[session]\ntools = [\"calculator\", \"calculator\"]",
        "[session]\ntools = [1]",
        "[session]\ntools = \"calculator\"",
        "[session]\nlimits.max_steps = 1",
        "[session]\nmax_steps = 0",
        "[session]\nmax_tokens = 1.5",
        "[tools.calculator]",
        "[tools]\nfile_read = true",
        "[models.m]",
        "[models.m]\nkind = \"openal\"",
        "[models.m]\nkind = \"scripted\"\nprice = 1",
        "[models.m]\nkind = \"scripted\"\nparameters = 1",
        "[models.\"a b\"]\nkind = \"scripted\"",
        "[models]\nm = \"scripted\"",
        "[variants.v]",
        "[variants.v]\nmodel = \"scripted\"\nmax_steps = 3",
    ];
    let verdicts = good
        .map(|text| (text, true))
        .into_iter()
        .chain(bad.map(|text| (text, false)));
    for (text, is_good) in verdicts {
        let table: toml::Table = text.parse().unwrap();
        let value = serde_json::Value::Object(kinds::json_table(&table).unwrap());
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|e| e.to_string())
            .collect();
        assert_eq!(errors.is_empty(), is_good, "schema, {text}: {errors:?}");
        let resolved = Fixture::new(text).resolve(&[], &[], &[]);
        assert_eq!(resolved.is_ok(), is_good, "reader, {text}: {resolved:?}");
    }
}
