import { expect, test } from "vitest";
import { missingIn, type ReceiverFields, readAddresses, receiverOrder } from "./alert-receivers";

const TYPED: ReceiverFields = {
  name: " ops ",
  kind: "webhook",
  addresses: "a@example.com, b@example.com\na@example.com;",
  url: " https://hooks.example.com/x ",
  routingKey: "key-12345",
  topics: ["alerts"],
  severity: "warning",
  clusterIds: ["clu_1"],
};
const SHARED = { name: "ops", topics: ["alerts"], severity: "warning", cluster_ids: ["clu_1"] };

test("addresses are read however they are parted, each once", () => {
  expect(readAddresses(TYPED.addresses)).toEqual(["a@example.com", "b@example.com"]);
  expect(readAddresses(" \n ")).toEqual([]);
});

test("a kind of receiver gets the fields that it takes, whatever was typed for another", () => {
  expect(receiverOrder(TYPED)).toEqual({ ...SHARED, kind: "webhook", url: "https://hooks.example.com/x" });
  expect(receiverOrder({ ...TYPED, kind: "email" })).toEqual({
    ...SHARED,
    kind: "email",
    addresses: ["a@example.com", "b@example.com"],
  });
  expect(receiverOrder({ ...TYPED, kind: "pagerduty", url: "" })).toEqual({
    ...SHARED,
    kind: "pagerduty",
    routing_key: "key-12345",
    url: null,
  });
});

test("what is missing depends on the kind", () => {
  expect(missingIn(TYPED)).toBeUndefined();
  expect(missingIn({ ...TYPED, name: " " })).toBe("Enter a name.");
  expect(missingIn({ ...TYPED, topics: [] })).toBe("Choose what it is told of.");
  expect(missingIn({ ...TYPED, kind: "slack", url: "" })).toBe("Enter where to post.");
  expect(missingIn({ ...TYPED, kind: "pagerduty", url: "" })).toBeUndefined();
  expect(missingIn({ ...TYPED, kind: "pagerduty", routingKey: "" })).toBe("Enter the integration's key.");
  expect(missingIn({ ...TYPED, kind: "email", addresses: "," })).toBe("Enter an address.");
});
