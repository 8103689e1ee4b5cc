import { expect, it, vi } from "vitest";
import { ChangedMeanwhile, type Editable, saveUnlessChanged } from "./editing";
import { toApiError } from "./errors";

interface Budget {
  name: string;
  micros: number;
  spent: number;
}

const OUTDATED = toApiError(
  { error: { code: "precondition_failed", message: "It changed." } },
  new Response(null, { status: 412 }),
);
const edited = ({ name, micros }: Budget) => ({ name, micros });

/** A server that holds one budget and checks tags as ours does. `beforeWrite` is what others do meanwhile. */
function server(budget: Budget, beforeWrite?: (held: Budget) => Partial<Budget>) {
  let held = budget;
  const tag = () => `"${JSON.stringify(held)}"`;
  const write = vi.fn<Editable<Budget, Partial<Budget>>["write"]>(async (body, headers) => {
    held = { ...held, ...beforeWrite?.(held) };
    if (headers["If-Match"] !== tag()) throw OUTDATED;
    held = { ...held, ...body };
    return held;
  });
  const read = vi.fn(async () => ({ data: held, response: new Response(null, { headers: { ETag: tag() } }) }));
  return { read, write, held: () => held };
}

const opened: Budget = { name: "shop", micros: 5, spent: 0 };

it("saves what nobody else changed, with the tag of what was read", async () => {
  const there = server(opened);
  expect(await saveUnlessChanged(there, { opened, edited, body: { micros: 7 } })).toEqual({ ...opened, micros: 7 });
  expect(there.write).toHaveBeenCalledExactlyOnceWith({ micros: 7 }, { "If-Match": `"${JSON.stringify(opened)}"` });
});

it("writes nothing over what somebody saved since the form was opened, and tells what it is", async () => {
  const there = server({ ...opened, micros: 6 });
  const saving = saveUnlessChanged(there, { opened, edited, body: { micros: 7 } });
  await expect(saving).rejects.toEqual(new ChangedMeanwhile({ ...opened, micros: 6 }));
  await expect(saving).rejects.toMatchObject({ now: { micros: 6 } });
  expect(there.write).not.toHaveBeenCalled();
});

it("sees also what somebody saves in the moment before", async () => {
  const there = server(opened, ({ name }) => (name === "shop" ? { name: "orders" } : {}));
  await expect(saveUnlessChanged(there, { opened, edited, body: { micros: 7 } })).rejects.toBeInstanceOf(
    ChangedMeanwhile,
  );
  expect(there.held()).toEqual({ ...opened, name: "orders" });
});

it("is not stopped by figures that change by themselves", async () => {
  let hours = 0;
  const there = server({ ...opened, spent: 9 }, ({ spent }) => (++hours < 3 ? { spent: spent + 1 } : {}));
  await saveUnlessChanged(there, { opened, edited, body: { micros: 7 } });
  expect(there.held()).toEqual({ name: "shop", micros: 7, spent: 11 });
});

it("gives up on what never stands still", async () => {
  const there = server(opened, ({ spent }) => ({ spent: spent + 1 }));
  await expect(saveUnlessChanged(there, { opened, edited, body: { micros: 7 } })).rejects.toBe(OUTDATED);
  expect(there.held().micros).toBe(5);
});

it("saves nothing without a tag", async () => {
  const there = server(opened);
  there.read.mockResolvedValue({ data: opened, response: new Response() });
  await expect(saveUnlessChanged(there, { opened, edited, body: { micros: 7 } })).rejects.toThrow("ETag");
  expect(there.write).not.toHaveBeenCalled();
});
