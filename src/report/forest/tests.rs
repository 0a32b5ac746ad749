use super::*;
use crate::{
    domain::{CaseId, VariantName},
    report::fixture,
};

/// Checks that elements are nested and attributes quoted, and gives the names of the elements.
fn elements(svg: &str) -> Vec<String> {
    let (mut open, mut all) = (Vec::new(), Vec::new());
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        assert!(
            !text.contains('>') && !tag.contains('&') || tag.contains("aria"),
            "{part}"
        );
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap().to_owned();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if !tag.ends_with('/') {
            open.push(name.clone());
        }
        all.push(name);
    }
    assert_eq!(open, Vec::<String>::new());
    all
}

fn count(svg: &str, class: &str) -> usize {
    svg.matches(&format!("class=\"{class}\"")).count()
}

#[test]
fn every_rate_has_a_mark() {
    let svg = render(&fixture::summary(), Some(MARKS));
    elements(&svg);
    // Eight of cases, one of them without a scored session; four overall; two of the legend.
    assert_eq!(count(&svg, "ff-bar"), 7);
    assert_eq!(count(&svg, "ff-diamond"), 4);
    assert_eq!(count(&svg, "ff-mark"), 7 + 4 + 2);
    assert_eq!(count(&svg, "ff-guide"), 2);
    assert!(svg.contains(">no session scored: 12 not_run</text>"));
    assert!(svg.contains("file-007, cautious: 0.375 [0.137, 0.694] n=8/12 Wilson 95 %"));
    assert!(svg.contains("missing: 3 errored, 14 not_run"));
    assert!(!svg.contains("id=") && !svg.contains("href") && !svg.contains("<script"));
}

#[test]
fn the_reading_that_comes_first_stands_first() {
    let mut summary = fixture::summary();
    let order = |svg: &str| {
        READINGS.map(|reading| svg.find(&format!(">{}<", text::reading(reading))).unwrap())
    };
    let [fixed, sample] = order(&render(&summary, None));
    assert!(fixed < sample);
    summary.reading = Reading::Sample;
    let [fixed, sample] = order(&render(&summary, None));
    assert!(sample < fixed);
}

#[test]
fn of_many_cases_the_worst_are_shown() {
    let mut summary = fixture::summary();
    for variant in &mut summary.variants {
        let case = variant.cases[0].clone();
        variant.cases.extend((0..5000).map(|i| CaseSummary {
            id: CaseId::new(format!("more-{i}")).unwrap(),
            ..case.clone()
        }));
    }
    let svg = render(&summary, Some(MARKS));
    elements(&svg);
    assert_eq!(count(&svg, "ff-bar"), 199);
    assert!(svg.contains("The worst cases are shown; 4,904 better ones are left out."));
    assert!(svg.find("web-003") < svg.find("more-0"));
    let all = render(&summary, None);
    elements(&all);
    assert_eq!(count(&all, "ff-bar"), 10_007);
    assert!(!all.contains("left out"));
}

#[test]
fn nothing_is_a_picture_too() {
    let mut summary = fixture::summary();
    for variant in &mut summary.variants {
        variant.overall.pass_rate.fixed = fixture::nothing(0);
        variant.cases.clear();
    }
    let svg = render(&summary, Some(MARKS));
    elements(&svg);
    assert!(svg.contains(">n/a</text>") && svg.contains("0 cases · "));
    summary.variants.clear();
    elements(&render(&summary, Some(MARKS)));
}

#[test]
fn long_names_lose_their_middle() {
    let mut summary = fixture::summary();
    let long = format!("{}-end", "x".repeat(120));
    summary.variants[0].variant = VariantName::new(&long).unwrap();
    let svg = render(&summary, Some(MARKS));
    elements(&svg);
    let short = format!("{}…{}-end", "x".repeat(18), "x".repeat(13));
    assert_eq!(name(&long), short);
    assert!(svg.contains(&format!(">{short}</text>")) && svg.contains(&long));
}
