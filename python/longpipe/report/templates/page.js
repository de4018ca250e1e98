"use strict";
// A click on a heading sorts its table by that column, a second one the other way round; rows that are equal keep their order.
const words = new Intl.Collator("en", { numeric: true });
const key = (row, column) => {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
};
const compare = (a, b) => {
  if (typeof a === "number" && typeof b === "number") return a - b;
  // Dashes come after numbers.
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return words.compare(a, b);
};
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const body = head.closest("table").tBodies[0];
    const rows = [...body.rows].map((row) => [key(row, head.cellIndex), row]);
    rows.sort(([a], [b]) => (descending ? compare(b, a) : compare(a, b)));
    body.append(...rows.map(([, row]) => row));
  });
}
// A box whose content goes on beyond an edge says so.
const boxes = document.querySelectorAll(".scroll");
const edges = (box) => {
  box.classList.toggle("more-left", box.scrollLeft > 1);
  box.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
};
const sizes = new ResizeObserver((entries) => entries.forEach((entry) => edges(entry.target)));
for (const box of boxes) {
  edges(box);
  box.addEventListener("scroll", () => edges(box), { passive: true });
  sizes.observe(box);
}
// On a narrow page the contents start closed; a link into a closed table opens it.
if (matchMedia("(max-width: 1099px)").matches) document.querySelector("nav details").open = false;
const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
};
addEventListener("hashchange", open);
open();
