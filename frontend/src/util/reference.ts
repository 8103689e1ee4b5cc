/** The API's description (OpenAPI 3.1) as the reference shows it: operations, their fields in rows, and lines to copy. */

export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  example?: unknown;
  examples?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  "x-error-codes"?: Record<string, Omit<ErrorCase, "code">[]>;
}

/** A case of a code of an error; what it says and what to do may be empty. */
export interface ErrorCase {
  code: string;
  status: number;
  says: string;
  hint: string;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Content {
  content?: Record<string, { schema?: Schema }>;
}

interface Documented {
  operationId: string;
  description?: string;
  deprecated?: boolean;
  tags?: string[];
  security?: unknown[];
  parameters: (Parameter | { $ref: string })[];
  requestBody?: Content;
  responses: Record<string, { $ref?: string; description?: string } & Content>;
  "x-error-codes"?: CodesByStatus;
}

type CodesByStatus = Record<string, string[]>;

export interface Description {
  info: { description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Documented>>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, { description?: string } & Content>;
  };
  /** Those that every operation can answer. */
  "x-error-codes"?: CodesByStatus;
}

export interface Operation {
  id: string;
  tag: string;
  method: string;
  path: string;
  description: string;
  deprecated: boolean;
  parameters: Parameter[];
  body: Schema | undefined;
  answers: { status: string; description: string; schema: Schema | undefined; codes: string[] }[];
}

/** One field of a body or an answer; `name` is dotted, with [] for what a list holds. */
export interface Row {
  name: string;
  type: string;
  required: boolean;
  description: string;
  limits: string;
  default: string;
  example: string;
}

export function operationsOf(description: Description): Operation[] {
  return Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, found]) => ({
      id: found.operationId,
      tag: found.tags?.[0] ?? "",
      method: method.toUpperCase(),
      path,
      description: found.description ?? "",
      deprecated: found.deprecated ?? false,
      parameters: found.parameters.map((one) =>
        "$ref" in one ? (description.components.parameters[lastWord(one.$ref)] as Parameter) : one,
      ),
      body: found.requestBody?.content?.["application/json"]?.schema,
      answers: Object.entries(found.responses).map(([status, answer]) => {
        const meant = answer.$ref ? description.components.responses[lastWord(answer.$ref)] : answer;
        return {
          status,
          description: meant?.description ?? "",
          schema: meant?.content?.["application/json"]?.schema,
          codes: [found, description].flatMap((one) => one["x-error-codes"]?.[status] ?? []),
        };
      }),
    })),
  );
}

/** Operations whose id, address or description has every word. */
export function matching(operations: Operation[], text: string): Operation[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return operations.filter((one) => {
    const said = `${one.id} ${one.id.replaceAll("_", " ")} ${one.method} ${one.path} ${one.tag} ${one.description}`;
    return words.every((word) => said.toLowerCase().includes(word));
  });
}

export function errorCasesOf(description: Description): ErrorCase[] {
  const codes = description.components.schemas.ErrorDetail?.properties?.code?.["x-error-codes"] ?? {};
  return Object.entries(codes).flatMap(([code, cases]) => cases.map((one) => ({ code, ...one })));
}

/** The cases of the code of that name alone, when there is one; else those with every word. */
export function matchingCases(cases: ErrorCase[], text: string): ErrorCase[] {
  const named = cases.filter(({ code }) => code === text.trim());
  if (named.length > 0) return named;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return cases.filter(({ code, status, says, hint }) => {
    const said = `${code} ${code.replaceAll("_", " ")} ${status} ${says} ${hint}`.toLowerCase();
    return words.every((word) => said.includes(word));
  });
}

export function countCodes(cases: ErrorCase[]): number {
  return new Set(cases.map(({ code }) => code)).size;
}

const DEEPEST = 4;

