/** Questions that have to be answered before something is done. */

import { button, make } from "./dom.js";

/**
 * Ask in a dialog. `body` is an element or text, `confirm` the label of the button that agrees; `read` returns the
 * answer, or throws an Error whose message is shown. Resolves to the answer, or to null when the dialog is left.
 */
export function ask({ title, body, confirm, danger = false, read = () => true }) {
  return new Promise((resolve) => {
    const fault = make("p", { class: "note bad", role: "alert", hidden: true });
    const agree = make("button", { type: "submit", class: danger ? "danger" : "primary" }, confirm);
    const form = make("form", {}, make("h2", { id: "ask-heading" }, title), body, fault, make("p", { class: "bar" }, agree, button("Back", () => dialog.close())));
    const dialog = make("dialog", { class: "ask-dialog", "aria-labelledby": "ask-heading" }, form);
    let answer = null;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      try {
        answer = read(form);
        dialog.close();
      } catch (error) {
        fault.textContent = error.message;
        fault.hidden = false;
      }
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
