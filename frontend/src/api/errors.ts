/** Somebody is signed in, but not since a moment ago. */
export const PASSWORD_NEEDED = "password_needed";
/** The password was right, and a second factor is asked for. */
export const SECOND_STEP_NEEDED = "second_step_needed";

/** Everything that can go wrong between the console and the API, in one shape that can be shown to a person. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    message: string,
    /** HTTP status; 0 when there was no answer. */
    readonly status: number,
    readonly code: string,
    readonly hint: string,
    /** Field of the request → what is wrong with it, in the API's words. */
    readonly fields: Readonly<Record<string, string>>,
    readonly requestId: string,
    readonly docsUrl: string,
  ) {
    super(message);
  }

  static unreachable(): ApiError {
    return new ApiError(
      "The control plane cannot be reached.",
      0,
      "unreachable",
      "Check your connection; the console tries again by itself.",
      {},
      "",
      "",
    );
  }
}

/** Translates the body of an unsuccessful answer: ours, allauth's, or whatever a proxy in between made of it. */
export function toApiError(body: unknown, response: Response | undefined): ApiError {
  if (body instanceof ApiError) return body;
  if (!response) return ApiError.unreachable();
  const requestId = response.headers.get("X-Request-Id") ?? "";
  const parsed = typeof body === "string" ? parse(body) : body;
  return (
    ofRingmaster(parsed, response.status, requestId) ??
    ofAllauth(parsed, response.status, requestId) ??
    ofSignIn(parsed, response.status, requestId) ??
    new ApiError(
      response.status >= 500 ? "The control plane is not answering as it should." : "The request was not accepted.",
      response.status,
      "unexpected_answer",
      response.status >= 500 ? "Try again in a moment." : "",
      {},
      requestId,
      "",
    )
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function ofRingmaster(body: unknown, status: number, requestId: string): ApiError | undefined {
  if (!isRecord(body) || !isRecord(body.error)) return undefined;
  const error = body.error;
  const fields: Record<string, string> = {};
  if (Array.isArray(error.fields)) {
    for (const each of error.fields) {
      // The first complaint about a field is the one worth showing.
      if (isRecord(each)) fields[text(each.field)] ??= text(each.message);
    }
  }
  if (text(error.field)) fields[text(error.field)] ??= text(error.message);
  return new ApiError(
    text(error.message) || "The request was not accepted.",
    status,
    text(error.code) || "unknown",
    text(error.hint),
    fields,
    text(error.request_id) || requestId,
    text(error.docs_url),
  );
}

function ofAllauth(body: unknown, status: number, requestId: string): ApiError | undefined {
  if (!isRecord(body) || !Array.isArray(body.errors)) return undefined;
  const fields: Record<string, string> = {};
  for (const each of body.errors) {
    if (isRecord(each) && text(each.param)) fields[text(each.param)] ??= text(each.message);
  }
  const first: unknown = body.errors[0];
  return new ApiError(
    (isRecord(first) && text(first.message)) || "The request was not accepted.",
    status,
    (isRecord(first) && text(first.code)) || "unknown",
    "",
    fields,
    requestId,
    "",
  );
}

/** allauth's 401 says what it waits for. */
function ofSignIn(body: unknown, status: number, requestId: string): ApiError | undefined {
  if (status !== 401 || !isRecord(body) || !isRecord(body.data) || !Array.isArray(body.data.flows)) return undefined;
  const waits = (id: string) =>
    isRecord(body.data) && Array.isArray(body.data.flows) && body.data.flows.some((flow) => isPending(flow, id));
  const made = (code: string, message: string) => new ApiError(message, status, code, "", {}, requestId, "");
  if (isRecord(body.meta) && body.meta.is_authenticated === true)
    return made(PASSWORD_NEEDED, "Enter your password again.");
  if (waits("mfa_authenticate")) return made(SECOND_STEP_NEEDED, "Enter the code of your authenticator app.");
  return made("sign_in_needed", "You are not signed in, or it took too long. Sign in again.");
}

function isPending(flow: unknown, id: string): boolean {
  return isRecord(flow) && flow.id === id && flow.is_pending === true;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
