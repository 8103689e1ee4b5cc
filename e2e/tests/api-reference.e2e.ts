/** The product describes its own API, to read and to try, and asks nobody else for anything. */

import { call } from "../support/api";
import { instance } from "../support/instance";
import { expect, expectAccessible, expectContrast, picture, test } from "../support/test";

test("an operation is found by words, read, and tried with the session", async ({ ownerPage: page }) => {
  const outside: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== new URL(instance().url).origin) outside.push(request.url());
  });
  page.on("console", (message) => {
    if (message.text().includes("Content Security Policy")) complaints.push(message.text());
  });
  await page.goto("/clusters");
  await page.getByRole("link", { name: "API reference" }).click();
  await expect(page.getByRole("heading", { level: 1, name: /API reference/ })).toBeVisible();
  await expectAccessible(page);
  await picture(page, "api-reference");

  await page.getByRole("searchbox", { name: "Find operations" }).fill("list clusters");
  await expect(page).toHaveURL(/q=list/);
  // By keyboard, as anybody could.
  const link = page.getByRole("link", { name: "list_clusters", exact: true });
  await link.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "list_clusters" })).toBeVisible();
  await expect(page.getByRole("table", { name: "Parameters" }).getByText("1 to 200", { exact: true })).toBeVisible();
  await expect(page.getByRole("table", { name: "Statuses" }).getByRole("rowheader", { name: "429" })).toBeVisible();

  await page.getByLabel("fields – optional").fill("id,name");
  await expect(page.getByText("?fields=id%2Cname'")).toBeVisible();
  await page.getByRole("tab", { name: "Command line" }).click();
  await expect(page.getByText("ringmaster clusters list --fields id,name")).toBeVisible();
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(page.getByText(/^200 after \d+ ms$/)).toBeVisible();
  await expect(page.getByText(/x-request-id: req_/)).toBeVisible();
  await expect(page.getByText('"next_cursor"')).toBeVisible();
  await expectAccessible(page);
  await picture(page, "api-operation");
  expect(outside).toEqual([]);
  expect(complaints).toEqual([]);
});

test("a change is rehearsed unless somebody wants it, and a token can be used instead", async ({ ownerPage: page }) => {
  await page.goto("/api-reference/what_never_was");
  await expect(page.getByRole("heading", { name: "There is no operation what_never_was" })).toBeVisible();

  await page.goto("/api-reference/create_service_account");
  await page
    .getByRole("textbox", { name: "Body" })
    .fill(JSON.stringify({ name: "tried", contact: "a@example.com", role: "viewer" }));
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await expect(page.getByText(/^204 after/)).toBeVisible();
  await expect(page.getByText("ringmaster-dry-run: would answer 201")).toBeVisible();
  expect(JSON.stringify((await call("GET", "/service-accounts")).body)).not.toContain("tried");

  await page.getByLabel("dry_run – optional").fill("");
  await expect(page.getByRole("button", { name: "Send and change" })).toBeVisible();
  await page.getByLabel("API token – optional").fill("rmt_nonsense");
  await page.getByRole("button", { name: "Send and change" }).click();
  await expect(page.getByText(/^401 after/)).toBeVisible();
});

test("it can be read in the dark", async ({ ownerPage: page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto("/api-reference/create_cluster");
  await expect(
    page.getByRole("table", { name: "Body" }).getByText("machine_type", { exact: true }).first(),
  ).toBeVisible();
  await expectContrast(page);
  await picture(page, "api-operation-dark");
});

test("an error leads to the page of its code", async ({ ownerPage: page }) => {
  const { status, body } = await call("GET", "/clusters/clu_01m00000000000000000000000");
  expect(status).toBe(404);
  const { docs_url: link } = (body as { error: { docs_url: string } }).error;
  await page.goto(new URL(link).pathname + new URL(link).search);
  const table = page.getByRole("table", { name: "Error codes" });
  await expect(table.getByRole("rowheader")).toHaveText(["cluster_not_found"]);
  await expect(table.getByText("There is no such cluster.")).toBeVisible();
  await expect(table.getByText("List the clusters to see their ids.")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("searchbox", { name: "Find error codes" }).fill("too many");
  await expect(table.getByRole("rowheader", { name: "too_many_statements" })).toBeVisible();
});
