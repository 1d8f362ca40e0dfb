// The rating page: sets answers by key, mouse and touch, saves each as it is set, and loses nothing when the network
// goes. What is not saved yet stands in `pending`, in memory and in this browser's storage, until the server has it.
"use strict";

const $ = (query, at = document) => at.querySelector(query);
const $$ = (query, at = document) => [...at.querySelectorAll(query)];
const state = JSON.parse($("#state").textContent);
const secret = JSON.parse($("#secret").textContent);
const words = state.words;
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const unsaved = (count) => fill(count === 1 && words.unsaved_one || words.unsaved, { count });
const items = $$(".item"), form = $(".work"), left = $("#left"), saved = $("#saved"), flagged = $("#flag");
let current = items[0];

// ---------- what is kept in this browser ----------

const place = `attune:${state.unit}`;
const storage = {
  get() { try { return JSON.parse(localStorage.getItem(place)) || {}; } catch { return {}; } },
  set(value) { try { Object.keys(value).length ? localStorage.setItem(place, JSON.stringify(value)) : localStorage.removeItem(place); } catch { /* a browser that keeps nothing */ } },
};
const pending = storage.get();       // item -> change; "#flag" -> {flagged}; "#urgent" -> {id, text}
const drafts = {};                   // item -> {state, value, comment, evidence}
const seen = {};                     // item -> the number of the last change that this page knows of
let number = state.number, sending = null, closed = false, failures = 0, retry, elsewhere = false;

for (const item of items) {
  const id = item.dataset.item, kept = pending[id] || state.drafts[id];
  seen[id] = state.drafts[id]?.number || 0;
  drafts[id] = kept ? { state: kept.state, value: kept.value, comment: kept.comment, evidence: kept.evidence } : { state: null, value: null, comment: "", evidence: [] };
}
for (const key of Object.keys(pending)) {
  if (key.startsWith("#")) continue;
  if (drafts[key]) stage(key); else delete pending[key];
}
let isFlagged = pending["#flag"] ? pending["#flag"].flagged : state.flagged;

// ---------- saving ----------

function stage(id) { seen[id] = ++number; pending[id] = { item: id, number, ...drafts[id] }; storage.set(pending); }
function put(item) { stage(item.dataset.item); count(); flush(); }

async function post(url, body, seconds = 10) {
  const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json", "x-form-secret": secret }, body: JSON.stringify(body), credentials: "same-origin", redirect: "error", signal: AbortSignal.timeout(seconds * 1000) });
  let content = {};
  try { content = await answer.json(); } catch { /* an answer without words */ }
  return { ok: answer.ok, status: answer.status, content };
}

function flush() {
  sending ??= send().finally(() => { sending = null; });
  return sending;
}

async function send() {
  clearTimeout(retry);
  while (!closed && Object.keys(pending).length) {
    const urgent = pending["#urgent"], flag = pending["#flag"];
    const changes = Object.entries(pending).filter(([key]) => !key.startsWith("#")).map(([, change]) => change);
    show("i-wait", failures ? unsaved(changes.length || 1) : words.saving);
    try {
      if (urgent) {
        const answer = await post(state.urls.urgent, urgent);
        if (!answer.ok && answer.status >= 500) throw new Error("busy");
        if (answer.ok) told(new Date(answer.content.at));
        if (answer.ok || answer.status === 400) delete pending["#urgent"]; else return stop(answer.status);
        storage.set(pending);
        continue;
      }
      const answer = await post(state.urls.save, { changes, flagged: flag ? flag.flagged : null });
      if (answer.status >= 500 || answer.status === 429) throw new Error("busy");
      if (!answer.ok) return stop(answer.status);
      if (answer.content.number) {   // another window of this rater went on: what is set here comes after it
        number = Math.max(number, answer.content.number); elsewhere = true;
        for (const change of changes) if (pending[change.item]) stage(change.item);
        continue;
      }
      for (const change of changes) if (pending[change.item]?.number === change.number) delete pending[change.item];
      if (flag && pending["#flag"] === flag) delete pending["#flag"];
      failures = 0; storage.set(pending);
    } catch {
      failures += 1;
      show("i-wait", unsaved(Object.keys(pending).length));
      if (urgent) $("#urgent-told").textContent = words.urgent_failed;
      retry = setTimeout(flush, Math.min(1000 * failures, 5000));
      return;
    }
  }
  if (closed) return;
  show("i-saved", words.saved);
  if (elsewhere) location.reload();  // to show what the other window set
}

