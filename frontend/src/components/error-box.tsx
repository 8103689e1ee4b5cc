import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Link from "@cloudscape-design/components/link";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { ApiError } from "../api";

/** What went wrong, what to do about it, and the number to quote when asking for help. */
export function ErrorBox({ error, header, onRetry }: { error: unknown; header?: string; onRetry?: () => void }) {
  const known = error instanceof ApiError ? error : undefined;
  // A refusal stays one until something else changes; only silence and crashes are worth asking again.
  const isWorthRetrying = known === undefined || known.status === 0 || known.status >= 500;
  return (
    <Alert
      type="error"
      statusIconAriaLabel="Error"
      header={header}
      action={onRetry && isWorthRetrying && <Button onClick={onRetry}>Try again</Button>}
    >
      <SpaceBetween size="xxs">
        <div>{known?.message ?? "Something in the console went wrong. Reload the page."}</div>
        {known?.hint && <div>{known.hint}</div>}
        {known?.requestId && (
          <Box variant="small" color="inherit">
            Request {known.requestId}
            {known.docsUrl && (
              <>
                {", error "}
                <Link external href={known.docsUrl} variant="primary" fontSize="inherit">
                  {known.code}
                </Link>
              </>
            )}
          </Box>
        )}
      </SpaceBetween>
    </Alert>
  );
}
