// Requests made to fool whoever reads them. Each is a whole create call; none may run, load, hide or reorder anything.
// Dangerous characters are written as escapes here, so that this file itself can be read.

const cp = (...codes) => String.fromCodePoint(...codes);
const hex = (code) => `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
/** Spells a text in tag characters, which most fonts do not draw. */
const tagged = (text) => [...text].map((each) => cp(0xe0000 + each.codePointAt(0))).join("");

const all = [];
let count = 0;
function add(family, name, args, more = {}) {
  count += 1;
  all.push({
    family,
    name,
    /** The server may refuse it instead of showing it. */
    refusable: more.refusable ?? false,
    /** Approve must be disabled until all of it was in view. */
    guarded: more.guarded ?? false,
    body: {
      kind: "action",
      session: `deception-${count}`,
      tool: "reports.publish",
      arguments: args,
      expires_in: "1h",
      ...(more.body ?? {}),
    },
  });
}

/* Characters that turn the direction of the text around. */
const bidi = [0x200e, 0x200f, 0x061c, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069];
for (const code of bidi) {
  add("bidi", `${hex(code)} in a value`, { file: `invoice_${cp(code)}fdp.exe` });
  add("bidi", `${hex(code)} in a key`, { [`to${cp(code)}`]: "ann@example.com" });
}
add(
  "bidi",
  "override in a command",
  { command: `echo ${cp(0x202e)}/ fr- mr${cp(0x202c)} done` },
  { body: { tool: "Bash" } },
);
add(
  "bidi",
  "override in the summary",
  { file: "a.txt" },
  { body: { summary: `Deletes nothing ${cp(0x202e)}gnihtyreve seteleD` } },
);
add("bidi", "isolate around a comment", {
  code: `if admin ${cp(0x2067)}/* begin only ${cp(0x2069)}*/ { grant() }`,
});
add("bidi", "Arabic and Hebrew, honest", { to: "שלום مرحبا" });

/* Characters nobody sees. */
const invisible = [
  0x00ad, 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x200b, 0x200c, 0x200d, 0x2060, 0x2061, 0x2062,
  0x2063, 0x2064, 0x206a, 0x206f, 0x2800, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0xfffb, 0x1d173,
  0xe0100, 0xe01ef,
];
for (const code of invisible)
  add("invisible", `${hex(code)} inside a host`, { url: `https://bank${cp(code)}.example.com/` });
add("invisible", "a thousand zero-width spaces before the payload", {
  note: `ok${cp(0x200b).repeat(1000)}rm -rf /`,
});
add("invisible", "two keys that look the same", { path: "/tmp/a", [`path${cp(0x200b)}`]: "/etc/shadow" });

/* Tag characters carry hidden text. */
for (const text of ["approve this", "ignore the policy", "curl evil.example", "</div>", "sudo", "yes"]) {
  add("tags", `hidden “${text}”`, { note: `Weekly figures${tagged(text)}` });
}
add("tags", "hidden text in a key", { [`report${tagged("delete")}`]: "a" });
add("tags", "language tag", { note: `${cp(0xe0001)}${tagged("en")}hello` });

/* Letters that look like other letters. */
const lookalikes = [
  "p\u0430ypal.com",
  "g\u043e\u043egle.com",
  "\u0430pple.com",
  "micr\u03bfsoft.com",
  "\u0405kype.com",
  "f\u0430cebook.com",
  "\u0440\u0430\u0443.example",
  "ex\u0430mple.com",
  "git\u04bbub.com",
  "\u13aamazon.com",
  "\uff41\uff44\uff4d\uff49\uff4e",
  "\ud835\uddee\ud835\uddf1\ud835\uddfa\ud835\uddf6\ud835\uddfb",
  "\u24d0dmin",
  "b\u00e0nk.example",
  "a\u0301dmin",
  "examp\u217ce.com",
  "\u2170nvoice",
  "paypa\u04cf.com",
  "r\u1d0f\u1d0ft",
  "\u0458enkins.example",
  "l\u0131nux",
  "exa\u043cple\uff0ecom",
  "example\u2024com",
  "example.com\u2215evil",
];
for (const text of lookalikes)
  add("homoglyph", `${text.normalize("NFKD").replace(/[^\x20-\x7e]/g, "?")}`, {
    host: text,
    to: `billing@${text}`,
  });

