/** Who is signed in. */
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { drafts } from "@/lib/drafts";
import { ApiError, call, setCsrf } from "./client";
import type { Role, Session } from "./extra";
import { keys } from "./keys";
import { forgetKey } from "./proof";

/** What a server without sessions, or the dev proxy with a token, looks like. */
const OPEN: Session = {
  name: "you",
  roles: ["reviewer", "admin", "auditor"],
  teams: [],
  session: null,
  csrf: "",
  nonce: "",
  has_password: false,
  server: { version: "", dev: true, database: "" },
};

async function read(): Promise<Session | null> {
  try {
    const session = await call<Session | { bound: true }>("/v1/session");
    // The key of this session is not in this browser, so the server answers nothing else.
    if ("bound" in session) {
      setCsrf(null);
      return null;
    }
    setCsrf(session.csrf || null);
    return session;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) return OPEN;
    if (error.status !== 401 && error.status !== 403) throw error;
    if (import.meta.env.DEV) {
      // A token that the dev proxy adds has no session of its own.
      const works = await fetch("/v1/requests?limit=1").then((response) => response.ok);
      if (works) return OPEN;
    }
    setCsrf(null);
    return null;
  }
}

export const sessionQuery = queryOptions({
  queryKey: keys.session,
  queryFn: read,
  staleTime: 60_000,
  refetchOnWindowFocus: true,
  retry: 1,
});

/** The session, or null. Inside the shell there always is one: see [`useMe`]. */
export function useSession() {
  return useQuery(sessionQuery);
}

/** Who is signed in, inside the shell. */
export function useMe(): Session {
  return useQuery(sessionQuery).data ?? OPEN;
}

export function useHasRole(role: Role): boolean {
  return useMe().roles.includes(role);
}

/** Whether the server suggests rules to this person: not to auditors, who only read. */
export function useCanSuggest(): boolean {
  const [reviewer, admin] = [useHasRole("reviewer"), useHasRole("admin")];
  return reviewer || admin;
}

/** Takes over a session that a sign-in call answered with. */
export function useSignedIn(): (session: Session) => void {
  const client = useQueryClient();
  return (session) => {
    setCsrf(session.csrf || null);
    client.setQueryData(keys.session, session);
  };
}

/** Ends the session and forgets everything that was shown. */
export function useSignOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    await call("/v1/session", { method: "DELETE" });
    await forgetKey();
    setCsrf(null);
    drafts.clear();
    // The query of the session stays, so that its observers learn that the session is over.
    client.setQueryData(keys.session, null);
    client.removeQueries({ predicate: (query) => query.queryKey[0] !== keys.session[0] });
  };
}
