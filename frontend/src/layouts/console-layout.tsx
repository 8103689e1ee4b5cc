import AppLayout from "@cloudscape-design/components/app-layout";
import Flashbar from "@cloudscape-design/components/flashbar";
import I18nProvider from "@cloudscape-design/components/i18n";
import messages from "@cloudscape-design/components/i18n/messages/all.en";
import SideNavigation, { type SideNavigationProps } from "@cloudscape-design/components/side-navigation";
import { Outlet, useRouter, useRouterState } from "@tanstack/react-router";
import { useState } from "react";
import { useEvents, useSession } from "../api";
import { useToasts } from "../hooks/use-toasts";
import { Breadcrumbs } from "./breadcrumbs";
import { TopBar } from "./top-bar";

const NAVIGATION: SideNavigationProps.Item[] = [
  { type: "link", text: "Clusters", href: "/clusters" },
  { type: "link", text: "Operations", href: "/operations" },
  { type: "link", text: "Backups", href: "/backups" },
  { type: "link", text: "Cloud accounts", href: "/cloud-accounts" },
  { type: "link", text: "Images", href: "/images" },
  { type: "divider" },
  { type: "link", text: "Members", href: "/members" },
  { type: "link", text: "API tokens", href: "/tokens" },
  { type: "link", text: "Audit log", href: "/audit" },
];

export function ConsoleLayout() {
  const router = useRouter();
  const session = useSession();
  const pathname = useRouterState({ select: (state) => state.location.pathname });
  const toasts = useToasts();
  const [navigationOpen, setNavigationOpen] = useState(() => window.innerWidth > 1000);
  useEvents();

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
        navigation={
          <SideNavigation
            header={{ text: session.organisation?.name ?? "Ringmaster", href: "/clusters" }}
            activeHref={`/${pathname.split("/")[1]}`}
            items={NAVIGATION}
            onFollow={(event) => {
              event.preventDefault();
              void router.navigate({ href: event.detail.href });
            }}
          />
        }
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
