// Enter goes on, wherever the focus is, on pages with one way forward.
"use strict";
addEventListener("keydown", event => {
  const way = document.querySelector("[data-go]");
  if (event.key === "Enter" && way && !event.target.closest("a, button, input, select, textarea")) { event.preventDefault(); way.click(); }
});
