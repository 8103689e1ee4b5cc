import { afterEach, describe, expect, it, vi } from "vitest";
import { pauseMs, sendJson } from "./client";

function refused(code: string, retryAfter: string): Response {
  return new Response(JSON.stringify({ error: { code, message: "Too many.", hint: "" } }), {
    status: 429,
    headers: { "Retry-After": retryAfter },
  });
}

afterEach(() => vi.unstubAllGlobals());

describe("too many requests", () => {
  it.each([
    ["rate_limited", "1", 1000],
    ["rate_limited", "60", undefined],
    ["too_many_statements", "1", undefined],
  ])("%s with Retry-After %s waits %s ms", async (code, retryAfter, pause) => {
    const answer = refused(code, retryAfter);
    expect(pauseMs(answer, await answer.text())).toBe(pause);
  });

  it("is sent again, with its body, until it is let through", async () => {
    vi.stubGlobal("localStorage", { getItem: () => null });
    const bodies: string[] = [];
    const answers = [refused("rate_limited", "0"), new Response("{}")];
    vi.stubGlobal("fetch", async (request: Request) => {
      bodies.push(await request.text());
      return answers.shift();
    });
    await sendJson("POST", "http://console.example/api/v1/things", { name: "a" });
    expect(bodies).toEqual(['{"name":"a"}', '{"name":"a"}']);
  });

  it("is told when it lasts", async () => {
    vi.stubGlobal("localStorage", { getItem: () => null });
    vi.stubGlobal("fetch", async () => refused("rate_limited", "0"));
    await expect(sendJson("POST", "http://console.example/api/v1/things")).rejects.toMatchObject({ status: 429 });
  });
});
