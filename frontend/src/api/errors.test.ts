import { describe, expect, it } from "vitest";
import { ApiError, toApiError } from "./errors";

function answer(status: number, headers: Record<string, string> = {}): Response {
  return new Response(null, { status, headers });
}

describe("toApiError", () => {
  it("keeps message, hint, code and request id of our own errors", () => {
    const error = toApiError(
      {
        error: {
          code: "name_taken",
          message: "A cluster called demo exists.",
          hint: "Choose another.",
          request_id: "r1",
        },
      },
      answer(409),
    );
    expect(error).toMatchObject({ status: 409, code: "name_taken", hint: "Choose another.", requestId: "r1" });
    expect(error.message).toBe("A cluster called demo exists.");
  });

  it("tells what a sign-in waits for from what has ended", () => {
    const told = (body: object) => toApiError({ status: 401, ...body }, answer(401)).code;
    const flow = { id: "mfa_authenticate", types: ["totp"] };
    expect(told({ data: { flows: [{ id: "login" }, { ...flow, is_pending: true }] }, meta: {} })).toBe(
      "second_step_needed",
    );
    expect(told({ data: { flows: [{ id: "login" }, flow] }, meta: { is_authenticated: false } })).toBe(
      "sign_in_needed",
    );
    expect(told({ data: { flows: [{ id: "reauthenticate" }] }, meta: { is_authenticated: true } })).toBe(
      "password_needed",
    );
  });

  it("maps every invalid field to its first message", () => {
    const error = toApiError(
      {
        error: {
          code: "invalid_field",
          message: "Too long.",
          hint: "",
          field: "name",
          fields: [
            { field: "name", message: "Too long." },
            { field: "name", message: "Odd characters." },
            { field: "zones", message: "Choose at least one." },
          ],
          request_id: "r2",
        },
      },
      answer(422),
    );
    expect(error.fields).toEqual({ name: "Too long.", zones: "Choose at least one." });
  });

  it("uses the single field when there is no list", () => {
    const error = toApiError({ error: { code: "no_room", message: "Six fit.", field: "nodes_per_zone" } }, answer(409));
    expect(error.fields).toEqual({ nodes_per_zone: "Six fit." });
  });

  it("reads what allauth says about a sign-in", () => {
    const error = toApiError(
      { status: 400, errors: [{ code: "email_password_mismatch", message: "Wrong password.", param: "password" }] },
      answer(400),
    );
    expect(error).toMatchObject({ code: "email_password_mismatch", fields: { password: "Wrong password." } });
  });

  it("does not show the page of a proxy, but keeps the request id", () => {
    const error = toApiError("<html>Bad gateway</html>", answer(502, { "X-Request-Id": "r3" }));
    expect(error).toMatchObject({ status: 502, code: "unexpected_answer", requestId: "r3" });
    expect(error.message).not.toContain("<html>");
  });

  it("says so when there was no answer at all", () => {
    expect(toApiError(new TypeError("Failed to fetch"), undefined)).toMatchObject({ status: 0, code: "unreachable" });
  });

  it("leaves an error alone that is translated already", () => {
    const error = ApiError.unreachable();
    expect(toApiError(error, answer(500))).toBe(error);
  });
});
