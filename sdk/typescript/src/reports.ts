/** Reports that are sent in the background. */

/** Whether a caller waits until the outcome is on record, or goes on while the report is sent. */
export type ReportMode = "wait" | "background";

/** How many may be pending before callers wait, so that an outage does not fill the memory. */
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

  /** When to send a report: in the background, after the caller has continued. */
  async turn(mode: ReportMode = this.usual): Promise<void> {
    if (mode === "background") await new Promise((done) => setTimeout(done));
  }

  /** Resolves when no report is pending. */
  async flush(): Promise<void> {
    while (this.#open.size > 0) await Promise.all(this.#open);
  }
}
