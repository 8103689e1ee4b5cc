import { expect, test } from "vitest";
import type { EngineSetting } from "../api";
import { readSetting, toSettings } from "./engine-settings";

const setting = (name: string, type: EngineSetting["type"]) => ({ name, type }) as EngineSetting;

test("what is typed is read as the catalogue says", () => {
  expect(readSetting(setting("a", "integer"), "64")).toBe(64);
  expect(readSetting(setting("a", "boolean"), "false")).toBe(false);
  expect(readSetting(setting("a", "choice"), "g1")).toBe("g1");
  expect(readSetting(setting("a", "integer"), "many")).toBe("many");
});

test("an empty field leaves the engine's own value", () => {
  expect(toSettings([setting("a", "integer"), setting("b", "boolean")], { a: "", b: "true" })).toEqual({ b: true });
});