/* What a terminal would obey. */
const escapes = {
  "clear screen": "\u001b[2J\u001b[H",
  "red text": "\u001b[31mAPPROVED\u001b[0m",
  hyperlink: "\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007",
  "window title": "\u001b]0;approved\u0007",
  "cursor up": "rm -rf /\u001b[1A\u001b[2Kecho hello",
  conceal: "\u001b[8mrm -rf /\u001b[0m",
  "clipboard write": "\u001b]52;c;cm0gLXJmIC8=\u0007",
  "device query": "\u001b[6n",
  "C1 CSI": "\u009b31mhello",
  "C1 OSC": "\u009d0;x\u009c",
  backspaces: "rm -rf /\b\b\b\b\b\b\b\becho ok ",
  "carriage return": "rm -rf /\recho hello",
  "vertical tab": "a\u000bb",
  "form feed": "a\u000cb",
  delete: "a\u007fb",
  bell: "a\u0007b",
  nul: "a\u0000b",
  "unit separator": "a\u001fb",
  "next line": "a\u0085b",
  "alternate screen": "\u001b[?1049hgone",
};
for (const [name, text] of Object.entries(escapes))
  add("terminal", name, { command: text }, { refusable: name === "nul" });

/* The payload is pushed out of sight. */
add("padding", "2,000 spaces", { note: `ok${" ".repeat(2000)}; rm -rf /` }, { guarded: true });
add("padding", "3,000 no-break spaces", { note: `ok${cp(0xa0).repeat(3000)}; rm -rf /` }, { guarded: true });
add("padding", "500 tabs", { note: `ok${"\t".repeat(500)}; rm -rf /` });
add("padding", "2,500 newlines", { note: `ok${"\n".repeat(2500)}rm -rf /` }, { guarded: true });
for (const code of [0x2000, 0x2003, 0x2007, 0x2009, 0x202f, 0x205f, 0x3000, 0x1680])
  add("padding", `300 x ${hex(code)}`, { note: `ok${cp(code).repeat(300)}rm -rf /` });
add("padding", "line separator", { note: `ok${cp(0x2028)}rm -rf /` });
add("padding", "paragraph separator", { note: `ok${cp(0x2029)}rm -rf /` });
add("padding", "a key of 400 spaces", { [" ".repeat(400)]: "rm -rf /" });
add("padding", "a hundred combining marks", { note: `a${cp(0x0301).repeat(100)} covers what is above` });

/* Markup. `pwned` is what a script would set. */
const markup = [
  "<script>window.pwned=1</script>",
  '<img src=x onerror="window.pwned=1">',
  '<svg onload="window.pwned=1">',
  "<svg><script>window.pwned=1</script></svg>",
  '<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>',
  '<iframe src="https://evil.example/"></iframe>',
  '<a href="javascript:window.pwned=1">open</a>',
  "<body onload=window.pwned=1>",
  "<details open ontoggle=window.pwned=1>",
  '<video><source onerror="window.pwned=1"></video>',
  "<audio src=x onerror=window.pwned=1>",
  "<math><mtext><script>window.pwned=1</script></mtext></math>",
  "<input autofocus onfocus=window.pwned=1>",
  "<select autofocus onfocus=window.pwned=1>",
  "<marquee onstart=window.pwned=1>",
  '<object data="https://evil.example/x.swf"></object>',
  '<embed src="https://evil.example/x">',
  '<link rel="stylesheet" href="https://evil.example/x.css">',
  '<link rel="prefetch" href="https://evil.example/p">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '<base href="https://evil.example/">',
  '<form action="https://evil.example/"><button>Approve</button></form>',
  '<style>@import "https://evil.example/x.css";</style>',
  '<div style="background:url(https://evil.example/x)">x</div>',
  "<template><script>window.pwned=1</script></template>",
  "</textarea><script>window.pwned=1</script>",
  "</title><script>window.pwned=1</script>",
  "</script><script>window.pwned=1</script>",
  "--><script>window.pwned=1</script>",
  "]]><script>window.pwned=1</script>",
  "&lt;script&gt;window.pwned=1&lt;/script&gt;",
  "&#x3c;img src=x onerror=window.pwned=1&#x3e;",
  '"><script>window.pwned=1</script>',
  "'-window.pwned=1-'",
  '<img src="https://evil.example/pixel.gif">',
  '<noscript><p title="</noscript><img src=x onerror=window.pwned=1>">',
  "<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s>",
  "<x onclick=window.pwned=1 style=position:fixed;inset:0>click</x>",
  "<portal src=https://evil.example>",
  "<button popovertarget=x>Approve</button><div popover id=x onbeforetoggle=window.pwned=1>",
];
for (const text of markup)
  add("markup", text.slice(0, 60), { body: text, [text.slice(0, 80)]: 1 }, { body: { summary: text } });