function stop(status) {              // nothing more can be saved; what is pending stays in this browser
  closed = true;
  show("i-wait", status === 401 ? words.signed_out : status === 400 ? words.refused : words.gone);
}

function show(icon, text) { saved.className = `saved icon ${icon}`; if (saved.textContent !== text) saved.textContent = text; }

addEventListener("online", flush);
addEventListener("beforeunload", event => { if (Object.keys(pending).length && !closed) { flush(); event.preventDefault(); } });

// ---------- questions ----------

const title = item => $("h3 span", item).textContent;
const chosen = item => $(".scale input:checked", item);
const isAnswered = item => drafts[item.dataset.item].state !== null;
const lacksNote = item => chosen(item)?.dataset.note !== undefined && !drafts[item.dataset.item].comment.trim();

const named = item => `${items.indexOf(item) + 1} ${title(item)}`;

function choose(item, move) {        // the question the keys speak to
  current = item;
  $(".views a:last-child").hash = item.id;
  for (const other of items) other.classList.toggle("current", other === item);
  if (move) { (chosen(item) || $(".scale input", item)).focus({ preventScroll: true }); item.scrollIntoView({ block: "nearest" }); }
}

function anchor(item, input, preview) {   // the line below the scale: the answer under the cursor, else the chosen one
  const line = $(".anchor", item), meaning = input && document.getElementById(`q-${item.dataset.item}-${input.value}`);
  line.className = "anchor" + (meaning ? preview ? " preview" : "" : " idle"); line.textContent = "";
  if (!meaning) { line.textContent = drafts[item.dataset.item].state === "abstained" ? words.abstained : words.idle; return; }
  const name = document.createElement("b"); name.textContent = $("b", meaning).textContent;
  line.append(name, $("span", meaning).textContent);
}

const valueOf = input => /^-?\d+$/.test(input.value) ? Number(input.value) : input.value;
function set(item, input) {
  const draft = drafts[item.dataset.item], value = valueOf(input);
  draft.state = value === "NA" ? "na" : "value"; draft.value = value;
  draw(item); put(item);
  if (document.activeElement?.type === "radio" && item.contains(document.activeElement)) input.focus({ preventScroll: true });
}

function abstain(item) {
  const draft = drafts[item.dataset.item], on = draft.state !== "abstained";
  draft.state = on ? "abstained" : null; draft.value = null;
  draw(item); put(item);
}

function clear(item) {
  const draft = drafts[item.dataset.item];
  draft.state = null; draft.value = null;
  draw(item); put(item);
}

function draw(item) {
  const draft = drafts[item.dataset.item];
  for (const input of $$(".scale input", item)) input.checked = draft.value !== null && input.value === String(draft.value);
  item.classList.toggle("abstained", draft.state === "abstained");
  $("[data-abstain]", item).setAttribute("aria-pressed", draft.state === "abstained");
  anchor(item, chosen(item));
  const due = chosen(item)?.dataset.note !== undefined;
  $(".free", item).hidden = due; $(".due", item).hidden = !due;
  if (due || draft.comment) noting(item, true);
}

function noting(item, open) {
  $(".note-box", item).hidden = !open; $("[data-comment]", item).setAttribute("aria-expanded", open);
}

function comment(item) {
  const closing = !$(".note-box", item).hidden && !drafts[item.dataset.item].comment && chosen(item)?.dataset.note === undefined;
  noting(item, !closing);
  if (!closing) $("textarea", item).focus();
}

function help(item, which) {
  const button = $(`[data-help="${which}"]`, item); if (!button) return;
  const panel = document.getElementById(button.getAttribute("aria-controls"));
  panel.hidden = !panel.hidden; button.setAttribute("aria-expanded", !panel.hidden);
  if (!panel.hidden) item.scrollIntoView({ block: "nearest" });
}

function count() {
  const answered = items.filter(isAnswered).length;
  left.className = "grow";
  left.textContent = answered === items.length ? fill(words.all_answered, { total: answered }) : fill(words.answered, { count: answered, total: items.length });
}

