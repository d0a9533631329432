/** What every page does. */

import { session } from "./api.js";
import { localizeTimes } from "./format.js";

localizeTimes(document);

document.getElementById("sign-out")?.addEventListener("click", async () => {
  await session("DELETE");
  location.assign("/login");
});
