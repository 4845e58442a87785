/** Checks a picture before it is drawn: its type by its first bytes, and how large it is. Pure. */

export interface Picture {
  /** The type that its bytes say. */
  type: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  width: number;
  height: number;
  /** What can be drawn without a network. */
  url: string;
}
/** Why a picture is not drawn. */
export type NoPicture = "base64" | "type" | "large" | "broken";

const MOST_BYTES = 1024 * 1024;
const MOST_SIDE = 8192;
const MOST_PIXELS = 16_000_000;

/** Standard Base64 with its padding, without anything else. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The picture in this Base64, or why it is not drawn. What the sender says about its type does not count. */
export function pictureOf(data: string): Picture | NoPicture {
  if (data === "" || !BASE64.test(data)) return "base64";
  if ((data.length / 4) * 3 > MOST_BYTES) return "large";
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const type = typeOf(bytes);
  if (!type) return "type";
  const size = sizeOf(type, new DataView(bytes.buffer));
  if (!size || size.width < 1 || size.height < 1) return "broken";
  const { width, height } = size;
  if (width > MOST_SIDE || height > MOST_SIDE || width * height > MOST_PIXELS) return "large";
  return { type, width, height, url: `data:${type};base64,${data}` };
}

function typeOf(bytes: Uint8Array): Picture["type"] | null {
  const text = (from: number, to: number) => String.fromCharCode(...bytes.subarray(from, to));
  if (text(0, 8) === "\x89PNG\r\n\x1a\n") return "image/png";
  if (text(0, 3) === "\xff\xd8\xff") return "image/jpeg";
  if (text(0, 6) === "GIF87a" || text(0, 6) === "GIF89a") return "image/gif";
  if (text(0, 4) === "RIFF" && text(8, 12) === "WEBP") return "image/webp";
  return null;
}

type Size = { width: number; height: number };

function sizeOf(type: Picture["type"], view: DataView): Size | null {
  try {
    switch (type) {
      case "image/png":
        return { width: view.getUint32(16), height: view.getUint32(20) };
      case "image/gif":
        return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
      case "image/jpeg":
        return jpegSize(view);
      case "image/webp":
        return webpSize(view);
    }
  } catch {
    // A read behind the end.
    return null;
  }
}

/** Reads segment after segment until the one that begins the frame. */
function jpegSize(view: DataView): Size | null {
  for (let at = 2; ; ) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    const frame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (frame) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    const length = view.getUint16(at + 2);
    if (length < 2) return null;
    at += 2 + length;
  }
}

function webpSize(view: DataView): Size | null {
  switch (view.getUint32(12)) {
    case 0x56503820: // VP8, lossy
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    case 0x5650384c: {
      // VP8L, lossless
      const bits = view.getUint32(21, true);
      return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
    }
    case 0x56503858: {
      // VP8X, extended: three bytes each
      const three = (at: number) => view.getUint16(at, true) + view.getUint8(at + 2) * 0x10000;
      return { width: three(24) + 1, height: three(27) + 1 };
    }
    default:
      return null;
  }
}