for (const item of items) {
  const note = $("textarea", item);
  note.value = drafts[item.dataset.item].comment;
  let later;
  note.addEventListener("input", () => {
    const id = item.dataset.item;
    drafts[id].comment = note.value;
    stage(id);
    if (!failures) show("i-wait", words.saving);
    clearTimeout(later); later = setTimeout(flush, 400);
  });
  item.addEventListener("focusin", () => choose(item)); item.addEventListener("pointerdown", () => choose(item));
  for (const label of $$(".scale label", item)) {
    const input = $("input", label);
    label.addEventListener("pointerenter", event => event.pointerType !== "touch" && !input.checked && anchor(item, input, true));
    label.addEventListener("pointerleave", () => anchor(item, chosen(item)));
    input.addEventListener("change", () => set(item, input));
  }
  for (const button of $$("[data-help]", item)) button.addEventListener("click", () => help(item, button.dataset.help));
  $("[data-comment]", item).addEventListener("click", () => comment(item));
  $("[data-abstain]", item).addEventListener("click", event => { if (event.detail < 2) abstain(item); });   // a double click is one
}

function flag() {
  isFlagged = !isFlagged; flagged.setAttribute("aria-pressed", isFlagged);
  pending["#flag"] = { flagged: isFlagged }; storage.set(pending); flush();
}
flagged.addEventListener("click", flag);

// ---------- evidence: positions count characters, not the half ones of a script ----------

const messages = $$(".turns .words").map(element => ({ element, text: element.textContent, turn: Number(element.dataset.turn), speaker: element.dataset.speaker }));
const length = text => { let size = 0; for (const _ of text) size += 1; return size; };
const cut = (text, start, end) => [...text].slice(start, end).join("");
const messageOf = span => messages.find(message => message.turn === span.turn && message.speaker === span.speaker);

function mark() {                    // draw all marks anew; the number says for which question
  for (const message of messages) {
    const spans = [];
    items.forEach((item, at) => { for (const span of drafts[item.dataset.item].evidence) if (messageOf(span) === message) spans.push({ ...span, name: at + 1 }); });
    if (!spans.length && !$("mark", message.element)) continue;
    const signs = [...message.text];
    const edges = [...new Set([0, signs.length, ...spans.flatMap(span => [span.start, span.end])])].sort((a, b) => a - b);
    message.element.textContent = "";
    for (let at = 0; at + 1 < edges.length; at += 1) {
      const text = signs.slice(edges[at], edges[at + 1]).join("");
      if (!spans.some(span => span.start <= edges[at] && span.end >= edges[at + 1])) { message.element.append(text); continue; }
      const marked = document.createElement("mark"); marked.textContent = text;
      const ending = spans.filter(span => span.end === edges[at + 1]).map(span => span.name);
      if (ending.length) marked.dataset.n = [...new Set(ending)].join(" ");
      message.element.append(marked);
    }
  }
  for (const item of items) chips(item);
}

function chips(item) {
  const aids = $(".aids", item), draft = drafts[item.dataset.item];
  aids.textContent = "";
  draft.evidence.forEach((span, at) => {
    const chip = document.createElement("span"), said = document.createElement("span"), button = document.createElement("button");
    chip.className = "ev"; said.className = "said"; said.dir = "auto"; said.textContent = `“${cut(messageOf(span)?.text || "", span.start, span.end)}”`;
    button.type = "button"; button.textContent = "×"; button.setAttribute("aria-label", words.remove_evidence);
    button.addEventListener("click", () => { draft.evidence = draft.evidence.filter((_, other) => other !== at); mark(); put(item); });
    chip.append(said, button); aids.append(chip);
  });
}

function add(item, span) {
  const draft = drafts[item.dataset.item];
  const same = draft.evidence.some(other => other.turn === span.turn && other.speaker === span.speaker && other.start === span.start && other.end === span.end);
  if (!same) draft.evidence = [...draft.evidence, span];
  mark(); put(item); left.textContent = fill(words.evidence_added, { question: named(item) });
}

function selected() {                // the selected words as a span; null where there are none, false where it is no one message
  const selection = getSelection();
  if (selection.isCollapsed || !selection.rangeCount) return null;
  const range = selection.getRangeAt(0), inside = node => (node.nodeType === 1 ? node : node.parentElement).closest(".turns .words");
  const element = inside(range.startContainer);
  if (!element && !inside(range.endContainer)) return null;
  if (!element || element !== inside(range.endContainer)) return false;
  const before = document.createRange(); before.selectNodeContents(element); before.setEnd(range.startContainer, range.startOffset);
  const text = range.toString(), words = text.trim();
  if (!words) return null;
  const first = before.toString().length + text.indexOf(words), [from, to] = whole(element.textContent, first, first + words.length);
  const start = length(element.textContent.slice(0, from));
  return { turn: Number(element.dataset.turn), speaker: element.dataset.speaker, start, end: start + length(element.textContent.slice(from, to)) };
}

