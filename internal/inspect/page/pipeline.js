"use strict";
// The page draws snapshots as they come. Everything that was named by somebody
// else (keys, errors) gets into the page as text, never as markup.

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
let before = null, now = null, paused = false, followed = null, failing = 0;

// --- words ---------------------------------------------------------------

const count = (n) => n >= 1e6 ? (n / 1e6).toFixed(1) + " M" : n >= 1e4 ? (n / 1e3).toFixed(1) + " k" : String(n);
const bytes = (n) => n >= 1 << 20 ? (n / (1 << 20)).toFixed(1) + " MiB" : n >= 1024 ? (n / 1024).toFixed(n < 10240 ? 1 : 0) + " KiB" : n + " B";
// terse is a count or bytes where there is little room, as kubectl writes them: 50k, 152Ki.
const terse = (text) => text.replace(/(\d\d)\.\d/, "$1").replace(" ", "").replace(/B$/, "");
const rate = (n) => (n === null ? "–" : n >= 9.95 ? n.toFixed(0) : n >= .095 ? n.toFixed(1) : n > 0 ? n.toFixed(2) : "0") + "/s";
function seconds(s) {
  if (s < 0) return "never";
  if (s < .001) return (s * 1e6).toFixed(0) + " µs";
  if (s < 1) return (s * 1e3).toFixed(s < .01 ? 1 : 0) + " ms";
  if (s < 90) return s.toFixed(s < 10 ? 1 : 0) + " s";
  return s < 5400 ? (s / 60).toFixed(0) + " min" : (s / 3600).toFixed(1) + " h";
}
const clock = (t) => { const d = new Date(t); return d.toLocaleTimeString([], { hour12: false }) + "." + String(d.getMilliseconds()).padStart(3, "0"); };
const sum = (map) => Object.values(map).reduce((a, b) => a + b, 0);

// per is the rate of a counter between the last two snapshots; null without two.
function per(of, then, name) {
  if (!then || !before) return null;
  const dt = (Date.parse(now.now) - Date.parse(before.now)) / 1000;
  const value = (x) => typeof name === "function" ? name(x) : x[name];
  return dt > 0 ? Math.max(0, value(of) - value(then)) / dt : null;
}
const earlier = (list, name) => before && before[list].find((x) => x.name === name);

// --- drawing -------------------------------------------------------------

function el(parent, name, attributes, text) {
  const e = document.createElementNS(SVG, name);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  parent.append(e);
  return e;
}

// fit shortens a text to what a box has room for.
const ruler = document.createElement("canvas").getContext("2d");
function fit(text, width, strong) {
  ruler.font = (strong ? "600 " : "") + "12.5px system-ui, sans-serif";
  if (ruler.measureText(text).width <= width - 16) return text;
  while (text && ruler.measureText(text + "…").width > width - 16) text = text.slice(0, -1);
  return text + "…";
}

