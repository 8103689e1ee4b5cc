import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import {
  endOtherSessionsMutation,
  endSessionMutation,
  identityProvidersQuery,
  refresh,
  sessionsQuery,
  toApiError,
} from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { ProviderButtons } from "../components/provider-buttons";
import { sessionColumns } from "../components/session-columns";
import { useNow } from "../hooks/use-now";
import { useTitle } from "../hooks/use-title";
import { toast } from "../hooks/use-toasts";
import { CursorTable } from "../table/cursor-table";
import { lastCursor } from "../util/search";

const route = getRouteApi("/console/sessions");

/** Where the person is signed in. */
export function SessionsPage() {
  useTitle("Sessions");
  const navigate = route.useNavigate();
  const { after } = route.useSearch();
  const sessions = useQuery(sessionsQuery(lastCursor(after)));
  const providers = useQuery(identityProvidersQuery());
  const now = useNow(30_000);
  const [isEnding, setIsEnding] = useState(false);
  const end = useMutation({
    ...endSessionMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "Signed out there." });
      return refresh();
    },
    onError: (problem) => toast({ type: "error", content: toApiError(problem, undefined).message }),
  });
  const others = sessions.data?.items.some(({ current }) => !current) ?? false;

  return (
    <>
      <CursorTable
        noun="sessions"
        page={sessions}
        columns={sessionColumns(now, end.isPending, ({ id }) => end.mutate({ path: { console_session_id: id } }))}
        cursors={after}
        onCursors={(cursors) => void navigate({ search: { after: cursors } })}
        header={
          <Header
            variant="h1"
            description="Browsers that you are signed in with. End what you do not know."
            actions={
              <Button
                disabled={!others}
                disabledReason={others ? undefined : "You are signed in nowhere else."}
                onClick={() => setIsEnding(true)}
              >
                End all others
              </Button>
            }
          >
            Sessions
          </Header>
        }
        empty={<Box color="inherit">You are signed in nowhere.</Box>}
      />
      <ProviderButtons providers={providers.data?.items ?? []} returnTo="/sessions" />
      {isEnding && <EndOthersModal onDismiss={() => setIsEnding(false)} />}
    </>
  );
}

function EndOthersModal({ onDismiss }: { onDismiss: () => void }) {
  const end = useMutation({
    ...endOtherSessionsMutation(),
    onSuccess: ({ ended }) => {
      onDismiss();
      toast({ type: "success", content: `Sessions ended: ${ended}.` });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title="End all other sessions?"
      confirm="End all others"
      isPending={end.isPending}
      error={end.error}
      onConfirm={() => end.mutate({})}
      onDismiss={onDismiss}
    >
      <Box>Every other browser is signed out at once. API tokens stay.</Box>
    </ConfirmModal>
  );
}