function whole(text, start, end) {   // the words that a selection touches; which they are depends on the language
  if (!Intl.Segmenter) return [start, end];
  for (const { segment, index, isWordLike } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)) {
    const last = index + segment.length;
    if (!isWordLike) continue;
    if (index < start && start < last) start = index;
    if (index < end && end < last) end = last;
  }
  return [start, end];
}

function keep() {
  const span = selected();
  if (span === false) { left.className = "grow stop"; left.textContent = words.one_message; return; }
  if (span === null) { open("quoting"); $("#quote").select(); return; }
  getSelection().removeAllRanges(); add(current, span);
}

function find(quote) {               // typed words, wherever they stand; the reply that is rated comes first
  const wanted = quote.trim().toLowerCase(); if (!wanted) return null;
  const order = [...messages].sort((a, b) => b.element.parentElement.classList.contains("rated") - a.element.parentElement.classList.contains("rated"));
  for (const message of order) {
    const folded = message.text.toLowerCase(), at = folded.length === message.text.length ? folded.indexOf(wanted) : message.text.indexOf(quote.trim());
    if (at < 0) continue;
    const start = length(message.text.slice(0, at));
    return { turn: message.turn, speaker: message.speaker, start, end: start + length(message.text.slice(at, at + wanted.length)) };
  }
  return null;
}

const offer = $(".keep");            // mouse and touch: the same as the key
offer.addEventListener("pointerdown", event => event.preventDefault());
offer.addEventListener("click", keep);
document.addEventListener("selectionchange", placeOffer);
addEventListener("scroll", () => { if (!offer.hidden) placeOffer(); }, { passive: true, capture: true });
function placeOffer() {
  offer.hidden = !selected();
  if (offer.hidden) return;
  $("span", offer).textContent = fill(words.keep, { question: named(current) });
  const box = getSelection().getRangeAt(0).getBoundingClientRect(), air = 8;   // below the selection, or above it at the end of the window
  const below = box.bottom + air, fits = below + offer.offsetHeight < innerHeight - form.querySelector(".submit").offsetHeight;
  offer.style.top = `${Math.max(air, fits ? below : box.top - air - offer.offsetHeight)}px`;
  offer.style.left = `${Math.max(air, Math.min(box.left, innerWidth - offer.offsetWidth - air))}px`;
}

// ---------- dialogs ----------

