/** Texts of the card: what a request would do, section by section. */
export const card = {
  type: {
    command: "Command",
    diff: "File change",
    sql: "SQL",
    money: "Payment",
    message: "Message",
    http: "HTTP call",
    kubernetes: "Kubernetes",
    table: "Table",
    tree: "Values",
    text: "Text",
    image: "Picture",
    file: "File",
    step: "Step",
    other: "Values",
  },
  rest: "Everything else",
  values: "Every value",
  around: "Who asks, and from where",
  hidden: (count: number) =>
    count === 1
      ? "One value of this request is not shown here, so it cannot be approved."
      : `${count} values of this request are not shown here, so it cannot be approved.`,
  flagged: (why: string) => `Look twice: ${why}`,

  opaque: "This command cannot be fully analysed. What it runs may differ from what it looks like.",
  cwd: "In folder",
  claimedCwd: "Folder, as the agent says",
  commands: (count: number) => (count === 1 ? "One command" : `${count} commands`),

  sqlStatements: (count: number) => `${count} statements`,
  sqlNoWhere: "WHERE missing or always true",

  change: {
    create: "New file",
    overwrite: "Overwrites the file",
    edit: "Edits the file",
    delete: "Deletes the file",
    change: "Changes the file",
  },
  counts: (added: number, removed: number) => `, ${added} lines added, ${removed} removed`,
  added: "added",
  removed: "removed",
  truncated: "The difference is longer than shown. The whole values are listed below.",

  headers: "Headers",
  body: "Body",
  to: "To",
  cc: "Cc",
  bcc: "Bcc",
  subject: "Subject",
  nobody: "no recipient",
  payee: "To",
  reference: "Reference",
  namespace: "Namespace",
  cluster: "Cluster",
  manifest: "Manifest",

  rows: "rows",
  absent: "not there",
  inside: (count: number) => (count === 1 ? "1 line inside" : `${count} lines inside`),

  picture: "The picture that the agent sends",
  pixels: (width: number, height: number) => `${width} × ${height} pixels`,
  bytes: (bytes: number) => (bytes < 10_240 ? `${bytes} bytes` : `${Math.round(bytes / 1024)} KiB`),
  isReally: (type: string) => `its bytes are ${type}`,
  noPicture: {
    base64: "This is no Base64, so it is not drawn as a picture.",
    type: "These bytes are no PNG, JPEG, GIF or WebP picture, so they are not drawn.",
    large: "This picture is too large to be drawn here.",
    broken: "This picture is broken, so it is not drawn.",
  },
} as const;
