// Histograms: how steps and cost are spread over sessions.

const MOST_VARIANTS = 24; // with a histogram each

const CHART = { width: 480, height: 140, head: 18, foot: 22, bins: 24 };

/** Bins of equal width over all values; one a value when these are few whole numbers. */
function binsOf(values, whole) {
  const low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  if (whole) {
    const width = Math.ceil((high - low + 1) / CHART.bins);
    return { low, width, n: Math.ceil((high - low + 1) / width) };
  }
  return low === high ? { low, width: 1, n: 1 } : { low, width: (high - low) / CHART.bins, n: CHART.bins };
}

/** One histogram; `sessions` are `[value, state]`. */
function histogram(title, sessions, bins, top, write, whole) {
  const states = ["passed", "failed", "other"];
  const counts = tally(sessions, bins);
  const { width, height, head, foot } = CHART;
  const step = width / bins.n;
  const bars = counts.flatMap((of, i) => {
    let y = height;
    const from = bins.low + i * bins.width;
    const last = whole ? from + bins.width - 1 : from + bins.width;
    const range = from === last || bins.n === 1 ? write(from) : `${write(from)} to ${write(last)}`;
    const said = `${range}: ${of.passed} passed, ${of.failed} failed${of.other ? `, ${of.other} other` : ""}`;
    return states.filter((state) => of[state] > 0).map((state) => {
      const tall = Math.max(1, (of[state] / top) * (height - head));
      y -= tall;
      return svg("rect", { class: `bin ${state}`, x: i * step + 0.75, width: Math.max(0.5, step - 1.5), y, height: tall },
        svg("title", {}, said));
    });
  });
  const label = (i, anchor, x) => svg("text", { x, y: height + 15, "text-anchor": anchor }, write(bins.low + i * bins.width));
  const ends = whole
    ? counts.map((_, i) => i).filter((i) => bins.n <= 12 || i % Math.ceil(bins.n / 12) === 0)
      .map((i) => label(i, "middle", (i + 0.5) * step))
    : bins.n === 1 ? [label(0, "middle", width / 2)]
      : [label(0, "start", 0), label(bins.n / 2, "middle", width / 2), label(bins.n, "end", width)];
  return el("figure", {},
    el("figcaption", {}, el("b", {}, title), ` ${plural(sessions.length, "session")}`),
    svg("svg", { viewBox: `0 0 ${width} ${height + foot}`, role: "img", "aria-label": `${title}: ${plural(sessions.length, "session")}` },
      svg("line", { class: "scale top", x1: 0, x2: width, y1: head, y2: head }),
      svg("text", { x: width, y: head - 5, "text-anchor": "end" }, plural(top, "session")),
      bars, svg("line", { class: "scale", x1: 0, x2: width, y1: height, y2: height }), ends));
}

function tally(sessions, bins) {
  const counts = Array.from({ length: bins.n }, () => ({ passed: 0, failed: 0, other: 0 }));
  for (const [value, state] of sessions) {
    const bin = Math.min(bins.n - 1, Math.floor((value - bins.low) / bins.width));
    counts[bin][state === "passed" || state === "failed" ? state : "other"] += 1;
  }
  return counts;
}

/** The histograms of one measure, on the same scales: one a variant, or one of all when these are many. */
function spread(title, variants, sessions, measure, write, whole) {
  const known = sessions.filter((session) => measure(session) !== null);
  const values = known.map(measure);
  if (values.every((value) => value === 0)) {
    const all = values.length === 0 ? "Not known of any session." : "0 in every session that ended.";
    return [el("h3", {}, title), el("p", { class: "note" }, all)];
  }
  const bins = binsOf(values, whole);
  const together = variants.length > MOST_VARIANTS;
  const names = together ? [`all ${plural(variants.length, "variant")}`] : variants;
  const groups = names.map(() => []);
  for (const session of known) {
    groups[together ? 0 : session.variant].push([measure(session), session.state]);
  }
  const tops = groups.flatMap((group) => tally(group, bins).map((of) => of.passed + of.failed + of.other));
  const top = Math.max(1, ...tops);
  return [el("h3", {}, title), el("div", { class: "charts" }, groups.map((group, i) =>
    histogram(names[i], group, bins, top, write, whole)))];
}
