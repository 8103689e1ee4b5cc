import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type AlertDelivery, type AlertReceiver, alertDeliveriesQuery } from "../api";
import { useNow } from "../hooks/use-now";
import { CursorTable } from "../table/cursor-table";
import { lastCursor } from "../util/search";
import { DeliveryMessageModal } from "./delivery-message";
import { DeliveryState } from "./delivery-state";
import { Moment } from "./moment";

const SOON_MS = 2000;
const LATER_MS = 15_000;

/** What was sent to a receiver, and what was answered. */
export function DeliveryLog({
  receiver,
  cursors,
  onCursors,
}: {
  receiver: AlertReceiver;
  cursors: string[] | undefined;
  onCursors: (cursors: string[] | undefined) => void;
}) {
  const now = useNow(30_000);
  const [shown, setShown] = useState<AlertDelivery | null>(null);
  const page = useQuery({
    ...alertDeliveriesQuery(receiver.id, lastCursor(cursors)),
    refetchInterval: ({ state }) =>
      state.data?.items.some((each) => each.state === "pending" && each.attempts <= 1) ? SOON_MS : LATER_MS,
  });
  return (
    <>
      <CursorTable
        noun="messages"
        variant="container"
        page={page}
        cursors={cursors}
        onCursors={onCursors}
        header={
          <Header variant="h2" description="The last thirty days. What is not taken is sent again for some four hours.">
            Sent to {receiver.name}
          </Header>
        }
        empty={<Box color="inherit">Nothing was sent there yet.</Box>}
        columns={[
          {
            id: "title",
            header: "Message",
            isRowHeader: true,
            minWidth: 240,
            cell: (delivery) => (
              <Button variant="inline-link" onClick={() => setShown(delivery)}>
                {delivery.title}
              </Button>
            ),
          },
          { id: "state", header: "State", minWidth: 140, cell: (delivery) => <DeliveryState delivery={delivery} /> },
          { id: "result", header: "Answer", minWidth: 200, cell: ({ result }) => result || "–" },
          { id: "attempts", header: "Tries", minWidth: 70, cell: ({ attempts }) => attempts },
          {
            id: "at",
            header: "Written",
            minWidth: 100,
            cell: ({ created_at }) => <Moment at={created_at} now={now} />,
          },
          {
            id: "next",
            header: "Next try",
            minWidth: 100,
            cell: ({ state, attempts, due_at }) =>
              state === "pending" && attempts > 0 ? <Moment at={due_at} now={now} /> : "–",
          },
        ]}
      />
      {shown && <DeliveryMessageModal receiver={receiver} delivery={shown} onDismiss={() => setShown(null)} />}
    </>
  );
}
