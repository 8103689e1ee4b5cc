import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import StatusIndicator from "@cloudscape-design/components/status-indicator";
import type { TableProps } from "@cloudscape-design/components/table";
import type { ConsoleSession } from "../api";
import { browserName } from "../util/browser";
import { Moment } from "./moment";

/** Of lists of browsers that somebody is signed in with. */
export function sessionColumns(
  now: number,
  isPending: boolean,
  onEnd: (session: ConsoleSession) => void,
): TableProps.ColumnDefinition<ConsoleSession>[] {
  return [
    {
      id: "browser",
      header: "Browser",
      isRowHeader: true,
      cell: ({ user_agent, current }) => (
        <SpaceBetween direction="horizontal" size="xs">
          <span title={user_agent}>{browserName(user_agent)}</span>
          {current && <StatusIndicator type="success">This one</StatusIndicator>}
        </SpaceBetween>
      ),
    },
    { id: "from", header: "From", cell: ({ source_address }) => source_address ?? "–" },
    { id: "used", header: "Last used", cell: ({ last_used_at }) => <Moment at={last_used_at} now={now} /> },
    { id: "since", header: "Signed in", cell: ({ created_at }) => <Moment at={created_at} /> },
    {
      id: "actions",
      header: "Actions",
      cell: (session) => (
        <Button
          variant="inline-link"
          ariaLabel={`End ${browserName(session.user_agent)}`}
          disabled={session.current || isPending}
          disabledReason={session.current ? "You are using it. Sign out instead." : undefined}
          onClick={() => onEnd(session)}
        >
          End
        </Button>
      ),
    },
  ];
}
