/**
 * Every call of a session is signed with a key that this browser made and cannot give away. The cookie alone goes to every
 * port of this host; the key stays with this origin.
 */

interface StoredKey {
  /** The session it belongs to. */
  id: string;
  key: CryptoKey;
}

const encoder = new TextEncoder();
/** What to sign the next call with; every answer brings a newer one. */
let nonce: string | null = null;
let kept: StoredKey | undefined;
let changed: () => void = () => {};

/** Tells all tabs of this origin about a sign-in or sign-out. */
const tabs = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel("placet-session");

/** Sets what this tab does when another tab signs in or out: what this tab shows belongs to the old session. */
export function onSessionChanged(hook: () => void): void {
  changed = hook;
  if (tabs) tabs.onmessage = hook;
}

function database(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("placet", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("session");
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

async function stored<T>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const opened = await database();
  try {
    return await new Promise((resolve, reject) => {
      const request = work(opened.transaction("session", mode).objectStore("session"));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  } finally {
    opened.close();
  }
}

async function current(): Promise<StoredKey | null> {
  if (kept !== undefined) return kept;
  const found: StoredKey | null =
    (await stored("readonly", (store) => store.get("current")).catch(() => null)) ?? null;
  // A missing key is not cached: another tab may sign in.
  kept = found ?? undefined;
  return found;
}

function base64url(bytes: ArrayBuffer | Uint8Array): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function hex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The browser cannot sign: the page is neither https nor on this machine. */
export class SigningUnavailable extends Error {}
/** The browser stores nothing for this page, so it cannot keep the key. */
export class StorageUnavailable extends Error {}

/** A new key for a new session. The caller sends the public half to sign in, and stores the key when the session exists. */
export async function newKey(): Promise<{
  key: { x: string; y: string };
  keep(id: string, next: string): Promise<void>;
}> {
  if (!globalThis.crypto?.subtle) throw new SigningUnavailable();
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  // Checked before anything is sent, so that a failure does not use up a sign-in link.
  await stored("readwrite", (store) => store.put(pair.privateKey, "next")).catch(() => {
    throw new StorageUnavailable();
  });
  const raw = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  return {
    key: { x: base64url(raw.slice(1, 33)), y: base64url(raw.slice(33, 65)) },
    async keep(id, next) {
      kept = { id, key: pair.privateKey };
      nonce = next;
      await stored("readwrite", (store) => store.put(kept, "current"));
      tabs?.postMessage("changed");
    },
  };
}

/** Forgets the key: the session is over. */
export async function forgetKey(): Promise<void> {
  kept = undefined;
  nonce = null;
  await stored("readwrite", (store) => store.delete("current")).catch(() => undefined);
  tabs?.postMessage("changed");
}

async function proof(
  method: string,
  path: string,
  body: BodyInit | null | undefined,
): Promise<string | null> {
  const mine = await current();
  if (!mine || !nonce) return null;
  const bytes = typeof body === "string" ? encoder.encode(body) : new Uint8Array();
  const digest = hex(await crypto.subtle.digest("SHA-256", bytes));
  const said = `placet/proof/v1\n${method}\n${path}\n${digest}\n${mine.id}\n${nonce}`;
  const signed = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, mine.key, encoder.encode(said));
  return `v1.${base64url(signed)}`;
}

function remember(response: Response): void {
  nonce = response.headers.get("placet-nonce") ?? nonce;
}

/** The first nonce, from a call that a cookie alone may make. */
async function firstNonce(): Promise<void> {
  if (nonce || !(await current())) return;
  const response = await fetch("/v1/session", { credentials: "same-origin", cache: "no-store" });
  if (!response.ok) return;
  const said: unknown = await response.json();
  if (said && typeof said === "object" && "nonce" in said && typeof said.nonce === "string")
    nonce = said.nonce;
}

/** A call with its proof. If its nonce was too old, it is sent once more with the new one. */
export async function proved(path: string, init: RequestInit): Promise<Response> {
  await firstNonce();
  for (let again = false; ; again = true) {
    const headers = new Headers(init.headers);
    const signed = await proof(init.method ?? "GET", path, init.body);
    if (signed) headers.set("placet-proof", signed);
    const response = await fetch(path, { ...init, headers });
    remember(response);
    if (again || response.status !== 401 || !signed) return response;
    const problem: unknown = await response
      .clone()
      .json()
      .catch(() => null);
    const code = problem && typeof problem === "object" && "code" in problem ? problem.code : null;
    if (code !== "proof_nonce") return response;
    // The nonce is too old, or another tab signed in with another key.
    const before = kept?.id;
    kept = undefined;
    if ((await current())?.id !== before) {
      changed();
      return response;
    }
  }
}

/** The same of a call that the typed client made. */
export async function provedRequest(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const body = request.method === "GET" || request.method === "HEAD" ? undefined : await request.text();
  return proved(pathname + search, {
    method: request.method,
    headers: request.headers,
    body: body === "" ? undefined : body,
    credentials: "same-origin",
    cache: "no-store",
    signal: request.signal,
  });
}