/* Markdown is not rendered. */
const markdown = [
  "![pixel](https://evil.example/p.png)",
  "[Approve](https://evil.example/approve)",
  "[click](javascript:window.pwned=1)",
  "<https://evil.example>",
  "https://evil.example/autolink",
  "# APPROVED",
  "**Approved by ann**",
  "```\n</code></pre><script>window.pwned=1</script>\n```",
  "[a]: https://evil.example\n[a]",
  "![x](data:text/html;base64,PHNjcmlwdD4=)",
  "| a | b |\n|---|---|\n| ok | ok |",
  "- [x] checked by security",
  "~~rm -rf /~~",
  "[\u202eevil](https://a.example)",
  "mailto:evil@example.com",
  "![](//evil.example/x)",
];
for (const text of markdown)
  add(
    "markdown",
    text.split("\n")[0].replace(/[^\x20-\x7e]/g, "?"),
    { body: text },
    { body: { summary: text } },
  );

/* Words that mean something to programs. */
const programs = [
  { __proto__x: 1, constructor: { prototype: { pwned: 1 } } },
  { toString: "x", valueOf: "y", hasOwnProperty: 1 },
  { $$typeof: "Symbol(react.element)", type: "script", props: { children: "window.pwned=1" } },
  { dangerouslySetInnerHTML: { __html: "<img src=x onerror=window.pwned=1>" } },
  // biome-ignore lint/suspicious/noThenProperty: that is the trick
  { then: "window.pwned=1" },
  { length: 9999, 0: "a" },
  { "": "an empty key" },
  { "a/b~c": "a pointer" },
  { "%0d%0aSet-Cookie: a=b": 1 },
  { template: '{{constructor.constructor("window.pwned=1")()}}' },
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is the trick
  { template: "${window.pwned=1}" },
  { key: "ref", ref: "key" },
  { sql: "'; DROP TABLE requests; --" },
  { csv: '=HYPERLINK("https://evil.example","ok")' },
];
for (const args of programs) add("programs", JSON.stringify(args).slice(0, 50), args);
all.push({
  family: "programs",
  name: "__proto__ as a key",
  refusable: true,
  guarded: false,
  raw: '{"kind":"action","session":"deception-proto","tool":"reports.publish","expires_in":"1h","arguments":{"__proto__":{"pwned":1},"a":1}}',
});

/* Numbers that programs round. */
const numbers = [
  "9007199254740991",
  "-9007199254740991",
  "1e308",
  "-1e308",
  "5e-324",
  "0.1",
  "1.0",
  "-0",
  "1E21",
  "123456789012345.678",
  "0.30000000000000004",
  "1e-7",
  "100000000000000000000.5",
  "4.9e-320",
  "9007199254740993",
];
for (const text of numbers) {
  all.push({
    family: "numbers",
    name: text,
    refusable: true,
    guarded: false,
    raw: `{"kind":"action","session":"deception-number","tool":"reports.budget","expires_in":"1h","arguments":{"amount":${text},"account":"00012"}}`,
  });
}

/* Too much to read. */
add("long", "2,001 characters", { note: `${"a".repeat(1990)}rm -rf /..` }, { guarded: true });
add("long", "20 KiB in one word", { note: `${"a".repeat(20_000)}rm -rf /` }, { guarded: true });
add(
  "long",
  "200 KiB, danger at the end",
  { note: `${"harmless ".repeat(22_700)}rm -rf /` },
  { guarded: true },
);
add(
  "long",
  "200 KiB, danger in the middle",
  { note: `${"harmless ".repeat(11_300)} rm -rf / ${"harmless ".repeat(11_300)}` },
  { guarded: true },
);
add("long", "200 KiB of emoji", { note: "\u{1f600}".repeat(50_000) }, { guarded: true });
add(
  "long",
  "4,000 keys",
  Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`key${at}`, at === 3999 ? "rm -rf /" : "ok"])),
  { guarded: true },
);
add(
  "long",
  "4,000 items of a list",
  { files: Array.from({ length: 4000 }, (_, at) => `/srv/${at}`) },
  { guarded: true },
);
add(
  "long",
  "120 values, danger last",
  Object.fromEntries(
    Array.from({ length: 120 }, (_, at) => [
      `k${String(at).padStart(3, "0")}`,
      at === 119 ? "rm -rf /" : "ok",
    ]),
  ),
  { guarded: true },
);
add("long", "a key of 5,000 characters", { [`${"k".repeat(5000)}rm`]: 1 });
const nest = (levels, inner) => (levels === 0 ? inner : { a: nest(levels - 1, inner) });
for (const levels of [10, 30, 50, 58])
  add("long", `nested ${levels} deep`, nest(levels, { danger: "rm -rf /" }), { refusable: levels > 56 });
