/** The library: adding and deleting documents, and what becomes of those that are being read. */

import { call, Problem } from "./api.js";
import { ask } from "./dialogs.js";
import { button, byId, foreign, make, say } from "./dom.js";
import { dateTime, size, words } from "./format.js";
import { Uploader } from "./uploads.js";

const LOOK_EVERY_MS = 2000;
const table = byId("documents-table");
const body = table.tBodies[0];

function statusOf(document) {
  const why = document.reason ? foreign(` ${document.reason}`, "span", { class: "hint" }) : null;
  return make("span", {}, make("span", { class: `badge ${document.status}` }, words(document.status)), why);
}

function row(document) {
  const title = document.title && document.title !== document.name ? [make("br"), foreign(document.title, "span", { class: "hint" })] : [];
  const remove = button("Delete", () => {}, { class: "quiet", "data-delete": true, "aria-label": `Delete ${document.name}` });
  return make(
    "tr",
    { "data-document": document.document_id, "data-status": document.status },
    make("th", { scope: "row", "data-label": "Name" }, foreign(document.name), title),
    make("td", { "data-label": "Status" }, statusOf(document)),
    make("td", { "data-label": "Type" }, document.mime ?? "unknown"),
    make("td", { "data-label": "Size", class: "figure" }, size(document.bytes)),
    make("td", { "data-label": "Added" }, make("time", { datetime: document.created_at }, dateTime(document.created_at))),
    make("td", { class: "last" }, remove),
  );
}

function rowOf(id) {
  return body.querySelector(`[data-document="${CSS.escape(id)}"]`);
}

function showOrHide() {
  table.hidden = body.rows.length === 0;
  byId("documents-empty").hidden = body.rows.length > 0;
}

function add(documents) {
  for (const document of documents) {
    rowOf(document.document_id)?.remove();
    body.prepend(row(document));
  }
  showOrHide();
}

async function remove(line) {
  const name = line.querySelector("th span").textContent;
  const text = make("p", {}, foreign(name, "strong"), " leaves the library. Reports that cite it keep the text that they cite.");
  const agreed = await ask({ title: "Delete this document?", body: text, confirm: "Delete", danger: true });
  if (!agreed) return;
  say(byId("documents-problem"), null);
  try {
    await call("DELETE", `/documents/${line.dataset.document}`);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    if (problem.status !== 404) {
      say(byId("documents-problem"), problem.message);
      return;
    }
  }
  const next = (line.nextElementSibling ?? line.previousElementSibling)?.querySelector("[data-delete]");
  line.remove();
  byId("documents-state").textContent = `${name} is deleted.`;
  showOrHide();
  (next ?? byId("files")).focus();
}

async function refreshPending() {
  const pending = [...body.querySelectorAll('[data-status="pending"]')];
  if (document.hidden || pending.length === 0) return;
  for (const line of pending) {
    const found = await call("GET", `/documents/${line.dataset.document}`);
    if (found.status !== "pending") line.replaceWith(row(found));
  }
}

new Uploader(document.querySelector(".uploader"), add);
body.addEventListener("click", (event) => {
  const pressed = event.target.closest("[data-delete]");
  if (pressed !== null) remove(pressed.closest("tr"));
});
setInterval(() => refreshPending().catch((problem) => console.info(problem.message)), LOOK_EVERY_MS);
