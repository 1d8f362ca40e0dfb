// Reading needs no script: quotations are links and :target marks the words. This adds filters, opens one conversation
// at a time, and marks exactly the words of the citation that was clicked.
"use strict";
const byId = id => document.getElementById(id);
const all = (what, where = document) => [...where.querySelectorAll(what)];
const facts = JSON.parse(byId("facts")?.textContent || "{}");
let rows = [], shown = [], from = null, printed = [];

// ---------- packed parts ----------
async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

// ---------- one conversation ----------
const inline = all("article.conversation");
async function open(key, { focus = true } = {}) {
  const place = byId("opened");
  if (place) {
    const packed = byId("z" + key);
    if (!packed) return false;
    if (place.firstElementChild?.id !== "c" + key) place.innerHTML = await unpacked(packed.textContent);
  } else {
    const one = byId("c" + key);
    if (!one) return false;
    if (facts.form === "inline") inline.forEach(other => { other.hidden = other !== one; });
  }
  const article = byId("c" + key);
  if (focus) article.scrollIntoView({ block: "start" });
  document.title = `${article.querySelector("h3").textContent} · ${facts.title || "Attunement report"}`;
  return true;
}
async function follow() {
  const [, key, rest] = location.hash.match(/^#c(\d+)(-.*)?$/) || [];
  if (key && await open(key, { focus: !rest }) && rest) byId(location.hash.slice(1))?.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", follow);
for (const button of all("[data-step]")) button.addEventListener("click", () => {
  const current = all("article.conversation").find(one => !one.hidden)?.id.slice(1);
  const at = shown.findIndex(row => String(row[0]) === current), next = shown[at + Number(button.dataset.step)];
  if (next) location.hash = "c" + next[0];
});

// ---------- clicking a reason ----------
function mark(article, numbers, link) {
  all(".cited.on, .msg.lit", article).forEach(x => x.classList.remove("on", "lit"));
  all("a.q[aria-current]", article).forEach(x => x.removeAttribute("aria-current"));
  const words = all(".cited", article).filter(x => x.dataset.q.split(" ").some(number => numbers.includes(number)));
  if (!words.length) return;
  from = link; link.setAttribute("aria-current", "true");
  words.forEach(x => { x.classList.add("on"); x.closest(".msg").classList.add("lit"); });
  const pane = words[0].closest(".pane"), message = words[0].closest(".msg.long");
  if (message) message.scrollTop += words[0].getBoundingClientRect().top - message.getBoundingClientRect().top - message.clientHeight / 3;
  const scrolls = pane.scrollHeight > pane.clientHeight + 1;
  if (scrolls) pane.scrollBy(0, words[0].getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 3);
  words[0].focus({ preventScroll: scrolls });
}
document.addEventListener("click", event => {
  const link = event.target.closest("a.q"), reason = event.target.closest(".reason, .people p");
  const article = event.target.closest("article.conversation");
  if (link && article) { event.preventDefault(); mark(article, [link.dataset.q], link); return; }
  if (reason && article && !getSelection().toString()) {
    const links = all("a.q", reason);
    if (links.length) mark(article, links.map(x => x.dataset.q), links[0]);
  }
  const choice = event.target.closest("[data-show]");
  if (choice && article) {
    all("[data-show]", article).forEach(x => x.setAttribute("aria-pressed", String(x === choice)));
    for (const li of all(".answers > li", article))
      li.hidden = Boolean(choice.dataset.show) && !(li.dataset.t || "").split(" ").includes(choice.dataset.show);
  }
});
addEventListener("keydown", event => {
  if (event.key === "Escape" && from) { from.focus(); from = null; }
  if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { j: ["[rel=next]", "[data-step='1']"], k: ["[rel=prev]", "[data-step='-1']"] }[event.key];
  if (step) document.querySelector(step[0] + ", " + step[1])?.click();
});

// ---------- the list ----------
// A row: key, id, system, scenario, turns, status, score, items not met, answers as bits for each item, flags, place.
const form = document.querySelector("form.filters"), body = document.querySelector("#list tbody");
const STEP = 300;
let limit = STEP, texts = null;
const href = row => facts.form === "folder" ? `${facts.folder}/${String(Math.ceil(row[10] / facts.per_page)).padStart(5, "0")}.html#c${row[0]}` : `#c${row[0]}`;
function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}
function drawn(row) {
  const tr = element("tr"), cell = (...parts) => { const td = element("td"); td.append(...parts); tr.append(td); };
  const link = element("a"); link.href = href(row); link.append(element("bdi", row[1]));
  cell(link); cell(element("bdi", row[2])); cell(row[4]);
  cell(element("b", row[5], "st " + facts.tones[row[5]])); cell(row[6]); cell(row[7].join(" "));
  cell(...row[9].map(flag => element(flag.startsWith("people") ? "em" : "i", flag)));
  return tr;
}
function draw() {
  body.replaceChildren(...shown.slice(0, limit).map(drawn));
  const more = document.querySelector(".more-rows");
  document.querySelector(".no-rows").hidden = shown.length > 0;
  more.hidden = shown.length <= limit;
  form.querySelector("output").textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
}
let turn = 0;
async function apply() {
  const mine = ++turn, wish = new FormData(form), words = wish.get("text").toLowerCase().split(/\s+/).filter(Boolean);
  const item = wish.get("item"), bits = Number(wish.get("answer") || -1);
  const flags = wish.getAll("flag").map(value => value.split("|"));
  if (words.length && !texts && facts.form !== "folder") await readTexts();
  if (mine !== turn) return;
  shown = rows.filter((row, at) =>
    ["system", "scenario", "verdict"].every((name, number) => !wish.get(name) || row[[2, 3, 5][number]] === wish.get(name))
    && (item ? row[8][Number(item)] & bits : bits === -1 || row[8].some(given => given & bits))
    && flags.every(any => any.some(flag => row[9].includes(flag)))
    && words.every(word => `${row[1]} ${row[2]} ${row[3]}`.toLowerCase().includes(word) || texts?.[at].includes(word)));
  limit = STEP;
  draw();
}
async function readTexts() {        // once, when somebody searches: what was said and why, in small letters
  const output = form.querySelector("output"), found = [];
  for (const [at, row] of rows.entries()) {
    let article = byId("c" + row[0]);
    const packed = byId("z" + row[0]);
    if (packed) {
      const parsed = new DOMParser().parseFromString(await unpacked(packed.textContent), "text/html");
      article = parsed.querySelector("article");
    }
    found.push(article ? all(".words, .reason, .people p", article).map(x => x.textContent).join("\n").toLowerCase() : "");
    if (at % 50 === 49) { output.textContent = `Reading ${at + 1} of ${rows.length} …`; await new Promise(requestAnimationFrame); }
  }
  texts = found;
}
async function start() {
  if (!form || !byId("rows")) { if (inline.length) follow(); return; }  // a served list is filtered by the server
  const island = byId("rows").textContent;
  rows = JSON.parse(facts.form === "folder" ? await unpacked(island) : island);
  shown = rows;
  form.hidden = false; all(".step").forEach(x => { x.hidden = false; });
  form.addEventListener("input", apply);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  document.querySelector(".more-rows button").addEventListener("click", () => { limit += STEP; draw(); });
  for (const link of all("[data-filter]")) link.addEventListener("click", () => {
    form.reset();
    const [, name, value] = link.dataset.filter.match(/^(\w+)=(.*)$/s);
    setTimeout(() => {
      if (name === "flag") { for (const box of all("[name=flag]", form)) box.checked = box.value === value; }
      else if (name === "failed") { form.elements.item.value = facts.items.indexOf(value); form.elements.answer.value = facts.failing; }
      else form.elements[name].value = value;
      if (link.dataset.system) form.elements.system.value = link.dataset.system;
      apply();
    });
  });
  draw();
  if (facts.form !== "folder" && rows.length) {
    await open(rows[0][0], { focus: false });
    await follow();
  }
}
start();
function current(link) {
  all(".rail a[aria-current]").forEach(a => a.removeAttribute("aria-current"));
  link.setAttribute("aria-current", "true");
  const list = link.closest("ol");  // on a narrow screen it lies on its side
  list.scrollLeft = link.offsetLeft - list.offsetLeft - 16;
}
function standsAlone() {            // a page of its own may be too short for the observer below to see it
  const alone = document.querySelector(".pages > .own:target"), here = document.querySelector(".rail a[aria-current]");
  const link = alone ? all(".rail a").find(a => a.hash === location.hash) : here;
  if (link) current(link);
}
addEventListener("hashchange", standsAlone);
standsAlone();
// On paper are the conversations in the list, as far as the file has them in plain HTML, and not only the open one.
addEventListener("beforeprint", () => {
  const keys = new Set(shown.map(row => "c" + row[0]));
  printed = inline.map(one => [one, one.hidden]);
  if (rows.length) inline.forEach(one => { one.hidden = !keys.has(one.id); });
});
addEventListener("afterprint", () => printed.forEach(([one, hidden]) => { one.hidden = hidden; }));
addEventListener("beforeprint", () => all("details:not(.figures), details.cautions").forEach(x => { x.open = true; }));  // of the figures, what is open is printed
const spy = new IntersectionObserver(seen => seen.forEach(s => { if (s.isIntersecting) {
  const to = document.querySelector(`.rail a[href="#${s.target.id}"]`);
  if (to) current(to); } }),
  { rootMargin: "-20% 0px -70%" });
all("section[id]").forEach(s => spy.observe(s));
