// What stands where: the cases, the charts, the sessions and the one that is open.

const data = embedded("data");
const tagsOf = new Map(data.cases.map(({ id, tags }) => [id, tags]));
const several = data.variants.length > 1;

/** Values with how many rows have each, as the options of a filter; the most frequent first. */
function options(rows, valuesOf) {
  const counts = new Map();
  for (const row of rows) {
    for (const value of valuesOf(row)) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort(([a, n], [b, m]) => m - n || compare(a, b, 1))
    .map(([value, n]) => [value, `${value} (${count(n)})`]);
}

/** A filter by any of the values that a row has. */
function filter(label, rows, valuesOf) {
  return { label, values: options(rows, valuesOf), has: (row, value) => valuesOf(row).includes(value) };
}

const number = (pair) => (pair === null ? "–" : pair[1]);
const value = (pair) => (pair === null ? null : pair[0]);
const variantOf = (row) => [data.variants[row.variant]];
const checkName = (check) => check.replace(/ \d+\/\d+$/, "");
const tags = (list) => list.map((tag) => el("span", { class: "tag" }, tag));

function caseTable() {
  const numbers = [
    ["may fail", "may_fail", "Largest failure rate still plausible of a case that always passed"],
    ["flaky", "flakiness", "Chance that two seeds of the case disagree"],
    ["steps", "steps", "Mean steps of completed sessions, and these of all that were scored", (row) => row.completed],
    ["cost", "cost", "Mean US dollars of a session"],
    ["score", "score", "Mean score of all judgments"],
  ].filter(([, key]) => data.rows.some((row) => row[key] !== null));
  const columns = [
    { head: "case", kind: "id", key: (row) => row.case, cell: caseLink },
    ...(several ? [{ head: "variant", kind: "name", key: (row) => row.variant, cell: variantOf }] : []),
    { head: "pass rate", kind: "num rate", key: (row) => row.rate, cell: rate },
    { head: "", kind: "bar", cell: (row) => interval(row.rate) },
    { head: "n", kind: "num", key: (row) => Number.parseInt(row.n, 10), cell: (row) => row.n },
    { head: "label", kind: "name", key: (row) => row.label, cell: (row) => (row.label ? word(row.label) : "–") },
    ...numbers.map(([head, key, title, rest]) => ({ head, title, kind: "num minor", key: (row) => value(row[key]),
      cell: (row) => [number(row[key]), rest ? el("span", { class: "rest" }, ` ${rest(row)}`) : null] })),
    { head: "failed checks", kind: "checks", key: (row) => row.checks.length, cell: checks },
  ];
  return new Table(document.getElementById("case-table"), {
    noun: several ? "row" : "case",
    rows: data.rows,
    columns,
    sort: columns.findIndex(({ head }) => head === "pass rate"),
    id: (row) => row.case,
    filters: [
      filter("variant", data.rows, variantOf),
      filter("label", data.rows, (row) => [row.label ?? "not scored"]),
      filter("failing check", data.rows, (row) => row.checks.map(checkName)),
      filter("tag", data.rows, (row) => tagsOf.get(row.case) ?? []),
    ],
  });
}

function rate(row) {
  const [estimate, ...rest] = row.rate_text.split(" ");
  return [el("b", {}, estimate), el("span", { class: "rest" }, ` ${rest.join(" ")}`)];
}

function checks(row) {
  const missing = row.missing ? el("span", { class: "tag missing" }, row.missing) : null;
  return [...tags(row.checks), missing];
}

function caseLink(row) {
  const names = (tagsOf.get(row.case) ?? []).join(", ");
  const find = () => sessionTable.find(`/${row.case}/`, { variant: data.variants[row.variant] });
  const id = sessionTable === null
    ? row.case
    : el("a", { href: "#sessions", title: "its sessions", onclick: find }, row.case);
  return [el("span", { class: row.case.length < 20 ? "key nobr" : "key" }, id), el("span", { class: "rest" }, names)];
}

/** Sessions as rows. */
function sessionsOf({ first_seed, checks: names, ways }) {
  return data.variants.flatMap((variant_name, variant) => data.cases.flatMap((of, case_index) => {
    const group = embedded(`s-${variant}-${case_index}`);
    return group.ways.map((at, i) => {
      const way = ways[at];
      const seed = first_seed + i;
      return {
        variant,
        variant_name,
        case_index,
        case: of.id,
        seed,
        state: way.state,
        ended: way.ended,
        failed: way.failed.map((check) => names[check]),
        steps: group.steps[i],
        cost: group.cost[i],
        traced: document.getElementById(`t-${variant}-${case_index}-${seed}`) !== null,
      };
    });
  }));
}

const keyOf = (session) => `${session.variant_name}/${session.case}/${session.seed}`;
const statusOf = (session) => session.ended ?? "not begun";

function makeSessionTable(sessions) {
  const columns = [
    { head: "session", kind: "id", key: ({ variant, case_index, seed }) => [variant, case_index, seed],
      cell: (session) => el("a", { href: `#${keyOf(session)}` }, keyOf(session)) },
    { head: "state", kind: "name", key: (session) => session.state, cell: (session) => word(session.state) },
    { head: "status", kind: "name", key: statusOf, cell: statusOf },
    { head: "steps", kind: "num", key: (session) => session.steps, cell: (session) => session.steps ?? "–" },
    { head: "cost", kind: "num", key: (session) => session.cost, cell: (session) => usd(session.cost) },
    { head: "failed checks", kind: "checks", key: (session) => session.failed.join(" ") || null,
      cell: (session) => tags(session.failed) },
    { head: "trace", kind: "name minor", key: (session) => (session.traced ? 0 : 1),
      cell: (session) => (session.traced ? "here" : "–") },
  ];
  return new Table(document.getElementById("session-table"), {
    noun: "session",
    rows: sessions,
    columns,
    sort: 0,
    id: keyOf,
    open: (session, event) => {
      if (event.target.closest("a") === null && String(getSelection()) === "") location.hash = keyOf(session);
    },
    filters: [
      filter("variant", sessions, (session) => [session.variant_name]),
      filter("state", sessions, (session) => [session.state]),
      filter("status", sessions, (session) => [statusOf(session)]),
      filter("failing check", sessions, (session) => session.failed),
      filter("tag", sessions, (session) => tagsOf.get(session.case) ?? []),
    ],
  });
}

const sessions = data.sessions === null ? [] : sessionsOf(data.sessions);
let sessionTable = null;
if (data.sessions !== null) {
  sessionTable = makeSessionTable(sessions);
  document.getElementById("traces").append(
    ...data.traces.map(({ text, is_command }) => (is_command ? el("code", {}, text) : text)));
  const ended = sessions.filter((session) => session.steps !== null);
  document.getElementById("charts").append(
    ...spread("Steps", data.variants, ended, (session) => session.steps, String, true),
    ...spread("Cost", data.variants, ended, (session) => session.cost, usd, false));
}
const cases = caseTable();

const byKey = new Map(sessions.map((session) => [keyOf(session), session]));
const dialog = document.getElementById("session");

/** What is said of a session that is not in the list, with the command that shows it if there is one. */
function absent(key) {
  const [variant, id, seed] = key.split("/");
  if (data.sessions !== null) {
    const seeds = sessions.length ? `; its seeds are ${sessions[0].seed} to ${sessions.at(-1).seed}` : "";
    return `This run has no such session${seeds}. The table of sessions has all that there are.`;
  }
  // The address may come from anyone: only what this run knows stands in a command.
  const known = data.variants.includes(variant) && tagsOf.has(id) && /^\d+$/.test(seed);
  return known
    ? ["Sessions are not in this page. Where the run's database is, ", showing(`${variant}/${id}/${seed}`), " shows it."]
    : "This run has no such variant or case.";
}

/** Opens the session that the address names, or closes the one that is open. */
function follow() {
  const key = location.hash.slice(1);
  if (!key.includes("/")) {
    dialog.close();
    return;
  }
  const session = byKey.get(key);
  const list = sessionTable?.shown ?? [];
  const at = list.indexOf(session);
  // One entry of the browser's history for all that are leafed through: back closes the session.
  const go = (to, text, label) => el("button", { type: "button", disabled: to === undefined,
    "aria-label": label, title: label, onclick: () => location.replace(`#${keyOf(to)}`) }, text);
  dialog.replaceChildren(
    el("header", {},
      el("h2", { id: "session-title" }, key),
      el("div", { class: "buttons" },
        go(at < 0 ? undefined : list[at - 1], "←", "previous session (left arrow)"),
        go(at < 0 ? undefined : list[at + 1], "→", "next session (right arrow)"),
        el("button", { type: "button", title: "Esc", onclick: () => dialog.close() }, "close"))),
    el("div", { class: "view", tabindex: 0 },
      session === undefined ? el("p", { class: "note" }, absent(key)) : sessionView(session)));
  if (!dialog.open) dialog.showModal();
  dialog.querySelector(".view").focus();
}

dialog.addEventListener("close", () => {
  if (location.hash.includes("/")) history.replaceState(null, "", "#sessions");
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
dialog.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const [back, forth] = dialog.querySelectorAll(".buttons button");
  if (event.key === "ArrowLeft") back.click();
  if (event.key === "ArrowRight") forth.click();
});
addEventListener("hashchange", follow);
addEventListener("beforeprint", () => cases.draw(true));
addEventListener("afterprint", () => cases.draw());
follow();
document.documentElement.dataset.ready = "";
