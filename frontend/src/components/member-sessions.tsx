import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Modal from "@cloudscape-design/components/modal";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation, useQuery } from "@tanstack/react-query";
import { endMemberSessionsMutation, endSessionMutation, type Member, memberSessionsQuery, refresh } from "../api";
import { useNow } from "../hooks/use-now";
import { toast } from "../hooks/use-toasts";
import { CursorTable } from "../table/cursor-table";
import { ErrorBox } from "./error-box";
import { sessionColumns } from "./session-columns";

/** Where a member is signed in, for administrators. */
export function MemberSessionsModal({ member, onDismiss }: { member: Member; onDismiss: () => void }) {
  const sessions = useQuery(memberSessionsQuery(member.id));
  const now = useNow(30_000);
  const end = useMutation({ ...endSessionMutation(), onSuccess: () => refresh() });
  const endAll = useMutation({
    ...endMemberSessionsMutation(),
    onSuccess: ({ ended }) => {
      onDismiss();
      toast({ type: "success", content: `${member.email} is signed out. Sessions ended: ${ended}.` });
      return refresh();
    },
  });
  const error = end.error ?? endAll.error;
  return (
    <Modal
      visible
      size="large"
      header={`Sessions of ${member.email}`}
      onDismiss={onDismiss}
      closeAriaLabel="Close"
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            <Button variant="link" onClick={onDismiss}>
              Close
            </Button>
            <Button
              disabled={!sessions.data?.items.length}
              disabledReason={sessions.data?.items.length ? undefined : "They are signed in nowhere."}
              loading={endAll.isPending}
              onClick={() => endAll.mutate({ path: { member_id: member.id } })}
            >
              End all
            </Button>
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="m">
        {error !== null && <ErrorBox error={error} />}
        <Box>They may sign in again, and their API tokens stay. To take access away, remove the member.</Box>
        <CursorTable
          noun="sessions"
          variant="embedded"
          page={sessions}
          columns={sessionColumns(now, end.isPending, ({ id }) => end.mutate({ path: { console_session_id: id } }))}
          header={null}
          empty={<Box color="inherit">Signed in nowhere.</Box>}
        />
      </SpaceBetween>
    </Modal>
  );
}
