import Box from "@cloudscape-design/components/box";
import { useRouter } from "@tanstack/react-router";
import { ApiError } from "../api";
import { useTitle } from "../hooks/use-title";
import { ErrorBox } from "./error-box";

/** In place of a page whose loader or rendering failed. */
export function PageError({ error }: { error: unknown }) {
  const router = useRouter();
  useTitle("Error");
  return (
    <Box padding="l">
      <main>
        <ErrorBox
          header={error instanceof ApiError ? undefined : "This page cannot be shown"}
          error={error}
          onRetry={() => void router.invalidate()}
        />
      </main>
    </Box>
  );
}