/** The fields of a schema in rows, as deep as people read. */
export function rowsOf(schema: Schema | undefined, schemas: Record<string, Schema>): Row[] {
  const rows: Row[] = [];
  walk(schema, "", []);
  return rows;

  function walk(given: Schema | undefined, prefix: string, above: string[]): void {
    if (given === undefined || prefix.split(".").length > DEEPEST) return;
    const name = given.$ref && lastWord(given.$ref);
    if (name && above.includes(name)) return;
    const within = name ? [...above, name] : above;
    const found = resolved(given, schemas);
    for (const part of alternatives(found)) walk(part, prefix, within);
    if (found.items) walk(found.items, prefix === "" ? "" : `${prefix}[]`, within);
    if (typeof found.additionalProperties === "object") walk(found.additionalProperties, `${prefix}.*`, within);
    for (const [field, below] of Object.entries(found.properties ?? {})) {
      const full = prefix === "" ? field : `${prefix}.${field}`;
      if (!rows.some((row) => row.name === full)) {
        rows.push(rowOf(full, below, found.required?.includes(field) ?? false, schemas));
      }
      walk(below, full, within);
    }
  }
}

export function rowOf(name: string, schema: Schema, required: boolean, schemas: Record<string, Schema>): Row {
  const kinds = [
    resolved(schema, schemas),
    ...alternatives(resolved(schema, schemas)).map((one) => resolved(one, schemas)),
  ];
  const first = <T>(read: (one: Schema) => T | undefined): T | undefined =>
    [schema, ...kinds].map(read).find((value) => value !== undefined);
  const given = first((one) => one.default);
  const example = first((one) => one.example ?? one.examples?.[0]);
  return {
    name,
    type: typeOf(schema, schemas),
    required,
    description: first((one) => one.description) ?? "",
    limits: limitsOf(kinds),
    default: given === undefined || given === null ? "" : JSON.stringify(given),
    example: example === undefined ? "" : JSON.stringify(example),
  };
}

function typeOf(schema: Schema, schemas: Record<string, Schema>): string {
  const found = resolved(schema, schemas);
  const parts = alternatives(found);
  if (parts.length > 0) return [...new Set(parts.map((one) => typeOf(one, schemas)))].join(" or ");
  if (found.type === "array") return `list of ${found.items ? typeOf(found.items, schemas) : "anything"}`;
  if (found.const !== undefined) return JSON.stringify(found.const);
  if (found.format) return `${found.type ?? "string"} (${found.format})`;
  return found.type ?? "anything";
}

function limitsOf(kinds: Schema[]): string {
  const said: string[] = [];
  const range = (least: number | undefined, most: number | undefined, unit: string) => {
    if (least !== undefined && most !== undefined) said.push(`${least} to ${most}${unit}`);
    else if (least !== undefined) said.push(`at least ${least}${unit}`);
    else if (most !== undefined) said.push(`at most ${most}${unit}`);
  };
  for (const one of kinds) {
    if (one.enum) said.push(one.enum.map((word) => JSON.stringify(word)).join(", "));
    range(one.minimum, one.maximum, "");
    if (one.exclusiveMinimum !== undefined) said.push(`more than ${one.exclusiveMinimum}`);
    if (one.exclusiveMaximum !== undefined) said.push(`less than ${one.exclusiveMaximum}`);
    range(one.minLength, one.maxLength, " characters");
    range(one.minItems, one.maxItems, " items");
    if (one.pattern) said.push(one.pattern);
  }
  return [...new Set(said)].join("; ");
}

/** A body with what is required, to begin with. */
export function exampleOf(schema: Schema | undefined, schemas: Record<string, Schema>, depth = 0): unknown {
  if (schema === undefined) return undefined;
  const found = resolved(schema, schemas);
  const said =
    schema.example ?? found.example ?? found.examples?.[0] ?? found.default ?? found.const ?? found.enum?.[0];
  if (said !== undefined) return said;
  const [part] = alternatives(found);
  if (part) return exampleOf(part, schemas, depth);
  if (found.type === "array") return [exampleOf(found.items, schemas, depth + 1)];
  if (found.type === "integer" || found.type === "number") return found.minimum ?? 1;
  if (found.type === "boolean") return true;
  if (found.type === "string") return found.format === "date-time" ? "2030-01-01T00:00:00Z" : "…";
  if (depth > DEEPEST || !found.properties) return {};
  const required = found.required ?? [];
  return Object.fromEntries(required.map((name) => [name, exampleOf(found.properties?.[name], schemas, depth + 1)]));
}

/** What somebody has filled in: by parameter name. */
export type Filled = Record<string, string>;

