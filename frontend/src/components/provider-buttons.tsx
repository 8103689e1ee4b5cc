import Alert from "@cloudscape-design/components/alert";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { type IdentityProvider, signInThrough } from "../api";
import { ErrorBox } from "./error-box";

/** A button for each identity provider; nothing where there is none. */
export function ProviderButtons({ providers, returnTo }: { providers: IdentityProvider[]; returnTo: string }) {
  const start = useMutation({ mutationFn: (provider: IdentityProvider) => signInThrough(provider, returnTo) });
  if (providers.length === 0) return null;
  return (
    <SpaceBetween size="s">
      {start.isError && <ErrorBox error={start.error} />}
      {providers.map((provider) => (
        <Button
          key={provider.id}
          fullWidth
          formAction="none"
          // The browser is on its way to the provider then.
          loading={(start.isPending || start.isSuccess) && start.variables?.id === provider.id}
          loadingText={`Going to ${provider.name}`}
          onClick={() => start.mutate(provider)}
        >
          Continue with {provider.name}
        </Button>
      ))}
    </SpaceBetween>
  );
}

/** What the control plane sends a browser back with, in words. */
const PROBLEMS: Record<string, string> = {
  not_begun_here: "This sign-in was not begun in this browser, or took too long. Sign in again.",
  provider_refused: "The identity provider did not let you in. Ask who runs it for access to Ringmaster.",
  provider_failed:
    "The identity provider's answer was not as it should be. Sign in again, or tell who runs Ringmaster.",
  address_not_verified:
    "The identity provider does not vouch for your e-mail address, or it is of another domain. Ask who runs it.",
  address_of_another:
    "Your e-mail address belonged to somebody else at the identity provider. Ask who runs Ringmaster to unlink it.",
  account_inactive: "Your account is switched off. Ask who runs Ringmaster.",
  too_many_groups: "You are in more groups than the identity provider tells. Ask who runs it to send fewer.",
  try_again: "Somebody signed in with this account at the same moment. Sign in again.",
};

export function ProviderProblem({ code }: { code: string }) {
  return (
    <Alert type="error" statusIconAriaLabel="Error" header="You are not signed in">
      {(Object.hasOwn(PROBLEMS, code) && PROBLEMS[code]) || "The sign-in did not work. Sign in again."}
    </Alert>
  );
}
