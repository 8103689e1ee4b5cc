import type { AlertReceiver, AlertReceiverOrder } from "../api";

export type ReceiverKind = AlertReceiver["kind"];

export const KINDS: { value: ReceiverKind; label: string; description: string }[] = [
  { value: "webhook", label: "Webhook", description: "Everything as JSON, signed with a secret." },
  { value: "slack", label: "Slack", description: "A channel of Slack, Mattermost, or what takes their webhooks." },
  { value: "pagerduty", label: "PagerDuty", description: "Events API v2: opened and closed by themselves." },
  { value: "email", label: "E-mail", description: "Through this installation's mail server." },
];

export const kindLabel = (kind: ReceiverKind): string => KINDS.find(({ value }) => value === kind)?.label ?? kind;

export type Topic = AlertReceiver["topics"][number];

export const TOPICS: { value: Topic; label: string; description: string }[] = [
  { value: "alerts", label: "Alerts", description: "When one begins and when it is over." },
  { value: "budgets", label: "Budgets", description: "When so much of one is spent, or will be." },
  {
    value: "operations",
    label: "Operations",
    description: "When one is ordered, is stuck, goes on or ends. Stuck ones are warnings.",
  },
  { value: "audit", label: "Audit log", description: "Each record with its hash. Webhooks only." },
];

/** Whether receivers of a kind can be told of a topic. */
export const takesTopic = (kind: ReceiverKind, topic: Topic): boolean => topic !== "audit" || kind === "webhook";

/** What a receiver is told of, as a list in a sentence. */
export const topicsLabel = (topics: readonly Topic[]): string =>
  TOPICS.filter(({ value }) => topics.includes(value))
    .map(({ label }) => label)
    .join(", ");

/** What is typed into the form of a new receiver. */
export interface ReceiverFields {
  name: string;
  kind: ReceiverKind;
  addresses: string;
  url: string;
  routingKey: string;
  topics: Topic[];
  severity: AlertReceiver["severity"];
  clusterIds: string[];
}

/** Addresses between commas, semicolons, spaces or lines; each once. */
export function readAddresses(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((each) => each !== ""))];
}

export const NO_TOPIC = "Choose what it is told of.";

/** What is still to be filled in; undefined: nothing. */
export function missingIn(fields: ReceiverFields): string | undefined {
  if (fields.name.trim() === "") return "Enter a name.";
  if (!fields.topics.some((topic) => takesTopic(fields.kind, topic))) return NO_TOPIC;
  switch (fields.kind) {
    case "email":
      return readAddresses(fields.addresses).length === 0 ? "Enter an address." : undefined;
    case "pagerduty":
      return fields.routingKey.trim() === "" ? "Enter the integration's key." : undefined;
    default:
      return fields.url.trim() === "" ? "Enter where to post." : undefined;
  }
}

/** What is sent: of the fields only those that the kind takes. */
export function receiverOrder(fields: ReceiverFields): AlertReceiverOrder {
  const { kind, severity } = fields;
  const topics = fields.topics.filter((topic) => takesTopic(kind, topic));
  const order = { name: fields.name.trim(), kind, topics, severity, cluster_ids: fields.clusterIds };
  const url = fields.url.trim() || null;
  switch (kind) {
    case "email":
      return { ...order, addresses: readAddresses(fields.addresses) };
    case "pagerduty":
      return { ...order, routing_key: fields.routingKey.trim(), url };
    default:
      return { ...order, url };
  }
}
