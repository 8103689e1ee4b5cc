import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Header from "@cloudscape-design/components/header";
import StatusIndicator, { type StatusIndicatorProps } from "@cloudscape-design/components/status-indicator";
import Table from "@cloudscape-design/components/table";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type AlertSilence, type Cluster, expireAlertSilenceMutation, refresh, useMay } from "../api";
import { useNow } from "../hooks/use-now";
import { toast } from "../hooks/use-toasts";
import { matcherWords } from "../util/alert-places";
import { ConfirmModal } from "./confirm-modal";
import { Moment } from "./moment";
import { RowButton } from "./row-button";

const STATE: Record<AlertSilence["state"], [StatusIndicatorProps.Type, string]> = {
  active: ["success", "In effect"],
  pending: ["pending", "To come"],
  expired: ["stopped", "Over"],
};

const MAY_NOT = "Your role may not silence alerts.";

/** Of what nobody is told, until when and why. */
export function AlertSilences({
  cluster,
  silences,
  nodeNames,
  onCreate,
}: {
  cluster: Cluster;
  silences: AlertSilence[];
  nodeNames: ReadonlyMap<string, string>;
  onCreate: () => void;
}) {
  const [ending, setEnding] = useState<AlertSilence | null>(null);
  const now = useNow(30_000);
  const may = useMay("alerts:write");
  const end = { action: "expire_alert_silence", allowed: may, reason: may ? null : MAY_NOT };
  return (
    <>
      <Table
        variant="container"
        trackBy="id"
        wrapLines
        items={silences}
        ariaLabels={{ tableLabel: "Silences" }}
        header={
          <Header
            variant="h2"
            description="Nobody is told of what is silenced; it is shown all the same."
            actions={
              <Button disabled={!may} disabledReason={may ? undefined : MAY_NOT} onClick={onCreate}>
                Silence alerts
              </Button>
            }
          >
            Silences
          </Header>
        }
        empty={<Box color="inherit">Nothing is silenced.</Box>}
        columnDefinitions={[
          {
            id: "what",
            header: "Silenced",
            isRowHeader: true,
            minWidth: 200,
            cell: ({ matchers }) => matcherWords(matchers, nodeNames),
          },
          {
            id: "state",
            header: "State",
            minWidth: 110,
            cell: ({ state }) => <StatusIndicator type={STATE[state][0]}>{STATE[state][1]}</StatusIndicator>,
          },
          { id: "from", header: "From", minWidth: 100, cell: ({ starts_at }) => <Moment at={starts_at} now={now} /> },
          { id: "to", header: "Until", minWidth: 100, cell: ({ ends_at }) => <Moment at={ends_at} now={now} /> },
          { id: "why", header: "Why", minWidth: 160, cell: ({ comment }) => comment },
          { id: "who", header: "By", minWidth: 120, cell: ({ created_by }) => created_by },
          {
            id: "actions",
            header: "Actions",
            minWidth: 90,
            cell: (silence) =>
              silence.state !== "expired" && (
                <RowButton
                  action="expire_alert_silence"
                  allowed={[end]}
                  ariaLabel={`End the silence of ${matcherWords(silence.matchers, nodeNames)}`}
                  onClick={() => setEnding(silence)}
                >
                  End …
                </RowButton>
              ),
          },
        ]}
      />
      {ending && (
        <EndModal
          cluster={cluster}
          silence={ending}
          words={matcherWords(ending.matchers, nodeNames)}
          onDismiss={() => setEnding(null)}
        />
      )}
    </>
  );
}

function EndModal({
  cluster,
  silence,
  words,
  onDismiss,
}: {
  cluster: Cluster;
  silence: AlertSilence;
  words: string;
  onDismiss: () => void;
}) {
  const expire = useMutation({
    ...expireAlertSilenceMutation(),
    onSuccess: () => {
      onDismiss();
      toast({ type: "success", content: "The silence is over." });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title="End the silence?"
      confirm="End it"
      isPending={expire.isPending}
      error={expire.error}
      onConfirm={() => expire.mutate({ path: { cluster_id: cluster.id, silence_id: silence.id } })}
      onDismiss={onDismiss}
    >
      <Box>Of {words}. Whoever is to be told of alerts is told again.</Box>
    </ConfirmModal>
  );
}
