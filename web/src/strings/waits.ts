/** Texts about who waits for an answer, and what came after it. */
export const waits = {
  waits: {
    attached: "The agent is connected and waits for the answer.",
    brought: "The answer is brought to the agent. It need not be connected.",
    unknown: "It is not known here whether the agent still waits.",
    gone: (until: string) => `The agent has hung up; your yes is kept until ${until} for it to ask again.`,
    goneReadable: "The agent has hung up. It can read the answer when it asks again.",
    kept: (until: string) => `A yes now is kept until ${until}.`,
    nobody: "Nobody can give this approval now: all people whose approval counts are not enough.",
    told: (places: string) => `Told: ${places}`,
  },
  after: {
    waiting: (until: string) => `Not run yet. The agent can use the approval until ${until}.`,
    running: (until: string) => `The agent is running it. Its report is due by ${until}.`,
    runningOn: "The agent is running it.",
    succeeded: "It ran, and the agent reported success.",
    failed: "It ran, and the agent reported a failure.",
    resolvedWell: (name: string) => `${name} found out that it succeeded.`,
    resolvedBadly: (name: string) => `${name} found out that it failed.`,
    lapsed: (at: string) => `It was not run. The agent did not use the approval until ${at}.`,
    unknown: (at: string) =>
      `It may have run: the agent took the permit, and no report came by ${at}. Find out what happened, then resolve the outcome below.`,
    revoked: "The approval was taken back before the agent used it. It was not run.",
    expired: "Nobody decided in time. It was not run.",
  },
} as const;
