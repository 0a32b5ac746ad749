// One session: its task, its steps, its end.

const SHORT = 4000; // characters of a text before the rest is folded

/** The command that shows a session, and in full what is cut in this page. */
function showing(key, ...more) {
  return el("code", {}, ["farm trace show", key, "--run", data.run, ...more].join(" "));
}

/** What a model, a tool or a file said. `said` is a text, or `{text, more}` when it was cut. */
function prose(said, key, kind = "") {
  const { text, more } = typeof said === "string" ? { text: said, more: 0 } : said;
  const cut = more
    ? el("p", { class: "note" }, `${plural(more, "more character")} left out of this page: `, showing(key, "--full"), " shows all.")
    : null;
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
function callOf({ name, args }, key) {
  const said = args.flatMap(([arg, value]) => [
    arg === "" ? null : el("div", { class: "key" }, arg),
    el("div", {}, prose(value, key, "mono")),
  ]);
  return part("call", "call", el("div", { class: "tool" }, name || "(no name)"),
    el("div", { class: args.some(([arg]) => arg !== "") ? "args" : "" }, said));
}

function judgmentsOf(judgments, key) {
  return part("judgments", "judgments", el("table", {}, el("tbody", {}, judgments.map((judgment) =>
    el("tr", { class: judgment.passed ? "" : "bad" },
      el("td", { class: "mark" }, el("span", { class: "hidden" }, judgment.passed ? "passed" : "failed"),
        el("span", { "aria-hidden": "true" }, judgment.passed ? "✓" : "✗")),
      el("th", { scope: "row" }, judgment.verifier),
      el("td", { class: "num" }, judgment.score),
      el("td", {}, prose(judgment.reason, key), judgment.code ? el("span", { class: "tag" }, judgment.code) : null))))));
}

function stepOf(step, i, { key, steps, max }) {
  const together = steps.filter((other) => other.turn === step.turn).length > 1;
  const place = together ? ` · turn ${step.turn + 1}, call ${step.call + 1}` : "";
  return el("li", { class: step.failed ? "step bad" : "step" },
    el("h3", {}, `Step ${i + 1}`, el("span", { class: "rest" }, ` of at most ${max}${place}${step.same_thought ? ", same thought" : ""}`)),
    step.served ? part("turn", "turn", step.served) : null,
    step.thought ? part("thought", "thought", prose(step.thought, key)) : null,
    step.tool ? callOf(step.tool, key) : null,
    step.answer !== undefined ? part(step.refused ? "refusal" : "answer", "answer", prose(step.answer, key)) : null,
    !step.tool && step.answer === undefined ? part("reply", "reply", "not usable") : null,
    (step.repairs ?? []).map((repair) => part("repaired", "repaired", prose(repair, key))),
    step.judgments.length ? judgmentsOf(step.judgments, key) : null,
    step.observation
      ? part(step.observation.kind, `observation ${step.observation.kind}`, prose(step.observation.content, key, "mono"))
      : null);
}

/** How it stands, and by which checks. */
function standing(session, trace) {
  const state = session.state === "failed" && session.failed.length
    ? ["failed ", session.failed.map((check) => el("span", { class: "tag" }, check))]
    : [session.state];
  const facts = trace?.end ? [" · ", trace.end.facts.join(" · ")] : "";
  const attempt = trace?.attempt ? ` · attempt ${trace.attempt + 1}` : "";
  return el("p", { class: "standing" }, el("span", { class: `dot ${session.state}` }), state, ` · ${statusOf(session)}`, facts, attempt);
}

/** All of a session, as far as it is in the page. */
function sessionView(session) {
  const key = keyOf(session);
  const of = `${session.variant}-${session.case_index}`;
  const trace = embedded(`t-${of}-${session.seed}`);
  const head = [standing(session, trace)];
  if (!trace) {
    head.push(el("p", { class: "note" }, session.ended !== null
      ? ["Its trace is not in this page: ", showing(key), " shows it."]
      : "It has not begun, so it has no trace."));
    return head;
  }
  const { task, tools, max_steps: max } = embedded(`c-${of}`);
  const held = trace.checks.filter(([, passed]) => passed).map(([name]) => name);
  return [...head,
    held.length ? part("held", "held", held.map((name) => el("span", { class: "tag" }, name))) : null,
    trace.unscored ? part("not scored", "observation error", prose(trace.unscored, key)) : null,
    part("task", "task", prose(task, key)),
    part("tools", "tools", tools.length ? tools.join(", ") : "none"),
    el("ol", { class: "steps" }, trace.steps.map((step, i) => stepOf(step, i, { key, steps: trace.steps, max }))),
    trace.end?.error ? part("error", "observation error", prose(trace.end.error, key, "mono")) : null,
    part("end", "end", trace.end?.ended ?? "no end recorded"),
    el("p", { class: "note" }, `seed number ${trace.rng_seed}`)];
}
