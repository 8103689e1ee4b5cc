import { describe, expect, it } from "vitest";
import {
  addressOf,
  commandLine,
  countCodes,
  curlLine,
  type Description,
  errorCasesOf,
  exampleOf,
  matching,
  matchingCases,
  operationsOf,
  pythonLines,
  rowsOf,
  type Schema,
} from "./reference";

const schemas: Record<string, Schema> = {
  Order: {
    type: "object",
    required: ["name", "zones"],
    properties: {
      name: { type: "string", description: "What people call it", maxLength: 64, example: "shop" },
      zones: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 3 },
      hours: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }], default: 24, description: "How long" },
      parent: { anyOf: [{ $ref: "#/components/schemas/Order" }, { type: "null" }] },
    },
  },
};

const description: Description = {
  info: { description: "" },
  tags: [{ name: "things", description: "Things" }],
  paths: {
    "/things/{thing_id}": {
      patch: {
        operationId: "update_thing",
        description: "Changes a thing.",
        tags: ["things"],
        parameters: [
          { name: "thing_id", in: "path", required: true, schema: { type: "string" } },
          { name: "limit", in: "query", schema: { type: "integer" } },
          { $ref: "#/components/parameters/IfMatch" },
        ],
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Order" } } } },
        responses: { "404": { $ref: "#/components/responses/Error404" } },
        "x-error-codes": { "404": ["thing_not_found"] },
      },
    },
  },
  components: {
    schemas,
    parameters: { IfMatch: { name: "If-Match", in: "header", schema: { type: "string" } } },
    responses: { Error404: { description: "It does not exist" } },
  },
  "x-error-codes": { "404": ["unknown_url"], "500": ["internal_error"] },
};
const [operation] = operationsOf(description);
if (!operation) throw new Error("no operation");
const filled = { thing_id: "thi 1", limit: "5", "If-Match": '"it\'s"' };

describe("the reference of the API", () => {
  it("resolves what operations share", () => {
    expect(operation.parameters.map(({ name }) => name)).toEqual(["thing_id", "limit", "If-Match"]);
    expect(operation.answers).toEqual([
      {
        status: "404",
        description: "It does not exist",
        schema: undefined,
        codes: ["thing_not_found", "unknown_url"],
      },
    ]);
  });

  it("finds operations by words", () => {
    expect(matching([operation], "THING update")).toEqual([operation]);
    expect(matching([operation], "thing delete")).toEqual([]);
  });

  it("shows fields with type, limits, default and example, and ends where a thing holds itself", () => {
    expect(rowsOf(operation.body, schemas)).toEqual([
      row("name", "string", true, "What people call it", "at most 64 characters", "", '"shop"'),
      row("zones", "list of string", true, "", "1 to 3 items", "", ""),
      row("hours", "integer", false, "How long", "at least 1", "24", ""),
      row("parent", "object", false, "", "", "", ""),
    ]);
  });

  it("begins a body with what is required", () => {
    expect(exampleOf(operation.body, schemas)).toEqual({ name: "shop", zones: ["…"] });
  });

  it("writes lines that can be run", () => {
    expect(addressOf(operation, filled)).toBe("/things/thi%201?limit=5");
    expect(curlLine(operation, filled, '{"name": null}', "https://r")).toBe(
      [
        "curl -X PATCH 'https://r/things/thi%201?limit=5'",
        '-H "Authorization: Bearer $RINGMASTER_TOKEN"',
        `-H 'If-Match: "it'\\''s"'`,
        '-H "Content-Type: application/json"',
        `-d '{"name": null}'`,
      ].join(" \\\n  "),
    );
    expect(pythonLines(operation, filled, '{"name": null, "on": true}')).toContain(
      'client.update_thing("thi 1", {"name": None, "on": True}, limit=5, if_match="\\"it\'s\\"")',
    );
    expect(commandLine(operation, { thing_id: "a", limit: "5" }, undefined, "things update")).toBe(
      "ringmaster things update a --limit 5",
    );
    expect(commandLine(operation, {}, "{}", "things update")).toBe(
      "ringmaster things update THING --file - <<'JSON'\n{}\nJSON",
    );
  });
});

function row(
  name: string,
  type: string,
  required: boolean,
  said: string,
  limits: string,
  given: string,
  example: string,
): object {
  return { name, type, required, description: said, limits, default: given, example };
}

describe("error codes", () => {
  const listed = {
    in_use: [
      { status: 409, says: "It is in use.", hint: "Wait." },
      { status: 409, says: "Its name is in use.", hint: "Choose another." },
    ],
    role_in_use: [{ status: 409, says: "", hint: "" }],
    not_found: [{ status: 404, says: "There is none.", hint: "" }],
  };
  const cases = errorCasesOf({
    ...description,
    components: {
      ...description.components,
      schemas: { ErrorDetail: { properties: { code: { "x-error-codes": listed } } } },
    },
  });

  it.each(Object.keys(listed))("%s leads to itself alone, as docs_url of an error asks for it", (code) => {
    const found = matchingCases(cases, code);
    expect(found.map((one) => one.code)).toEqual(listed[code as keyof typeof listed].map(() => code));
    expect(countCodes(found)).toBe(1);
  });

  it("are found by words of what they say", () => {
    expect(matchingCases(cases, "wait in use").map(({ says }) => says)).toEqual(["It is in use."]);
    expect(matchingCases(cases, "409").map(({ code }) => code)).toEqual(["in_use", "in_use", "role_in_use"]);
    expect(matchingCases(cases, "nothing like it")).toEqual([]);
    expect(countCodes(cases)).toBe(3);
  });
});
