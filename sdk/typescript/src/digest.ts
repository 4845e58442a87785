/** SHA-256 over canonical bytes, with what every browser and Node has. */
import { canonical } from "./json.js";

const utf8 = new TextEncoder();

/** Lower-case hexadecimal SHA-256 of a text in UTF-8. */
export async function sha256(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", utf8.encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** `sha256:…` of the RFC 8785 form of a JSON value. */
export async function digest(value: unknown): Promise<string> {
  return `sha256:${await sha256(canonical(value))}`;
}
