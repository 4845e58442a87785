/** Something that answers in place of a server, and counts who called. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json } from "../../src/index.js";

export interface Answer {
  status: number;
  type: string;
  body: Json;
}
export interface Route extends Answer {
  method: string;
  path: string;
}

export class Stub {
  readonly calls: string[] = [];

  private constructor(private readonly server: Server) {}

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  static async start(
    routes: Route[],
    otherwise: Answer = { status: 404, type: "text/html", body: "" },
  ): Promise<Stub> {
    const server = createServer((request, response) => {
      const path = (request.url ?? "").split("?")[0];
      stub.calls.push(`${request.method} ${path}`);
      const { status, type, body } =
        routes.find((each) => each.method === request.method && each.path === path) ?? otherwise;
      request.resume().on("end", () => {
        response
          .writeHead(status, { "content-type": type })
          .end(typeof body === "string" ? body : JSON.stringify(body));
      });
    });
    const stub = new Stub(server);
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return stub;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }
}
