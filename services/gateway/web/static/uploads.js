/** Files to the library: chosen or dropped, sent in bearable parts, followed until they are read. */

import { call, Problem, upload } from "./api.js";
import { foreign, make } from "./dom.js";
import { count, FINAL, size } from "./format.js";

const FILES_AT_ONCE = 50;
const LOOK_EVERY_MS = 400;
const FORM_OVERHEAD = 1000;

/** Return the files in groups that each fit into one request. */
export function groups(files, largest) {
  const made = [];
  let room = 0;
  for (const file of files) {
    const needed = file.size + FORM_OVERHEAD;
    if (made.length === 0 || needed > room || made.at(-1).length >= FILES_AT_ONCE) {
      made.push([]);
      room = largest;
    }
    made.at(-1).push(file);
    room -= needed;
  }
  return made;
}

/** The part of a page that takes files; `onRead` gets the documents as soon as they are read, good or bad. */
export class Uploader {
  constructor(root, onRead) {
    this.root = root;
    this.onRead = onRead;
    this.waiting = 0;
    this.input = root.querySelector("input[type=file]");
    this.drop = root.querySelector(".drop");
    this.bar = root.querySelector(".upload-bar");
    this.state = root.querySelector(".upload-state");
    this.faults = root.querySelector(".upload-faults");
    this.input.addEventListener("change", () => this.take([...this.input.files]));
    this.drop.addEventListener("dragover", (event) => this.#hover(event, true));
    this.drop.addEventListener("dragleave", (event) => this.#hover(event, false));
    this.drop.addEventListener("drop", (event) => {
      this.#hover(event, false);
      this.take([...event.dataTransfer.files]);
    });
    // A file dropped beside the field would replace the page.
    for (const type of ["dragover", "drop"]) document.addEventListener(type, (event) => event.preventDefault());
    if (this.input.files.length > 0) this.take([...this.input.files]); // chosen before this script ran
  }

  get busy() {
    return this.waiting > 0;
  }

  /** Send files and wait until they are read. */
  async take(files) {
    const largest = Number(this.root.dataset.largest);
    const fitting = files.filter((file) => file.size > 0 && file.size <= largest);
    this.faults.replaceChildren();
    for (const file of files) {
      if (file.size > largest) this.#fault(file.name, `It has ${size(file.size)}; a document may have ${size(largest)}.`);
      if (file.size === 0) this.#fault(file.name, "It is empty.");
    }
    this.input.value = "";
    if (fitting.length === 0) return;
    this.waiting += 1;
    try {
      for (const group of groups(fitting, Number(this.root.dataset.request))) await this.#send(group);
    } finally {
      this.waiting -= 1;
      this.bar.hidden = true;
    }
  }

  async #send(files) {
    this.bar.hidden = false;
    this.bar.value = 0;
    this.state.textContent = `Sending ${count(files.length, "file")} …`;
    try {
      const ingest = await upload(files, (share) => {
        this.bar.value = share;
      });
      this.bar.removeAttribute("value");
      this.state.textContent = `Reading ${count(files.length, "file")} …`;
      const documents = await readDocuments(ingest);
      for (const failed of documents.filter((d) => d.status === "failed")) this.#fault(failed.name, failed.reason);
      const good = documents.filter((d) => d.status === "ready").length;
      this.state.textContent = `${count(good, "document is", "documents are")} in the library.`;
      this.onRead(documents);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.state.textContent = "";
      this.#fault(files.map((file) => file.name).join(", "), problem.message);
    }
  }

  #fault(name, why) {
    this.faults.append(make("li", { class: "bad-text" }, foreign(name, "strong"), ": ", foreign(why ?? "It could not be read.")));
  }

  #hover(event, over) {
    event.preventDefault();
    this.drop.classList.toggle("over", over);
  }
}

async function readDocuments(ingest) {
  let run = await call("GET", `/research-runs/${ingest.run_id}`);
  while (!FINAL.has(run.status)) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    run = await call("GET", `/research-runs/${ingest.run_id}`);
  }
  return Promise.all(ingest.document_ids.map((id) => call("GET", `/documents/${id}`)));
}