// draw draws boxes in a row, or in as many rows as they need, with arrows between
// them. A box is {title, tone, lines: [[text, class]], bar: [[class, part]], dots}.
function draw(svg, label, boxes, flows) {
  const width = Math.max(280, svg.parentElement.clientWidth), gap = 20, edge = 1;
  const columns = Math.max(1, Math.min(boxes.length, Math.floor((width + gap) / (124 + gap))));
  const perRow = boxes.length === 4 && columns === 3 ? 2 : columns;
  const w = (width - 2 * edge - gap * (perRow - 1)) / perRow, h = 96, rowGap = 20;
  const rows = Math.ceil(boxes.length / perRow);
  svg.setAttribute("viewBox", `0 0 ${width} ${rows * h + (rows - 1) * rowGap + 2}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  svg.replaceChildren();
  const place = (i) => [edge + (i % perRow) * (w + gap), edge + Math.floor(i / perRow) * (h + rowGap)];
  for (let i = 0; i + 1 < boxes.length; i++) arrow(svg, place(i), place(i + 1), w, h, gap, rowGap, flows[i] > 0);
  boxes.forEach((b, i) => box(svg, b, ...place(i), w, h));
}

function arrow(svg, [x, y], [x2, y2], w, h, gap, rowGap, flows) {
  const on = flows ? " flows" : "";
  if (y === y2) {
    el(svg, "path", { class: "arrow" + on, d: `M${x + w + 2} ${y + h / 2} H${x2 - 7}` });
    el(svg, "path", { class: "tip" + on, d: `M${x2 - 8} ${y + h / 2 - 4} l6 4 l-6 4 z` });
    return;
  }
  const mid = y + h + rowGap / 2, to = x2 + w / 2;
  el(svg, "path", { class: "arrow" + on, d: `M${x + w / 2} ${y + h + 2} V${mid} H${to} V${y2 - 7}` });
  el(svg, "path", { class: "tip" + on, d: `M${to - 4} ${y2 - 8} l4 6 l4 -6 z` });
}

function box(svg, b, x, y, w, h) {
  const g = el(svg, "g", { transform: `translate(${x} ${y})` });
  el(g, "rect", { class: "box " + (b.tone || ""), width: w, height: h, rx: 6 });
  el(g, "text", { class: "title", x: 8, y: 17 }, b.title);
  b.lines.forEach(([text, tone], i) => el(g, "text", { class: tone || "", x: 8, y: 36 + i * 17 }, fit(text, w, (tone || "").includes("strong"))));
  if (b.bar) bar(g, b.bar, w, h);
  if (b.dots) dots(g, b.dots, w);
}

function bar(g, parts, w, h) {
  const all = parts.reduce((n, [, part]) => n + part, 0), room = w - 16;
  el(g, "rect", { class: "rail", x: 8, y: h - 12, width: room, height: 5, rx: 2.5 });
  let x = 8;
  for (const [kind, part] of parts) {
    if (!(all > 0 && part > 0)) continue;
    const long = room * part / all;
    el(g, "rect", { class: kind, x, y: h - 12, width: long, height: 5, rx: 2.5 });
    x += long;
  }
}

// dots are the workers: full ones are at work. Sixteen to a row.
function dots(g, { n, busy }, w) {
  const step = Math.min(12, (w - 16) / Math.min(n, 16));
  for (let i = 0; i < Math.min(n, 32); i++) {
    el(g, "circle", { class: i < busy ? "busy" : "idle", cx: 12 + (i % 16) * step, cy: 33 + Math.floor(i / 16) * 12, r: Math.min(4, step / 2 - 1) });
  }
}

// --- chains --------------------------------------------------------------

const states = { watching: ["●", "well"], listing: ["◐", "care"], "watch-listing": ["◐", "care"], probing: ["◐", "care"], "backing-off": ["▲", "bad"], suspended: ["■", "bad"], stopped: ["■", "bad"] };

function resource(r) {
  const then = earlier("resources", r.name), [mark, tone] = states[r.state] || ["○", ""];
  const events = per(r, then, (x) => x.added + x.modified + x.deleted);
  const decodes = per(r, then, "decodes"), asks = now.controllers.map((c) => [c.name, per(c, earlier("controllers", c.name), (x) => x.asked[r.name] || 0)]).filter(([c]) => now.controllers.find((x) => x.name === c).asked[r.name]);
  const hit = r.decodes > 0 ? 100 * Math.max(0, 1 - r.unpacks / r.decodes) : null;
  const heard = r.state === "watching" ? [[`events ${rate(events)}`], [`heard ${r.lastEvent < 0 ? "—" : seconds(r.lastEvent) + " ago"}`, "faint"]]
    : r.retryIn > 0 ? [[`again in ${seconds(r.retryIn)}`], [`${count(r.failures)} failed`, "faint"]]
    : [[`events ${rate(events)}`], [`for ${seconds(r.inState)}`, "faint"]];
  const late = r.oldest > 5 ? "bad" : r.oldest > .5 ? "care" : "";
  const boxes = [
    { title: "REFLECTOR", tone: tone === "well" ? "" : tone, lines: [[`${mark} ${r.state}`, "strong " + tone], ...heard] },
    { title: "FIFO", tone: late, lines: [[`${count(r.backlog)} waiting`, r.backlog ? "strong" : ""], [r.backlog ? `oldest ${seconds(r.oldest)}` : "nothing waits", late || "faint"]] },
    { title: "STORE", lines: [[`${terse(count(r.plainObjects))} plain ${terse(bytes(r.plainBytes))}`], [`${terse(count(r.packedObjects))} packed ${terse(bytes(r.packedBytes))}`], [`cut away ${terse(bytes(r.savedBytes))}`, "faint"]], bar: [["plain", r.plainBytes], ["packed", r.packedBytes]] },
    { title: "READERS, QUEUES", lines: [[`decodes ${rate(decodes)}`], [hit === null ? "no reads yet" : `hits ${hit.toFixed(hit > 99 && hit < 100 ? 1 : 0)} %`, "faint"], ...(asks.length ? asks.slice(0, 2).map(([c, n]) => [`→ ${c} ${rate(n)}`, n > 0 ? "flow" : "faint"]) : [["wakes nobody", "faint"]])] },
  ];
  const flows = [events, events, Math.max(decodes || 0, ...asks.map(([, n]) => n || 0))];
  const label = `${r.name}: ${r.state}${r.why ? ", " + r.why : ""}; ${r.backlog} waiting; ${r.plainObjects} objects plain in ${bytes(r.plainBytes)}, ${r.packedObjects} packed in ${bytes(r.packedBytes)}; events ${rate(events)}, decodes ${rate(decodes)}`;
  return { label, boxes, flows, note: r.why ? `${r.why}` : "", side: r.resourceVersion ? `at ${r.resourceVersion}` : "" };
}

// --- queues --------------------------------------------------------------

function controller(c) {
  const then = earlier("controllers", c.name);
  const asked = per(c, then, (x) => sum(x.asked)), dropped = per(c, then, (x) => sum(x.dropped)), runs = per(c, then, "runs"), failed = per(c, then, "failed");
  const full = c.workers > 0 && c.busy === c.workers, shared = sum(c.asked) ? 100 * c.shared / sum(c.asked) : 0;
  const boxes = [
    { title: "HANDLERS", lines: [[`asks ${rate(asked)}`], [`shared ${shared.toFixed(0)} %`, "faint"], [`dropped ${rate(dropped)}`, "faint"]] },
    { title: "QUEUE", tone: c.ready + c.dirty > 1000 ? "care" : "", lines: [[`${count(c.ready + c.dirty)} ready`, c.ready ? "strong" : ""], [`${count(c.waiting)} waiting`], [`${count(c.backingOff)} backing off`, c.backingOff ? "care" : "faint"]], bar: [["busy", c.ready + c.dirty], ["packed", c.waiting], ["care", c.backingOff]] },
    { title: `WORKERS ${c.busy}/${c.workers}`, tone: full ? "care" : "", dots: { n: c.workers, busy: c.busy }, lines: [["", ""], c.workers > 16 ? ["", ""] : [c.busy ? `longest ${seconds(c.longest)}` : "all idle", "faint"], [`waited ${seconds(c.waited)}`, "faint"]] },
    { title: "RESULTS", tone: failed > 0 ? "care" : "", lines: [[`runs ${rate(runs)}`], [`failed ${rate(failed)}`, failed > 0 ? "care" : "faint"], [c.panicked ? `${count(c.panicked)} panics` : `${count(c.runs)} in all`, c.panicked ? "bad" : "faint"]] },
  ];
  const label = `${c.name}: ${c.ready + c.dirty} ready, ${c.waiting} waiting, ${c.backingOff} backing off; ${c.busy} of ${c.workers} workers busy; runs ${rate(runs)}, failed ${rate(failed)}`;
  return { label, boxes, flows: [asked, runs, runs], side: `remembers ${count(c.memory.keys)} keys in ${bytes(c.memory.bytes)}`, note: "" };
}

// panel finds the part of the page for a chain or queue, or makes it.
function panel(parent, name) {
  let p = parent.querySelector(`:scope > [data-name="${CSS.escape(name)}"]`);
  if (p) return p;
  p = document.createElement("article");
  p.dataset.name = name;
  const h = document.createElement("h3"), side = document.createElement("span");
  side.className = "faint";
  h.append(name + " ", side);
  const note = document.createElement("p");
  note.className = "alarm care";
  note.hidden = true;
  p.append(h, document.createElementNS(SVG, "svg"), note);
  parent.append(p);
  return p;
}

function show(parent, name, what) {
  const p = panel(parent, name);
  p.querySelector("h3 span").textContent = what.side;
  draw(p.querySelector("svg"), what.label, what.boxes, what.flows);
  const note = p.querySelector("p.alarm");
  note.hidden = !what.note;
  note.textContent = what.note;
  return p;
}

// hottest keeps the buttons that are there, so that the keyboard's focus stays
// with its key while the order changes.
function hottest(p, c) {
  let list = p.querySelector(".keys");
  if (!list) {
    list = document.createElement("div");
    list.className = "keys";
    list.setAttribute("role", "group");
    list.setAttribute("aria-label", `hottest keys of ${c.name}`);
    p.append(list);
  }
  const there = new Map([...list.children].map((b) => [b.dataset.key, b]));
  const focused = document.activeElement;
  c.hottest.forEach((k, i) => {
    const b = there.get(k.key) || keyButton(c.name, k.key);
    there.delete(k.key);
    b.lastChild.textContent = `${k.perMinute.toFixed(k.perMinute < 9.95 ? 1 : 0)}/min, ${k.state}`;
    if (list.children[i] !== b) list.insertBefore(b, list.children[i] || null);
  });
  for (const b of there.values()) if (b !== focused) b.remove();
  if (list.contains(focused)) focused.focus({ preventScroll: true });
}

function keyButton(name, key) {
  const b = document.createElement("button");
  b.type = "button";
  b.dataset.key = key;
  b.append(key, document.createElement("span"));
  b.addEventListener("click", () => follow(name, key, true));
  return b;
}

// --- alarms --------------------------------------------------------------

function alarms() {
  const list = [];
  for (const c of now.controllers) {
    for (const a of c.alarms || []) list.push([`${c.name} ${a.key}`, a.kind, `${a.key} of ${c.name}: ${a.runs} runs in a row, held back for ${seconds(a.delay)}${a.error ? ": " + a.error : ""}`, "", c.name, a.key]);
    if (c.alarmed > (c.alarms || []).length) list.push([c.name + " more", "and", `${c.alarmed - c.alarms.length} more of ${c.name}`, ""]);
  }
  for (const r of now.resources) {
    for (const q of r.quarantine || []) list.push([`${r.name} ${q.key}`, "quarantine", `${q.key} of ${r.name}, ${q.attempts} attempts: ${q.error}`, "care"]);
    if (r.quarantined > (r.quarantine || []).length) list.push([r.name + " more", "and", `${r.quarantined - r.quarantine.length} more of ${r.name} in quarantine`, "care"]);
    if (r.why) list.push([r.name, r.state, `${r.name}: ${r.why}`, "care"]);
  }
  const ul = $("alarms"), there = new Map([...ul.children].map((li) => [li.dataset.of, li]));
  for (const [of, kind, text, tone, c, key] of list) {
    let li = there.get(of);
    there.delete(of);
    if (!li) {
      li = document.createElement("li");
      li.dataset.of = of;
      li.append(document.createElement("b"), " ", document.createElement("span"));
      if (key) {
        const b = document.createElement("button");
        b.type = "button";
        b.textContent = "follow";
        b.setAttribute("aria-label", `follow ${key}`);
        b.addEventListener("click", () => follow(c, key, true));
        li.append(" ", b);
      }
      ul.append(li);
    }
    li.className = "alarm " + tone;
    if (li.children[0].textContent !== kind) li.children[0].textContent = kind;
    if (li.children[1].textContent !== text) li.children[1].textContent = text;
  }
  for (const li of there.values()) li.remove();
  $("calm").hidden = list.length > 0;
}

// --- one key -------------------------------------------------------------

function follow(name, key, look) {
  followed = { name, key };
  $("controller").value = name;
  $("key").value = key;
  $("leave").hidden = false;
  history.replaceState(null, "", "#" + [name, ...key.split("/")].map(encodeURIComponent).join("/"));
  if (look) $("follow").scrollIntoView({ block: "nearest", behavior: "auto" });
  ask();
}

function leave() {
  followed = null;
  $("leave").hidden = true;
  $("report").hidden = true;
  $("hint").hidden = false;
  history.replaceState(null, "", location.pathname + location.search);
}

async function ask() {
  const asked = followed;
  if (!asked) return;
  try {
    const answer = await fetch(`key?controller=${encodeURIComponent(asked.name)}&key=${encodeURIComponent(asked.key)}`, { headers: { Accept: "application/json" } });
    if (followed !== asked) return;
    if (!answer.ok) return unknown((await answer.text()).trim());
    report(await answer.json());
  } catch (err) {
    if (followed === asked) unknown(String(err));
  }
}

function unknown(text) {
  $("report").hidden = true;
  $("hint").hidden = false;
  $("hint").textContent = text;
}

const because = (list) => list.map((c) => [c.source, c.event, c.name, c.oldRV || c.newRV ? `${c.oldRV || ""}→${c.newRV || ""}` : "", c.count > 1 ? "×" + c.count : ""].filter(Boolean).join(" ")).join("\n");

function report(r) {
  $("report").hidden = false;
  $("hint").hidden = true;
  $("report-title").textContent = `${r.controller} ${r.key}`;
  const q = r.queue, facts = [["queue", q.state + (q.failures ? `, ${q.failures} failures in a row` : "") + (q.ahead ? ", ahead in its namespace" : "") + (q.low ? ", low lane" : "")]];
  if (q.due) facts.push(["due", `${clock(q.due)}, in ${seconds(Math.max(0, (Date.parse(q.due) - Date.parse(r.now)) / 1000))}`]);
  if (r.object.cached) facts.push(["object", `${r.object.resource}, version ${r.object.resourceVersion}, ${bytes(r.object.bytes)} ${r.object.tier}`]);
  else facts.push(["object", `${r.object.resource}: not in the cache`]);
  if (r.quarantine) facts.push(["quarantine", r.quarantine.error]);
  if (r.alarm) facts.push(["alarm", `${r.alarm.kind}: ${r.alarm.runs} runs in a row ${r.alarm.error || ""}`]);
  if (q.running) facts.push(["runs for", because(q.running)]);
  if (q.next) facts.push(["next for", because(q.next)]);
  if (r.because) facts.push(["last for", because(r.because)]);
  facts.push(["runs", `${r.runs}, about ${r.perMinute.toFixed(1)} a minute`]);
  $("facts").replaceChildren(...facts.flatMap(([name, value]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    return [dt, dd];
  }));
  const rows = r.events.toReversed().map((e) => {
    const tr = document.createElement("tr");
    for (const text of [clock(e.time), e.stage, e.text]) tr.insertCell().textContent = text;
    return tr;
  });
  $("events").tBodies[0].replaceChildren(...rows);
}

// --- the stream ----------------------------------------------------------

// standing is what this replica has of the work. Of a share that is above 0 it is told when
// the caches are there.
function standing() {
  if (now.share === undefined) return now.leads ? "leads" : "stands by: its caches are warm, its queues empty";
  if (now.share === 0) return "has no share of the namespaces now: its caches are empty";
  return `${now.leads ? "works on" : "fills its caches for"} its share, ${(100 * now.share).toFixed(1)} % of the namespaces' hashes`;
}

function render() {
  if (!now) return;
  const seen = now.controllers.map((c) => c.name), select = $("controller");
  if (select.options.length !== seen.length) {
    select.replaceChildren(...seen.map((name) => new Option(name, name)));
    if (followed) select.value = followed.name;
  }
  $("replica").textContent = `version ${now.version}, this replica ${standing()}, ${clock(now.now).slice(0, 8)}`;
  for (const c of now.controllers) hottest(show($("controllers"), c.name, controller(c)), c);
  for (const r of now.resources) show($("resources"), r.name, resource(r));
  alarms();
}

function connection(text, kind) {
  const c = $("connection");
  if (c.textContent !== text) c.textContent = text;
  c.className = "tag " + kind;
}

function listen() {
  const stream = new EventSource("events");
  stream.addEventListener("snapshot", (e) => {
    failing = 0;
    if (paused) return;
    before = now;
    now = JSON.parse(e.data);
    connection("live", "live");
    render();
    ask();
  });
  stream.onerror = () => { if (++failing > 0 && !paused) connection("connection lost, trying again", "lost"); };
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  if (!paused) now = null; // the next rates must not be those of the pause
  document.body.classList.toggle("paused", paused);
  $("pause").setAttribute("aria-pressed", String(paused));
  connection(paused ? "paused" : "live", paused ? "" : "live");
});
$("leave").addEventListener("click", leave);
$("ask").addEventListener("submit", (e) => { e.preventDefault(); follow($("controller").value, $("key").value.trim(), false); });
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && followed) return leave();
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, select, textarea")) return;
  if (e.key === "p") $("pause").click();
  if (e.key === "/") { e.preventDefault(); $("key").focus(); }
});
new ResizeObserver(render).observe(document.body);
const [hashName, ...hashKey] = location.hash.slice(1).split("/").map(decodeURIComponent);
if (hashKey.length === 2) { followed = { name: hashName, key: hashKey.join("/") }; $("key").value = followed.key; $("leave").hidden = false; }
listen();
