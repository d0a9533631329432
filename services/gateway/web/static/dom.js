/** Elements are made from names, attributes and text; text stays text and is never read as markup. */

/**
 * Make an element. Attributes that are null or false are left out; "onclick" and the like add a listener.
 * Children are elements or text.
 */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Return the element with this id; it has to be there. */
export function byId(id) {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`The page has no #${id}.`);
  return node;
}

/** Put these children in place of all there are. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** Show a message in an element that is hidden while there is none. */
export function say(node, message) {
  node.textContent = message ?? "";
  node.hidden = !message;
}

/** Text of others, shown in its own direction whatever stands around it. */
export function foreign(text, tag = "span", attributes = {}) {
  return make(tag, { dir: "auto", ...attributes }, text ?? "");
}

/** A button with a label; a longer one for those who only hear it. */
export function button(label, onclick, attributes = {}) {
  return make("button", { type: "button", onclick, ...attributes }, label);
}

/** A link to a page of others, only when its address is one of the web; otherwise its text alone. */
export function outsideLink(address, text = address) {
  let url = null;
  try {
    url = new URL(address);
  } catch {
    return foreign(text);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return foreign(text);
  return make("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank", dir: "auto" }, text);
}

/** Run a function at most once in so many milliseconds, the last call always. */
export function throttled(milliseconds, work) {
  let timer = null;
  let again = false;
  const run = () => {
    if (timer !== null) {
      again = true;
      return;
    }
    timer = setTimeout(() => {
      timer = null;
      if (again) {
        again = false;
        run();
      }
    }, milliseconds);
    work();
  };
  return run;
}
