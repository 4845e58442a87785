/** Reports that are on their way while their callers have gone on. */

/** Whether a caller waits until the outcome is on record, or goes on while the report is sent. */
export type ReportMode = "wait" | "background";

/** How many may be on their way before callers wait after all: an outage must not fill the memory. */
const MOST = 64;

export class Reports {
  readonly #open = new Set<Promise<void>>();

  constructor(private readonly usual: ReportMode) {}

  /** Resolves when the report was sent, or at once if that is wanted. Rejects only in the first case. */
  async add(report: Promise<void>, mode: ReportMode = this.usual): Promise<void> {
    if (mode === "wait") return report;
    const sent = report.catch(() => undefined).finally(() => this.#open.delete(sent));
    this.#open.add(sent);
    if (this.#open.size > MOST) await sent;
  }

  /** When to send one: in the background the caller goes first. */
  async turn(mode: ReportMode = this.usual): Promise<void> {
    if (mode === "background") await new Promise((done) => setTimeout(done));
  }

  /** Resolves when nothing is on its way. */
  async flush(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }
}
