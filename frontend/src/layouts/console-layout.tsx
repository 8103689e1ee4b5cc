import AppLayout from "@cloudscape-design/components/app-layout";
import Flashbar from "@cloudscape-design/components/flashbar";
import I18nProvider from "@cloudscape-design/components/i18n";
import messages from "@cloudscape-design/components/i18n/messages/all.en";
import { Outlet } from "@tanstack/react-router";
import { useState } from "react";
import { useEvents, useSession } from "../api";
import { useToasts } from "../hooks/use-toasts";
import { Breadcrumbs } from "./breadcrumbs";
import { SideBar } from "./side-bar";
import { TopBar } from "./top-bar";

export function ConsoleLayout() {
  const toasts = useToasts();
  const [navigationOpen, setNavigationOpen] = useState(() => window.innerWidth > 1000);
  const { second_factor_needed } = useSession();
  useEvents(!second_factor_needed);

  return (
    <I18nProvider locale="en" messages={[messages]}>
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <div id="top-bar">
        <TopBar />
      </div>
      <AppLayout
        headerSelector="#top-bar"
        toolsHide
        navigationOpen={navigationOpen}
        onNavigationChange={({ detail }) => setNavigationOpen(detail.open)}
        navigation={<SideBar />}
        breadcrumbs={<Breadcrumbs />}
        notifications={toasts.length > 0 && <Flashbar items={toasts} />}
        ariaLabels={{
          navigation: "Main navigation",
          navigationClose: "Close navigation",
          navigationToggle: "Open navigation",
          notifications: "Messages",
        }}
        content={
          <div id="content" tabIndex={-1} style={{ outline: "none" }}>
            <Outlet />
          </div>
        }
      />
    </I18nProvider>
  );
}
