/** The dashboard begins here. */
import { MutationCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/client";
import { onSessionChanged } from "./api/proof";
import { CommandsProvider } from "./app/commands";
import { registerOffline } from "./app/offline";
import { router } from "./app/router";
import { applyTheme } from "./app/theme";
import { ToastProvider } from "./ui";
import "./ui/tokens.css";
import "./ui/base.css";

applyTheme();
// Everything on screen belongs to the session before, its name included.
onSessionChanged(() => window.location.reload());

const client = new QueryClient({
  mutationCache: new MutationCache(),
  defaultOptions: {
    queries: {
      retry: (count, error) =>
        count < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
      refetchOnWindowFocus: false,
    },
    mutations: { retry: false },
  },
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <ToastProvider>
          <CommandsProvider>
            <RouterProvider router={router} />
          </CommandsProvider>
        </ToastProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}
registerOffline();
