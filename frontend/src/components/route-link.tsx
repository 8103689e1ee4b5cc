import CloudscapeLink, { type LinkProps as CloudscapeLinkProps } from "@cloudscape-design/components/link";
import { createLink, useRouter } from "@tanstack/react-router";
import type { ReactNode, Ref } from "react";

interface Props {
  href?: string;
  children?: ReactNode;
  variant?: CloudscapeLinkProps.Variant;
  fontSize?: CloudscapeLinkProps.FontSize;
  ariaLabel?: string;
  ref?: Ref<CloudscapeLinkProps.Ref>;
}

function Plain({ href, children, variant, fontSize, ariaLabel, ref }: Props) {
  const router = useRouter();
  return (
    <CloudscapeLink
      ref={ref}
      href={href}
      variant={variant}
      fontSize={fontSize}
      ariaLabel={ariaLabel}
      onFollow={(event) => {
        // Only plain clicks come here; with a modifier the browser opens a new tab as ever.
        event.preventDefault();
        if (href) void router.navigate({ href });
      }}
    >
      {children}
    </CloudscapeLink>
  );
}

/** A link inside the console, checked against the routes when it is compiled. */
export const RouteLink = createLink(Plain);
