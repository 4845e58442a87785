/** Texts of the page that connects an agent. */
export const connect = {
  title: "Connect an agent",
  about: "Make a key, and run the lines where the agent works. Its first call shows here.",
  choose: "What do you want to connect?",
  name: "Name of the agent",
  nameHint: "The name in the queue and in the ledger.",
  makeKey: "Make a key, and copy the lines",
  keyMade: (name: string) =>
    `The key of ${name} is in the lines below. It can ask, and never decide. It is shown until you leave this page.`,
  notAdmin: "Only an admin of this server can make a key. Ask one to run this, and to give you the key:",
  steps: "Steps",

  waiting: "Waiting for the first call",
  came: (agent: string, tool: string, state: string) => `${agent} asked for ${tool}: ${state}`,
  docs: (page: string) => `More: docs/${page}`,
  test: "Send me a test request",
  testAbout:
    "It comes from the agent placet-test and runs nothing. Press j and k to move, a to approve, d to deny, e to edit, ? for all keys.",
  testSent: "The test request is in the queue",
  testOver: (state: string) => `The test is over (${state}). Nothing was run, and its key is revoked.`,
  testPassed: "Your policy lets the test request pass without a person.",
  testFailed: "The test request could not be made.",
  testAdmin: "A test request needs the key of an agent, which only an admin can make.",
} as const;
