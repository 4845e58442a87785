// Signs in from the pages that the server draws. The browser makes a key that it cannot give away and signs every call of
// the session with it; the dashboard finds the key in the same place.
const form = document.querySelector("form[data-sign-in]");
const note = document.querySelector("[data-note]");

const base64url = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

function keys() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("placet", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("session");
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

async function keep(name, value) {
  const database = await keys();
  await new Promise((resolve, reject) => {
    const writing = database.transaction("session", "readwrite");
    writing.objectStore("session").put(value, name);
    writing.oncomplete = resolve;
    writing.onerror = () => reject(writing.error);
  });
  database.close();
}

async function publicPart(pair) {
  const raw = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  return { x: base64url(raw.slice(1, 33)), y: base64url(raw.slice(33, 65)) };
}

function say(text) {
  note.textContent = text;
  note.hidden = false;
}

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    if (!globalThis.crypto?.subtle) {
      say("This browser signs nothing here: open the page over https, or as localhost.");
      return;
    }
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
    // Before anything is sent: a link that nobody can go on with must not be used up.
    try {
      await keep("next", pair.privateKey);
    } catch {
      say("This browser keeps nothing for this page: allow it to store site data, or leave the private window.");
      return;
    }
    const key = await publicPart(pair);
    const fields = Object.fromEntries(new FormData(form));
    const link = form.dataset.token;
    const body = link ? { token: link, key } : { name: fields.name, password: fields.password, key };
    const answer = await fetch(link ? "/v1/session/link" : "/v1/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const said = await answer.json();
    if (!answer.ok) {
      say(said.detail ?? "That did not work.");
      return;
    }
    await keep("current", { id: said.session.id, key: pair.privateKey });
    // Other tabs show what belongs to the session before.
    new BroadcastChannel("placet-session").postMessage("changed");
    const next = fields.next ?? "/";
    location.assign(/^\/(?![/\\])/.test(next) ? next : "/");
  } catch {
    say("The server cannot be reached.");
  } finally {
    button.disabled = false;
  }
});
