use super::*;

#[test]
fn values_fit_or_say_why() {
    let count = Kind::Count { min: 1, max: 9 };
    let choice = Kind::Choice(&["fixed", "sample"]);
    let table = [
        (Kind::Switch, "true", ""),
        (
            Kind::Switch,
            "1",
            "must be true or false, is a whole number",
        ),
        (count, "9", ""),
        (count, "0", "must be at least 1, is 0"),
        (count, "10", "must be at most 9, is 10"),
        (
            count,
            "1.5",
            "must be a whole number, is a number with a point",
        ),
        (Kind::Amount, "1", ""),
        (Kind::Amount, "0.5", ""),
        (Kind::Amount, "0", "must be a positive, finite number, is 0"),
        (
            Kind::Amount,
            "-1.5",
            "must be a positive, finite number, is -1.5",
        ),
        (
            Kind::Amount,
            "inf",
            "must be a positive, finite number, is inf",
        ),
        (
            Kind::Amount,
            "nan",
            "must be a positive, finite number, is nan",
        ),
        (Kind::Price, "0", ""),
        (Kind::Price, "0.15", ""),
        (
            Kind::Price,
            "-0.1",
            "must be a number from 0 to 1000000, is -0.1",
        ),
        (
            Kind::Price,
            "inf",
            "must be a number from 0 to 1000000, is inf",
        ),
        (
            Kind::Price,
            "nan",
            "must be a number from 0 to 1000000, is nan",
        ),
        (
            Kind::Price,
            "1e300",
            &format!("must be a number from 0 to 1000000, is {}", 1e300),
        ),
        (Kind::Price, "'1'", "must be a number, is a text"),
        (Kind::Cap, "5", ""),
        (Kind::Cap, "0.5", ""),
        (Kind::Cap, "'none'", ""),
        (
            Kind::Cap,
            "0",
            "must be a positive, finite number of US dollars, or none, is 0",
        ),
        (
            Kind::Cap,
            "'5 USD'",
            "must be a positive, finite number of US dollars, or none, is \"5 USD\"",
        ),
        (
            Kind::Cap,
            "true",
            "must be a number, or \"none\", is true or false",
        ),
        (Kind::Seconds, "0.001", ""),
        (Kind::Seconds, "86400", ""),
        (Kind::Seconds, "0", "must lie between 0.001 and 86400, is 0"),
        (
            Kind::Seconds,
            "1e300",
            "must lie between 0.001 and 86400, is ",
        ),
        (
            Kind::Seconds,
            "nan",
            "must lie between 0.001 and 86400, is nan",
        ),
        (Kind::Texts, "{ a = 'x', b = '' }", ""),
        (
            Kind::Texts,
            "{ a = 1 }",
            "a: must be a text in quotes, is a whole number",
        ),
        (Kind::Texts, "[]", "must be a table, is a list"),
        (Kind::Share, "0.95", ""),
        (
            Kind::Share,
            "1",
            "must lie between 0 and 1, both excluded, is 1",
        ),
        (
            Kind::Share,
            "0.0",
            "must lie between 0 and 1, both excluded, is 0.0",
        ),
        (
            Kind::Share,
            "nan",
            "must lie between 0 and 1, both excluded, is nan",
        ),
        (choice, "'sample'", ""),
        (
            choice,
            "'sampel'",
            "\"sampel\" is not known here, only fixed, sample",
        ),
        (choice, "[]", "must be a text in quotes, is a list"),
        (Kind::Path, "'a'", ""),
        (Kind::Path, "''", "is empty"),
        (
            Kind::Text,
            "1979-05-27",
            "must be a text in quotes, is a date or time",
        ),
        (Kind::Names, "['a', 'b']", ""),
        (Kind::Names, "[]", ""),
        (Kind::Names, "['a', 'a']", "names `a` twice"),
        (
            Kind::Names,
            "['a', 1]",
            "must be a list of names, holds a whole number",
        ),
        (Kind::Command, "['npx', '-y', './x']", ""),
        (Kind::Command, "['./server', '']", ""),
        (Kind::Command, "[]", "names no program"),
        (Kind::Command, "['']", "names no program"),
        (
            Kind::Command,
            "['bin/server']",
            "\"bin/server\" is neither a program's name nor a path",
        ),
        (
            Kind::Command,
            "['a', 1]",
            "must be a list of texts, holds a whole number",
        ),
        (
            Kind::Command,
            "'npx'",
            "must be a list of texts: a program and its arguments, is a text",
        ),
        (Kind::Seeds, "12", ""),
        (Kind::Seeds, "'3..5'", ""),
        (Kind::Seeds, "'5..3'", "the seeds 5..3 are empty"),
        (Kind::Seeds, "0", "0 seeds are none"),
        (Kind::Time, "'8h'", ""),
        (Kind::Time, "'none'", ""),
        (Kind::Time, "'8'", "\"8\" is no time: write none, a span"),
        (
            Kind::Time,
            "07:00:00",
            "must be a time in quotes, such as \"8h\", \"07:00\" or \"none\", is a date or time",
        ),
        (Kind::Json, "{ a = [1, { b = 'x' }] }", ""),
        (
            Kind::Json,
            "{ a = [nan] }",
            "a: nan cannot be written as JSON",
        ),
        (
            Kind::Json,
            "{ a = 1979-05-27 }",
            "a: write the date 1979-05-27 in quotes",
        ),
    ];
    for (kind, text, wrong) in table {
        let value: Value = text.parse().unwrap();
        match kind.check(&value) {
            Ok(()) => assert_eq!(wrong, "", "{kind:?} {text}"),
            Err(e) => assert!(
                !wrong.is_empty() && e.message.starts_with(wrong),
                "{kind:?} {text}: {e:?}"
            ),
        }
    }
}
