//! The plot.

use crate::report::{fixture, forest};

#[test]
fn a_plot_is_drawn_to_the_pixel() {
    let mut summary = fixture::summary();
    summary.variants.truncate(1);
    summary.variants[0].cases.drain(1..3);
    let svg = forest::render(&summary, Some(1));
    let (_, drawn) = svg.split_once("</style>").unwrap();
    insta::assert_snapshot!(drawn.trim(), @r#"
    <rect class="ff-back" x="0.5" y="0.5" width="859" height="243" rx="8"/>
    <path class="ff-grid ff-edge" d="M183.4 89V159"/>
    <path class="ff-grid" d="M303.2 89V159"/>
    <path class="ff-grid" d="M423 89V159"/>
    <path class="ff-grid" d="M542.8 89V159"/>
    <path class="ff-grid ff-edge" d="M662.6 89V159"/>
    <g class="ff-c0">
    <path class="ff-guide" d="M493 139V159"/>
    </g>
    <text class="ff-title" x="20" y="34">Pass rate of baseline</text>
    <text class="ff-note" x="20" y="53">2 cases · 79 of 96 sessions scored · missing: 3 errored, 14 not_run</text>
    <text class="ff-note ff-centre" x="183.4" y="83">0</text>
    <text class="ff-note ff-centre" x="303.2" y="83">0.25</text>
    <text class="ff-note ff-centre" x="423" y="83">0.5</text>
    <text class="ff-note ff-centre" x="542.8" y="83">0.75</text>
    <text class="ff-note ff-centre" x="662.6" y="83">1</text>
    <text class="ff-note ff-end" x="814.6" y="83">pass rate [95 %]</text>
    <text class="ff-note ff-end" x="840" y="83">n</text>
    <rect class="ff-stripe" x="14" y="89" width="832" height="20" rx="3"/>
    <text class="ff-text ff-strong" x="20" y="103">these cases, new seeds</text>
    <g class="ff-c0">
    <title>these cases, new seeds, baseline: 0.646 [0.548, 0.733] n=48 strat. Wilson 95 %</title>
    <path class="ff-diamond" d="M446 99L493 93L534.7 99L493 105Z"/>
    <path class="ff-mark" transform="translate(493 99)" d="M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z"/>
    </g>
    <text class="ff-text ff-end" x="814.6" y="103">0.646 [0.548, 0.733]</text>
    <text class="ff-text ff-end" x="840" y="103">48</text>
    <text class="ff-text ff-strong" x="20" y="123">new cases like these</text>
    <g class="ff-c0">
    <title>new cases like these, baseline: 0.646 [0.199, 0.936] n=48 gen. Jeffreys 95 %</title>
    <path class="ff-diamond" d="M278.8 119L493 113L631.9 119L493 125Z"/>
    <path class="ff-mark" transform="translate(493 119)" d="M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z"/>
    </g>
    <text class="ff-text ff-end" x="814.6" y="123">0.646 [0.199, 0.936]</text>
    <text class="ff-text ff-end" x="840" y="123">48</text>
    <rect class="ff-stripe" x="14" y="139" width="832" height="20" rx="3"/>
    <text class="ff-text" x="20" y="153">web-003</text>
    <g class="ff-c0">
    <title>web-003, baseline: 0.000 [0.000, 0.242] n=12 Wilson 95 %</title>
    <path class="ff-bar" d="M183.4 149H299.6M183.4 146v6M299.6 146v6"/>
    <path class="ff-mark" transform="translate(183.4 149)" d="M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z"/>
    </g>
    <text class="ff-text ff-end" x="814.6" y="153">0.000 [0.000, 0.242]</text>
    <text class="ff-text ff-end" x="840" y="153">12</text>
    <text class="ff-note ff-centre" x="183.4" y="175">0</text>
    <text class="ff-note ff-centre" x="303.2" y="175">0.25</text>
    <text class="ff-note ff-centre" x="423" y="175">0.5</text>
    <text class="ff-note ff-centre" x="542.8" y="175">0.75</text>
    <text class="ff-note ff-centre" x="662.6" y="175">1</text>
    <text class="ff-note" x="20" y="198">The worst cases are shown; 1 better one is left out.</text>
    <text class="ff-note" x="20" y="213">95 % intervals: strat. Wilson for these cases, gen. Jeffreys for new ones, Wilson for a case. n: sessions scored (/ planned).</text>
    <text class="ff-note" x="20" y="228">Dashed: the pass rate over all cases.</text>
    </svg>
    "#);
}