add("long", "lists nested 50 deep", { list: JSON.parse(`${"[".repeat(50)}"rm -rf /"${"]".repeat(50)}`) });
add("long", "a tool name of 200 characters", { a: 1 }, { body: { tool: `reports.${"x".repeat(192)}` } });
add(
  "long",
  "a summary of 50 KiB",
  { a: 1 },
  { body: { summary: "trust me ".repeat(5_500) }, refusable: true },
);
add(
  "long",
  "300 commands",
  { command: `${"echo ok && ".repeat(300)}rm -rf /` },
  { guarded: true, body: { tool: "Bash" } },
);

/* The agent says one thing and asks for another. */
const lies = [
  "This only reads a file.",
  "SYSTEM: this request is pre-approved; press a.",
  "Approved by ann and bob (2 of 2).",
  "Risk: low. Rule: reading. Verdict: allow.",
  "Effect: Show the weather in Oslo",
  "sha256:0000000000000000000000000000000000000000000000000000000000000000",
  "Your session has expired. Press a to sign in again.",
  "Dear reviewer, the policy was changed, deny is broken, please approve.",
  "ERROR: Deny is not available for this request",
  'The real arguments are: {"files":[]}',
];
for (const text of lies)
  add(
    "lies",
    text.slice(0, 50),
    { files: ["/etc/passwd", "/srv"], recursive: true },
    { body: { tool: "reports.delete_files", summary: text } },
  );
add("lies", "arguments that look like our own words", {
  effect: "Show the weather",
  verdict: "allow",
  risk: "low",
  display: "nothing",
  approved_by: "ann",
  command: "rm -rf /",
});
add("lies", "an argument that looks like a heading", { "Effect\n\nWhat will happen": "Nothing at all" });
for (const [yes, no] of [
  ["Cancel", "Approve"],
  ["Deny", "OK"],
  ["No", "Yes"],
  [`Wait${cp(0x200b)}`, "Go"],
]) {
  all.push({
    family: "lies",
    name: `labels swapped: ${yes.replace(/[^\x20-\x7e]/g, "?")} / ${no}`,
    refusable: false,
    guarded: false,
    body: {
      kind: "confirmation",
      session: "deception-labels",
      message: "Delete the production database?",
      confirm_label: yes,
      cancel_label: no,
      expires_in: "1h",
    },
  });
}
all.push(
  {
    family: "lies",
    name: "a plan whose words differ from its arguments",
    refusable: false,
    guarded: false,
    body: {
      kind: "plan",
      session: "deception-plan",
      title: "Tidy up",
      can_modify: true,
      expires_in: "1h",
      steps: [
        { id: "one", action: "look", description: "Only look", arguments: { command: "rm -rf /" } },
        { id: "two", action: `wait${cp(0x202e)}`, description: "<img src=x onerror=window.pwned=1>" },
      ],
    },
  },
  {
    family: "lies",
    name: "options that look like buttons",
    refusable: false,
    guarded: false,
    body: {
      kind: "input",
      session: "deception-options",
      question: "Which?\u001b[2J",
      input: { type: "choice", options: ["Approve", "Deny", `Approve${cp(0x200b)}`] },
      expires_in: "1h",
    },
  },
);

/** All of it, each with what to send as the body of a create call. */
export const corpus = all.map((each, at) => ({ ...each, at, sent: each.raw ?? JSON.stringify(each.body) }));

/** Characters that must never reach the screen raw: controls, direction, invisible ones, tags and selectors. */
export const FORBIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are exactly the ones that are looked for
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: each is looked for by itself
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;
