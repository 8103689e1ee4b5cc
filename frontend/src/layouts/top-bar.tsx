import type { ButtonDropdownProps } from "@cloudscape-design/components/button-dropdown";
import TopNavigation from "@cloudscape-design/components/top-navigation";
import { useRouter } from "@tanstack/react-router";
import { signOut, switchOrganisation, toApiError, useIsLive, useSession } from "../api";
import { setTheme, type Theme, useTheme } from "../hooks/use-theme";
import { toast } from "../hooks/use-toasts";

const THEMES: Record<Theme, string> = { light: "Light", dark: "Dark", system: "Like the system" };

export function TopBar() {
  const router = useRouter();
  const session = useSession();
  const theme = useTheme();
  const live = useIsLive();

  const items: ButtonDropdownProps.ItemOrGroup[] = [
    {
      id: "appearance",
      text: "Appearance",
      items: Object.entries(THEMES).map(([id, text]) => ({
        id: `theme:${id}`,
        itemType: "checkbox" as const,
        text,
        checked: id === theme,
      })),
    },
    { id: "sessions", text: "Where you are signed in" },
    { id: "second-factor", text: "Second factor" },
    { id: "sign-out", text: "Sign out" },
  ];
  if (session.organisations.length > 1) {
    items.unshift({
      id: "organisations",
      text: "Organisation",
      items: session.organisations.map(({ id, name }) => ({
        id: `organisation:${id}`,
        itemType: "checkbox" as const,
        text: name,
        checked: id === session.organisation?.id,
      })),
    });
  }

  async function act(id: string): Promise<void> {
    const [what, which] = id.split(":", 2);
    if (what === "theme") setTheme(which as Theme);
    if (what === "organisation" && which) {
      await switchOrganisation(which);
      await router.navigate({ to: "/clusters" });
    }
    if (what === "sessions") await router.navigate({ to: "/sessions" });
    if (what === "second-factor") await router.navigate({ to: "/second-factor" });
    if (what === "sign-out") {
      await signOut();
      await router.navigate({ to: "/sign-in" });
    }
  }

  return (
    <TopNavigation
      identity={{
        href: "/clusters",
        title: "Ringmaster",
        logo: { src: "/logo.svg", alt: "Logo" },
        onFollow: (event) => {
          event.preventDefault();
          void router.navigate({ to: "/clusters" });
        },
      }}
      utilities={[
        ...(live
          ? []
          : [
              {
                type: "button" as const,
                text: "Reconnecting …",
                disableUtilityCollapse: true,
                iconName: "refresh" as const,
                onClick: () => void router.invalidate(),
              },
            ]),
        {
          type: "menu-dropdown",
          text: session.user?.name || session.user?.email || "Account",
          description: session.user?.email,
          ariaLabel: `Account ${session.user?.name || session.user?.email || ""}`,
          iconName: "user-profile",
          items,
          onItemClick: ({ detail }) => {
            act(detail.id).catch((problem: unknown) => {
              toast({ type: "error", content: toApiError(problem, undefined).message });
            });
          },
        },
      ]}
      i18nStrings={{
        overflowMenuTriggerText: "More",
        overflowMenuTitleText: "All",
        overflowMenuBackIconAriaLabel: "Back",
        overflowMenuDismissIconAriaLabel: "Close menu",
      }}
    />
  );
}
