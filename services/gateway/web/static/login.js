/** The form that asks for a key. */

import { session } from "./api.js";
import { byId, say } from "./dom.js";

const key = byId("key");
byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  say(byId("login-problem"), null);
  try {
    await session("POST", { key: key.value.trim() });
    location.assign("/");
  } catch (problem) {
    say(byId("login-problem"), problem.message);
    key.focus();
  }
});
key.focus();
// Off until now, so that the key is never sent as a plain form.
byId("sign-in").disabled = false;
