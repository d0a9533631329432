/** Calls of the API: JSON in, JSON out, problems as errors. */

const BASE = "/api/v1";
const PATIENCE_MS = 30_000;
const UNAUTHORIZED = 401;

/** What the server answered instead of doing it (RFC 9457), or that it did not answer; status 0. */
export class Problem extends Error {
  constructor(details) {
    super(details.detail ?? "The server gave no reason.");
    this.status = details.status ?? 0;
    this.type = details.type ?? "about:blank";
    this.field = details.field ?? null;
    this.allowed = details.allowed ?? null;
    this.currentVersion = details.current_version ?? null;
  }

  get isStale() {
    return this.type === "/problems/stale-version";
  }
}

const UNREACHABLE = { status: 0, detail: "The server does not answer: see that it runs, then try again." };

/** Return the JSON of an answer, null when it has none; throw `Problem`. */
export async function call(method, path, body, headers = {}) {
  const answer = await send(`${BASE}${path}`, method, body, { Accept: "application/json", ...headers });
  return answer.status === 204 ? null : answer.json();
}

/** Return the text of an answer; throw `Problem`. */
export async function text(path) {
  const answer = await send(`${BASE}${path}`, "GET", undefined, { Accept: "text/plain" });
  return answer.text();
}

/** Sign in or out; throw `Problem`. */
export async function session(method, body) {
  await send("/login", method, body, { Accept: "application/json" });
}

async function send(address, method, body, headers) {
  const hasBody = body !== undefined && body !== null;
  let answer;
  try {
    answer = await fetch(address, {
      method,
      headers: { ...headers, ...(hasBody ? { "Content-Type": "application/json" } : {}) },
      body: hasBody ? JSON.stringify(body) : undefined,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch {
    throw new Problem(UNREACHABLE);
  }
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

async function problemOf(answer) {
  const details = await answer.json().catch(() => ({}));
  if (answer.status === UNAUTHORIZED && location.pathname !== "/login") location.assign("/login");
  return new Problem({ detail: `The server answered ${answer.status}.`, ...details, status: answer.status });
}

/** Send files as one form; `onProgress` gets the share that is sent, 0 to 1. */
export function upload(files, onProgress) {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.webkitRelativePath || file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `${BASE}/documents`);
    request.responseType = "json";
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) onProgress(event.loaded / event.total);
    });
    request.addEventListener("load", () => {
      if (request.status === 202) resolve(request.response);
      else reject(new Problem({ detail: `The server answered ${request.status}.`, ...request.response, status: request.status }));
    });
    request.addEventListener("error", () => reject(new Problem(UNREACHABLE)));
    request.send(form);
  });
}

/** A key by which the server knows a repeated request; unlike randomUUID this also works without HTTPS. */
export function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
