// Enter goes on, wherever the focus is, on pages with one way forward; a choice of a country shows its services at once.
"use strict";
addEventListener("keydown", event => {
  const way = document.querySelector("[data-go]");
  if (event.key === "Enter" && way && !event.target.closest("a, button, input, select, textarea")) { event.preventDefault(); way.click(); }
});
for (const list of document.querySelectorAll("[data-send]")) list.addEventListener("change", () => list.form.requestSubmit());
