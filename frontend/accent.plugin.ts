import { createRequire } from "node:module";
import type { Plugin } from "vite";

// Cloudscape's names for its custom properties end in a hash of the release. Its own theming would look them up at run time
// (90 kB); this looks them up while building and writes a dozen lines of CSS.
const MODULE = "virtual:accent.css";

const accentColours = {
  colorPrimary50: "#f7f5ff",
  colorPrimary100: "#ebe6ff",
  colorPrimary200: "#d6ccff",
  colorPrimary300: "#c5b8ff",
  colorPrimary400: "#a996ff",
  colorPrimary500: "#8468f0",
  colorPrimary600: "#5b3cc4",
  colorPrimary700: "#4a2fa6",
  colorPrimary800: "#3c2689",
  colorPrimary900: "#2f1d6d",
  colorPrimary950: "#241653",
  colorPrimary1000: "#1c1240",
};

const topBar = "#1a1330";

interface Preset {
  propertiesMap: Record<string, string>;
}

export function accent(): Plugin {
  return {
    name: "accent",
    resolveId(id) {
      return id === MODULE ? `\0${MODULE}` : undefined;
    },
    load(id) {
      if (id !== `\0${MODULE}`) return undefined;
      const require = createRequire(import.meta.url);
      // The package does not export this file, so it is reached by its place next to what it does export.
      const components = require.resolve("@cloudscape-design/components/package.json");
      const { preset } = require(components.replace("package.json", "internal/generated/theming/index.cjs")) as {
        preset: Preset;
      };
      const property = (token: string): string => {
        const name = preset.propertiesMap[token];
        if (!name) throw new Error(`Cloudscape no longer has the token ${token}; see accent.plugin.ts`);
        return name;
      };
      const colours = Object.entries(accentColours).map(([token, value]) => `${property(token)}:${value}`);
      return [
        `body{${colours.join(";")}}`,
        // Cloudscape colours its layout, not the page around it.
        `body{background:var(${property("colorBackgroundLayoutMain")});color:var(${property("colorTextBodyDefault")})}`,
        `.awsui-context-top-navigation{${property("colorBackgroundContainerContent")}:${topBar}}`,
      ].join("\n");
    },
  };
}
