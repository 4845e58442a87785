// Draws the app's icons as PNG: a rounded square with a tick. No dependencies, so that anyone can draw them again.
import { writeFileSync } from "node:fs";
import { deflateSync } from "node:zlib";

const BLUE = [0x2a, 0x55, 0xc4];
const WHITE = [255, 255, 255];

function crc(bytes) {
  let value = ~0;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit += 1) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return ~value >>> 0;
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc(body), body.length + 4);
  return out;
}

function png(size, pixel) {
  const rows = Buffer.alloc(size * (size * 4 + 1));
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      const [r, g, b, a] = pixel(x, y);
      rows.set([r, g, b, a], y * (size * 4 + 1) + 1 + x * 4);
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 6, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Distance of a point from a line between two points, all in the unit square. */
function toLine(px, py, ax, ay, bx, by) {
  const [dx, dy] = [bx - ax, by - ay];
  const along = Math.max(0, Math.min(1, ((px - ax) * dx + (py - ay) * dy) / (dx * dx + dy * dy)));
  return Math.hypot(px - ax - along * dx, py - ay - along * dy);
}

/** How much of a pixel is inside, by four by four samples. */
function share(x, y, size, inside) {
  let hits = 0;
  for (let i = 0; i < 16; i += 1) {
    if (inside((x + ((i % 4) + 0.5) / 4) / size, (y + (Math.floor(i / 4) + 0.5) / 4) / size)) hits += 1;
  }
  return hits / 16;
}

function icon(size, { maskable }) {
  const radius = 15 / 64;
  const scale = maskable ? 0.72 : 1;
  const at = (value) => 0.5 + (value / 64 - 0.5) * scale;
  const square = (x, y) => {
    if (maskable) return true;
    const [dx, dy] = [Math.max(radius - x, x - 1 + radius, 0), Math.max(radius - y, y - 1 + radius, 0)];
    return Math.hypot(dx, dy) <= radius;
  };
  const tick = (x, y) =>
    Math.min(toLine(x, y, at(17), at(33), at(28), at(44)), toLine(x, y, at(28), at(44), at(48), at(21))) <=
    (4 / 64) * scale;
  return png(size, (x, y) => {
    const [ground, mark] = [share(x, y, size, square), share(x, y, size, tick)];
    const mixed = BLUE.map((blue, part) => Math.round(blue + (WHITE[part] - blue) * mark));
    return [...mixed, Math.round(255 * ground)];
  });
}

const folder = new URL("../public/", import.meta.url);
for (const [name, size, options] of [
  ["favicon.png", 64, { maskable: false }],
  ["icon-192.png", 192, { maskable: false }],
  ["icon-512.png", 512, { maskable: false }],
  ["icon-maskable-512.png", 512, { maskable: true }],
]) {
  writeFileSync(new URL(name, folder), icon(size, options));
}
