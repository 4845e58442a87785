/** The worker that shows a notice while there is no connection. It keeps no data and sends nothing later. */

const WORKER = "/sw.js";

/** The page's trusted-types policy allows this script address and no other. */
function address(): string {
  const types = (window as { trustedTypes?: TrustedTypes }).trustedTypes;
  if (!types) return WORKER;
  const policy = types.createPolicy("placet-worker", {
    createScriptURL: (text) => {
      if (text !== WORKER) throw new TypeError(`not the worker: ${text}`);
      return text;
    },
  });
  return policy.createScriptURL(WORKER) as string;
}
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(text: string): string },
  ): { createScriptURL(text: string): unknown };
}

export function registerOffline(): void {
  if (!("serviceWorker" in navigator) || import.meta.env.DEV) return;
  window.addEventListener("load", () => {
    try {
      navigator.serviceWorker.register(address(), { scope: "/" }).catch(() => {
        // Without it the browser shows its own notice.
      });
    } catch {
      // If the server's content security policy does not name our policy, there is no worker and the rest works.
    }
  });
}
