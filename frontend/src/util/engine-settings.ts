import type { EngineSetting } from "../api";

/** What a person typed for one setting, read as the catalogue says; undefined: the engine's own value. */
export function readSetting(setting: EngineSetting, text: string): unknown {
  if (text === "") return undefined;
  switch (setting.type) {
    case "boolean":
      return text === "true";
    case "integer":
    case "number": {
      const value = Number(text);
      // What is no number is sent as it is: the API says what is wrong with it.
      return Number.isNaN(value) ? text : value;
    }
    default:
      return text;
  }
}

/** How a value is shown in its field and in texts. */
export function showSetting(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}

/** The settings of a form, without those left at the engine's own value. */
export function toSettings(catalog: readonly EngineSetting[], texts: Record<string, string>): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  for (const setting of catalog) {
    const value = readSetting(setting, texts[setting.name] ?? "");
    if (value !== undefined) settings[setting.name] = value;
  }
  return settings;
}
