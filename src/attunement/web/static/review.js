// What a reviewer's page adds to the conversation: choices among the answers, the words behind a citation, and that the
// transcript was read to its end.
"use strict";
const all = (what, where = document) => [...where.querySelectorAll(what)];
const main = document.querySelector("main[data-read]");

for (const button of all("[data-show]")) button.addEventListener("click", () => {
  all("[data-show]").forEach(other => other.setAttribute("aria-pressed", String(other === button)));
  const tag = button.dataset.show;
  all(".ans").forEach(answer => { answer.hidden = Boolean(tag) && !answer.dataset.t.split(" ").includes(tag); });
});

document.addEventListener("click", event => {
  const link = event.target.closest("a.q");
  if (!link) return;
  event.preventDefault();
  all(".cited.on").forEach(words => words.classList.remove("on"));
  const cited = all(".cited").filter(words => words.dataset.q.split(" ").includes(link.dataset.q));
  cited.forEach(words => words.classList.add("on"));
  cited[0]?.scrollIntoView({ block: "center" });
});

// The end counts as read when it is in view of somebody who has had the time to read: nobody reads more than ten words
// a second, and a page in the background is not looked at.
const pane = document.querySelector(".pane.tr");
if (main && pane) {
  const end = Object.assign(document.createElement("p"), { className: "end-mark", textContent: main.dataset.end });
  pane.append(end);
  const least = Math.min(120, pane.textContent.split(/\s+/).length / 10) * 1000, opened = performance.now();
  let sent = false, inView = false;
  const tell = async () => {
    const left = opened + least - performance.now();
    if (left > 0) return void setTimeout(tell, left);
    if (sent || !inView || document.visibilityState !== "visible") return;
    sent = true;
    const secret = JSON.parse(document.getElementById("secret").textContent);
    try {
      const answer = await fetch(main.dataset.read, { method: "POST", headers: { "content-type": "application/json", "x-form-secret": secret }, body: "{}" });
      sent = answer.ok;
    } catch { sent = false; }
    if (sent) document.getElementById("was-read").hidden = false;
  };
  new IntersectionObserver(entries => { inView = entries.at(-1).isIntersecting; if (inView) tell(); }).observe(end);
  document.addEventListener("visibilitychange", tell);
}
