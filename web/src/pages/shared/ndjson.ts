/** Answers that come as lines of JSON, one after the other. */
import { ApiError } from "@/api/client";

/** Reads the lines of an answer as they arrive. Throws when a line is not JSON. */
export async function* ndjson<T>(response: Response): AsyncGenerator<T> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw new ApiError(0, null);
      });
      rest += decoder.decode(value, { stream: !done });
      const lines = rest.split("\n");
      rest = done ? "" : (lines.pop() ?? "");
      for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as T;
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