function open(id) { const dialog = document.getElementById(id); if (dialog) { for (const line of $$(".stop, #urgent-told", dialog)) line.textContent = ""; for (const button of $$("button", dialog)) button.disabled = false; dialog.showModal(); } }
for (const button of $$("[data-open]")) button.addEventListener("click", () => open(button.dataset.open));
for (const button of $$("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());

$("#quoting form").addEventListener("submit", event => {
  event.preventDefault();
  const span = find($("#quote").value);
  if (!span) { $("#quoting .stop").textContent = words.not_found; return; }
  $("#quoting").close(); $("#quote").value = ""; add(current, span);
});

$("#skipping")?.addEventListener("submit", async event => {
  event.preventDefault();
  const reason = $("#skipping input:checked")?.value, line = $("#skipping .stop");
  if (!reason) { line.textContent = line.dataset.needed; return; }
  try {
    const answer = await post(state.urls.skip, { reason, text: $("#skip-text").value });
    if (answer.ok) leave(answer.content.next); else line.textContent = answer.content.problem || words.not_submitted;
  } catch { line.textContent = words.not_submitted; }
});

function told(at) { $("#urgent [value=send]").disabled = true; $("#urgent-told").textContent = fill(words.urgent_sent, { time: at.toLocaleTimeString() }); }
$("#urgent")?.addEventListener("submit", event => {
  event.preventDefault();
  pending["#urgent"] = { id: crypto.randomUUID?.() || `${Date.now()}-${Math.random().toString(36).slice(2)}`, text: $("#urgent-text").value };
  storage.set(pending); failures = 0; flush();
});

// ---------- submitting ----------

function leave(url) { for (const key of Object.keys(pending)) delete pending[key]; storage.set(pending); closed = true; location.assign(url); }

function lacking(open, notes) {
  const first = open[0] || notes[0];
  choose(first, true);
  if (!open.length) { noting(first, true); $("textarea", first).focus(); }
  left.className = "grow stop";
  left.textContent = open.length ? fill(words.open_items, { items: open.map(title).join(", ") }) : fill(words.notes_needed, { items: notes.map(title).join(", ") });
}

let submitting = false;
async function submit() {
  if (submitting) return;
  if (closed) { left.className = "grow stop"; left.textContent = saved.textContent; return; }
  const open = items.filter(item => !isAnswered(item)), notes = items.filter(item => isAnswered(item) && lacksNote(item));
  if (open.length || notes.length) return lacking(open, notes);
  submitting = true;
  try {
    await flush();
    if (Object.keys(pending).length) throw new Error("not saved");
    const answer = await post(state.urls.submit, { seen });
    if (answer.ok) return leave(answer.content.next);
    if (answer.status === 422) {
      const named = what => answer.content.missing.filter(entry => entry.what === what).map(entry => items.find(item => item.dataset.item === entry.item));
      return lacking(named("answer"), named("note"));
    }
    left.className = "grow stop"; left.textContent = answer.content.problem || words.not_submitted;
  } catch {
    left.className = "grow stop"; left.textContent = words.not_submitted;
  } finally { submitting = false; }
}
form.addEventListener("submit", event => { event.preventDefault(); submit(); });

// ---------- keys ----------

addEventListener("keydown", event => {
  if ($("dialog[open]")) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); return submit(); }
  if (event.target.matches("textarea, input:not([type=radio]), select")) { if (event.key === "Escape") { choose(current, true); event.preventDefault(); } return; }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = items.indexOf(current), key = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  const answer = $$(".scale input", current).find(input => input.dataset.key && input.dataset.key === key);
  if (key === "ArrowDown" || key === "ArrowUp") choose(items[Math.max(0, Math.min(items.length - 1, at + (key === "ArrowDown" ? 1 : -1)))], true);
  else if (answer) set(current, answer);
  else if (key === "Delete" || key === "Backspace") clear(current);
  else if (key === "Enter" && !event.target.closest("button, a, summary")) { const open = items.find(item => !isAnswered(item)); if (open) choose(open, true); else $(".submit .primary").focus(); }
  else if (key === "U") abstain(current);
  else if (key === "E") keep();
  else if (key === "B") help(current, "boundaries");
  else if (key === "H") help(current, "examples");
  else if (key === "C") comment(current);
  else if (key === "F") flag();
  else if (key === "?") open("keys");
  else return;
  event.preventDefault();
});

// ---------- a break now and then ----------

const idle = 15 * 60_000;            // who was away that long has had one
function reminded() {
  try {
    const now = Date.now(), last = Number(sessionStorage.getItem("attune:last")) || 0;
    if (now - last > idle) sessionStorage.setItem("attune:since", now);
    sessionStorage.setItem("attune:last", now);
    if (now - Number(sessionStorage.getItem("attune:since")) > state.breakAfter * 60_000) $("#pause").hidden = false;
  } catch { /* a browser that keeps nothing reminds of nothing */ }
}
function rested() { try { sessionStorage.setItem("attune:since", Date.now()); } catch { /* as above */ } $("#pause").hidden = true; }
for (const link of $$("[data-break]")) link.addEventListener("click", rested);
$("[data-later]").addEventListener("click", rested);

// ---------- as after a reload: what was set before is still there ----------

flagged.setAttribute("aria-pressed", isFlagged);
items.forEach(draw); mark(); count(); reminded();
choose(items.find(item => !isAnswered(item)) || items[0]);
const reply = $("#reply"), read = $("#read"), air = 24, before = 120;   // pixels below the reply, or above a long one
if (reply && getComputedStyle(read).overflowY !== "visible") {            // the reply to rate is in view from the start
  const box = reply.getBoundingClientRect(), room = read.getBoundingClientRect(), bottom = Math.min(room.bottom, innerHeight);
  read.scrollTop += box.height < bottom - room.top - before ? box.bottom - bottom + air : box.top - room.top - before;
}
flush();
