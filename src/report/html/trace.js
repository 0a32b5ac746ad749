// One session: its task, its steps, its end.

const SHORT = 4000; // characters of a text before the rest is folded

/** What a model, a tool or a file said. `said` is a text, or `{text, more}` when it was cut. */
function prose(said, kind = "") {
  const { text, more } = typeof said === "string" ? { text: said, more: 0 } : said;
  const cut = more ? el("p", { class: "note" }, `${plural(more, "more character")} left out of this page`) : null;
  if (text.length <= SHORT) return [el("div", { class: `said ${kind}` }, text), cut];
  const node = el("div", { class: `said ${kind}` }, `${text.slice(0, SHORT)}…`);
  const button = el("button", { type: "button", onclick: () => {
    node.textContent = text;
    button.remove();
  } }, `show all ${plural(text.length, "character")}`);
  return [node, button, cut];
}

function part(label, kind, ...content) {
  return el("div", { class: `part ${kind}` }, el("div", { class: "label" }, label), el("div", {}, content));
}

/** A call: the tool, and its arguments by name. */
function callOf({ name, args }) {
  const said = args.flatMap(([key, value]) => [
    key === "" ? null : el("div", { class: "key" }, key),
    el("div", {}, prose(value, "mono")),
  ]);
  return part("call", "call", el("div", { class: "tool" }, name || "(no name)"),
    el("div", { class: args.some(([key]) => key !== "") ? "args" : "" }, said));
}

function judgmentsOf(judgments) {
  return part("judgments", "judgments", el("table", {}, el("tbody", {}, judgments.map((judgment) =>
    el("tr", { class: judgment.passed ? "" : "bad" },
      el("td", { class: "mark" }, el("span", { class: "hidden" }, judgment.passed ? "passed" : "failed"),
        el("span", { "aria-hidden": "true" }, judgment.passed ? "✓" : "✗")),
      el("th", { scope: "row" }, judgment.verifier),
      el("td", { class: "num" }, judgment.score),
      el("td", {}, prose(judgment.reason), judgment.code ? el("span", { class: "tag" }, judgment.code) : null))))));
}

function stepOf(step, i, { steps, max }) {
  const together = steps.filter((other) => other.turn === step.turn).length > 1;
  const place = together ? ` · turn ${step.turn + 1}, call ${step.call + 1}` : "";
  const blocked = step.judgments.some((judgment) => !judgment.passed);
  const bad = blocked || (step.observation && step.observation.kind !== "result");
  return el("li", { class: bad ? "step bad" : "step" },
    el("h3", {}, `Step ${i + 1}`, el("span", { class: "rest" }, ` of at most ${max}${place}${step.same_thought ? ", same thought" : ""}`)),
    step.thought ? part("thought", "thought", prose(step.thought)) : null,
    step.tool ? callOf(step.tool) : null,
    step.answer !== undefined ? part(step.refused ? "refusal" : "answer", "answer", prose(step.answer)) : null,
    !step.tool && step.answer === undefined ? part("reply", "reply", "not usable") : null,
    (step.mended ?? []).map((mended) => part("mended", "mended", prose(mended))),
    step.judgments.length ? judgmentsOf(step.judgments) : null,
    step.observation
      ? part(step.observation.kind, `observation ${step.observation.kind}`, prose(step.observation.content, "mono"))
      : null);
}

/** How it stands, and by which checks. */
function standing(session, trace) {
  const state = session.state === "failed" && session.failed.length
    ? ["failed ", session.failed.map((check) => el("span", { class: "tag" }, check))]
    : [session.state];
  const end = session.status ? ` · ${session.status}${session.limit ? ` (${session.limit})` : ""}` : " · not begun";
  const facts = trace?.end ? [" · ", trace.end.facts.join(" · ")] : "";
  const attempt = trace?.attempt ? ` · attempt ${trace.attempt + 1}` : "";
  return el("p", { class: "standing" }, el("span", { class: `dot ${session.state}` }), state, end, facts, attempt);
}

/** All of a session; `traces` are those of its case, if any are in the page. */
function sessionView(session, traces, run) {
  const trace = traces?.sessions[session.seed];
  const key = `${session.variant_name}/${session.case}/${session.seed}`;
  const head = [standing(session, trace)];
  if (!trace) {
    head.push(el("p", { class: "note" }, session.status !== null
      ? ["Its trace is not in this page: ", el("code", {}, `farm trace show ${key} --run ${run}`), " shows it."]
      : "It has not begun, so it has no trace."));
    return head;
  }
  const held = trace.checks.filter(([, passed]) => passed).map(([name]) => name);
  return [...head,
    held.length ? part("held", "held", held.map((name) => el("span", { class: "tag" }, name))) : null,
    trace.unscored ? part("not scored", "observation error", prose(trace.unscored)) : null,
    part("task", "task", prose(traces.task)),
    part("tools", "tools", traces.tools.length ? traces.tools.join(", ") : "none"),
    el("ol", { class: "steps" }, trace.steps.map((step, i) => stepOf(step, i, { steps: trace.steps, max: traces.max_steps }))),
    trace.end?.error ? part("error", "observation error", prose(trace.end.error, "mono")) : null,
    part("end", "end", trace.end ? `${trace.end.status}${trace.end.limit ? ` (${trace.end.limit})` : ""}` : "no end recorded"),
    el("p", { class: "note" }, `seed number ${trace.rng_seed}`)];
}
