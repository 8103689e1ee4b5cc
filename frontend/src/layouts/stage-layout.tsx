import I18nProvider from "@cloudscape-design/components/i18n";
import messages from "@cloudscape-design/components/i18n/messages/all.en";
import type { ReactNode } from "react";

/** One thing in the middle of the page, for people who are not signed in yet. */
export function StageLayout({ children }: { children: ReactNode }) {
  return (
    <I18nProvider locale="en" messages={[messages]}>
      <main className="stage">
        <div>{children}</div>
      </main>
    </I18nProvider>
  );
}
