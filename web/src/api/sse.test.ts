import { expect, test } from "vitest";
import { sseParser } from "./sse";

test("events are put together from pieces", () => {
  const parse = sseParser();
  expect(parse("retry: 1000\nid: e.1\n\nid: e.2\nevent: request.cre")).toEqual([
    { event: "message", data: "", id: "e.1" },
  ]);
  expect(parse('ated\ndata: {"a":')).toEqual([]);
  expect(parse("1}\n\n: heartbeat\nid: e.3\n\n")).toEqual([
    { event: "request.created", data: '{"a":1}', id: "e.2" },
    { event: "message", data: "", id: "e.3" },
  ]);
});

test("carriage returns and several data lines", () => {
  expect(sseParser()("event: x\r\ndata: a\r\ndata: b\r\n\r\n")).toEqual([
    { event: "x", data: "a\nb", id: null },
  ]);
});
