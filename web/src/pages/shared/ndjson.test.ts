import { describe, expect, it } from "vitest";
import { ndjson } from "./ndjson";

function answer(chunks: string[]): Response {
  const encoder = new TextEncoder();
  return new Response(
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(encoder.encode(chunk));
        controller.close();
      },
    }),
  );
}

describe("ndjson", () => {
  it("joins lines that arrive in pieces, the last one without an end too", async () => {
    const found: unknown[] = [];
    for await (const line of ndjson(answer(['{"a":1}\n{"a"', ':2}\n\n{"a":', "3}"]))) found.push(line);
    expect(found).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
  });
  it("refuses what is not JSON", async () => {
    await expect(async () => {
      for await (const _ of ndjson(answer(["oops\n"]))) {
        // nothing
      }
    }).rejects.toThrow();
  });
});
