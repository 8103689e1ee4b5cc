/** The HTTP API as a program uses it: to prepare what a test is not about, and to check what it is about. */

import { instance } from "./instance";

export type Reply = { status: number; body: Record<string, unknown> };

export async function call(
  method: string,
  path: string,
  options: { token?: string | null; body?: unknown } = {},
): Promise<Reply> {
  const { token = instance().token, body } = options;
  const answer = await fetch(`${instance().url}/api/v1${path}`, {
    method,
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text ? JSON.parse(text) : {} };
}

/** As `call`, for what must work. */
export async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const reply = await call(method, path, { body });
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body as T;
}

export type Cluster = { id: string; name: string; state: string; current_operation: { id: string } | null };
export type Operation = { id: string; state: string; kind: string };
export type Node = { id: string; name: string; zone: string; state: string; address: string };

const ORDER = {
  engine: "cassandra",
  provider: "local",
  region: "local-1",
  zones: ["local-1a", "local-1b", "local-1c"],
  machine_type: "local.small",
  nodes_per_zone: 1,
};

/** Orders a cluster of three small nodes in three zones, or what `otherwise` says. */
/** What a test that failed has left under this name is deleted first. */
export async function orderCluster(
  name: string,
  otherwise: Partial<typeof ORDER> = {},
): Promise<{ cluster: Cluster; operation: Operation }> {
  await deleteLeftovers((cluster) => cluster.name === name);
  return ask("POST", "/clusters", { ...ORDER, ...otherwise, name });
}

export async function nodesOf(clusterId: string): Promise<Node[]> {
  return (await ask<{ items: Node[] }>("GET", `/clusters/${clusterId}/nodes`)).items;
}

/** Waits for an operation to end and returns the word it ended with. */
export async function ended(operationId: string, seconds = 90): Promise<string> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const { state } = await ask<Operation>("GET", `/operations/${operationId}`);
    if (["succeeded", "failed", "cancelled", "blocked"].includes(state)) return state;
    if (Date.now() > deadline) throw new Error(`operation ${operationId} is still ${state} after ${seconds} s`);
    await new Promise((wake) => setTimeout(wake, 250));
  }
}

/** Also one that a test has left protected. */
export async function deleteCluster(clusterId: string): Promise<void> {
  await ask("PATCH", `/clusters/${clusterId}`, { termination_protection: false });
  const { operation } = await ask<{ operation: Operation }>("DELETE", `/clusters/${clusterId}`);
  const state = await ended(operation.id);
  if (state !== "succeeded") throw new Error(`deleting ${clusterId} ${state}`);
}

/** Of tests that failed. */
export async function deleteLeftovers(which: (cluster: Cluster) => boolean = () => true): Promise<void> {
  const { items } = await ask<{ items: Cluster[] }>("GET", "/clusters");
  for (const { id, state, current_operation: operation } of items.filter(which)) {
    if (operation !== null) await ended(operation.id);
    if (state !== "deleting") await deleteCluster(id);
  }
}

export type Person = { email: string; password: string; name: string };

/** A new member, invited by the owner and joined, without the console. */
export async function newMember(name: string, role: string): Promise<Person> {
  const person = {
    name,
    // Another one each time: who joined stays a member when a test is run again.
    email: `${name.toLowerCase().replaceAll(" ", ".")}.${Date.now()}@example.com`,
    password: "correct horse 42",
  };
  const { url } = await ask<{ url: string }>("POST", "/invitations", { email: person.email, role });
  const secret = url.split("#").at(-1);
  await ask("POST", "/invitations/accept", { secret, name, password: person.password });
  return person;
}