/** The address with what was filled in; path parameters without a value keep their braces. */
export function addressOf({ path, parameters }: Operation, filled: Filled): string {
  const way = path.replace(/\{(\w+)\}/g, (braces, name: string) =>
    filled[name] ? encodeURIComponent(filled[name]) : braces,
  );
  const query = parameters
    .filter((one) => one.in === "query" && filled[one.name])
    .map((one) => `${encodeURIComponent(one.name)}=${encodeURIComponent(filled[one.name] ?? "")}`);
  return query.length > 0 ? `${way}?${query.join("&")}` : way;
}

export function curlLine(operation: Operation, filled: Filled, body: string | undefined, origin: string): string {
  const words = [`curl -X ${operation.method} ${quoted(origin + addressOf(operation, filled))}`];
  words.push('-H "Authorization: Bearer $RINGMASTER_TOKEN"');
  for (const one of operation.parameters) {
    const value = filled[one.name];
    if (one.in === "header" && value) words.push(`-H ${quoted(`${one.name}: ${value}`)}`);
  }
  if (body !== undefined) words.push('-H "Content-Type: application/json"', `-d ${quoted(body)}`);
  return words.join(" \\\n  ");
}

// Names of headers as the clients have them; the command line's options are these with dashes.
const HEADERS: Record<string, string> = { "Idempotency-Key": "idempotency_key", "If-Match": "if_match" };

export function commandLine(operation: Operation, filled: Filled, body: string | undefined, command: string): string {
  const words = [`ringmaster ${command}`];
  for (const one of operation.parameters) {
    const value = filled[one.name] ?? "";
    if (one.in === "path") words.push(value ? quoted(value) : one.name.replace(/_id$/, "").toUpperCase());
    else if (value === "") continue;
    else if (one.name === "dry_run") words.push(...(value === "true" ? ["--dry-run"] : []));
    else if (one.in === "query" || HEADERS[one.name]) {
      words.push(`--${(HEADERS[one.name] ?? one.name).replaceAll("_", "-")} ${quoted(value)}`);
    }
  }
  if (body === undefined) return words.join(" ");
  return `${words.join(" ")} --file - <<'JSON'\n${body}\nJSON`;
}

export function pythonLines(operation: Operation, filled: Filled, body: string | undefined): string {
  const given: string[] = [];
  const named: string[] = [];
  for (const one of operation.parameters) {
    const value = filled[one.name] ?? "";
    if (one.in === "path") given.push(JSON.stringify(value || `${one.name}`));
    else if (value === "" || one.name === "fields") continue;
    else if (one.in === "query") named.push(`${one.name === "from" ? "from_" : one.name}=${pythonWord(value, one)}`);
    else if (HEADERS[one.name]) named.push(`${HEADERS[one.name]}=${JSON.stringify(value)}`);
  }
  if (body !== undefined) given.push(asPython(body));
  const call = `client.${operation.id}(${[...given, ...named].join(", ")})`;
  return `from ringmaster import Ringmaster\n\nclient = Ringmaster()  # RINGMASTER_URL, RINGMASTER_TOKEN\nprint(${call})`;
}

function pythonWord(value: string, { schema }: Parameter): string {
  if (value === "true") return "True";
  if (value === "false") return "False";
  const numeric = [schema, ...(schema.anyOf ?? [])].some((one) => one.type === "integer" || one.type === "number");
  return numeric && Number.isFinite(Number(value)) ? value : JSON.stringify(value);
}

/** JSON as a literal of Python; what is no JSON yet stays as it is. */
function asPython(json: string): string {
  try {
    return literal(JSON.parse(json));
  } catch {
    return json;
  }
}

function literal(value: unknown): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value)
      .map(([name, one]) => `${JSON.stringify(name)}: ${literal(one)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** As one word of a shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function resolved(schema: Schema, schemas: Record<string, Schema>): Schema {
  const name = schema.$ref && lastWord(schema.$ref);
  return name ? (schemas[name] ?? {}) : schema;
}

/** Without null, which the type says in another way. */
function alternatives({ anyOf = [], oneOf = [], allOf = [] }: Schema): Schema[] {
  return [...anyOf, ...oneOf, ...allOf].filter((one) => one.type !== "null");
}

function lastWord(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}
