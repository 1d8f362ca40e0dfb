// Keeps what is typed into a long form in this browser until it is saved: a reload or a lost connection loses nothing.
"use strict";

for (const form of document.querySelectorAll("form[data-keep]")) {
  const place = `attune:${form.dataset.keep}`, line = form.querySelector(".kept");
  const fields = [...form.elements].filter(field => field.name && field.type !== "hidden");
  const storage = {
    get() { try { return JSON.parse(localStorage.getItem(place)) || {}; } catch { return {}; } },
    set(value) { try { localStorage.setItem(place, JSON.stringify(value)); } catch { /* a browser that keeps nothing */ } },
  };
  const kept = storage.get();
  for (const field of fields) {
    if (!(field.name in kept)) continue;
    if (field.type === "radio") field.checked = field.value === kept[field.name];
    else if (field.type === "checkbox") field.checked = kept[field.name];
    else field.value = kept[field.name];
  }
  form.addEventListener("input", () => {
    storage.set(Object.fromEntries(fields.filter(field => field.type !== "radio" || field.checked)
      .map(field => [field.name, field.type === "checkbox" ? field.checked : field.value])));
    if (line) line.textContent = form.dataset.kept || "";
  });
}

// The page after saving says which form the server has now.
const saved = new URLSearchParams(location.search).get("saved");
if (saved) {
  try {
    for (const place of Object.keys(localStorage)) if (place.startsWith("attune:") && place.includes(`/${saved}:`)) localStorage.removeItem(place);
  } catch { /* a browser that keeps nothing */ }
}
