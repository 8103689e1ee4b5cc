import Alert from "@cloudscape-design/components/alert";
import AttributeEditor from "@cloudscape-design/components/attribute-editor";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useState } from "react";
import { type Allowlist, type Cluster, editableAllowlist, refresh, toApiError } from "../api";
import { ActionButton } from "../components/action-button";
import { ChangedMeanwhile } from "../components/changed-meanwhile";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { RouteLink } from "../components/route-link";
import { useEdit } from "../hooks/use-edit";
import { toast } from "../hooks/use-toasts";

const WARNING = { type: "warning", statusIconAriaLabel: "Warning" } as const;
const INFO = { type: "info", statusIconAriaLabel: "Info" } as const;

/** The networks from which roles may log in. */
export function AllowlistForm({ cluster, saved }: { cluster: Cluster; saved: Allowlist }) {
  const [entries, setEntries] = useState(saved.entries);
  const edit = useEdit({
    editable: editableAllowlist(cluster.id),
    opened: saved,
    edited: (found) => found.entries,
    onSuccess: () => {
      toast({ type: "success", content: "The allowlist is being applied." });
      return refresh();
    },
  });
  const error = edit.error ? toApiError(edit.error, undefined) : undefined;
  const body = { entries: entries.filter(({ cidr }) => cidr.trim() !== "") };
  const change = (at: number, changes: Partial<(typeof entries)[number]>) =>
    setEntries(entries.map((each, index) => (index === at ? { ...each, ...changes } : each)));
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Networks from which logins are accepted. Connections that are open stay open."
          actions={
            <ActionButton
              action="replace_allowlist"
              allowed={saved.allowed_actions}
              loading={edit.isPending}
              onClick={() => edit.save(body)}
            >
              Save and apply
            </ActionButton>
          }
        >
          Allowlist
        </Header>
      }
    >
      <SpaceBetween size="m">
        {error && <ErrorBox error={error} />}
        <ChangedMeanwhile
          edit={edit}
          words={wordsOf}
          onLoad={(now) => {
            setEntries(now.entries);
            edit.load();
          }}
          onSaveOver={() => edit.saveOver(body)}
        />
        <Alert {...(saved.entries.length === 0 && !saved.firewall ? WARNING : INFO)}>{saved.effect}</Alert>
        <AttributeEditor
          items={entries}
          addButtonText="Add network"
          removeButtonText="Remove"
          removeButtonAriaLabel={({ cidr }) => `Remove ${cidr}`}
          empty="No networks."
          onAddButtonClick={() => setEntries([...entries, { cidr: "", description: "" }])}
          onRemoveButtonClick={({ detail }) => setEntries(entries.filter((_, index) => index !== detail.itemIndex))}
          definition={[
            {
              label: "Network (CIDR)",
              control: ({ cidr }, at: number) => (
                <Input
                  value={cidr}
                  placeholder="10.0.0.0/8"
                  ariaLabel={`Network ${at + 1}`}
                  invalid={error?.fields[`entries.${at}.cidr`] !== undefined}
                  onChange={({ detail }) => change(at, { cidr: detail.value })}
                />
              ),
              errorText: (_, at: number) => error?.fields[`entries.${at}.cidr`],
            },
            {
              label: "What it is",
              control: ({ description }, at: number) => (
                <Input
                  value={description ?? ""}
                  ariaLabel={`Description of network ${at + 1}`}
                  onChange={({ detail }) => change(at, { description: detail.value })}
                />
              ),
            },
          ]}
        />
        <Box color="text-body-secondary" fontSize="body-s">
          {saved.pending_operation ? (
            <RouteLink to="/operations/$operationId" params={{ operationId: saved.pending_operation.id }}>
              A list is being applied
            </RouteLink>
          ) : saved.in_force ? (
            saved.applied_at && (
              <>
                In force since <Moment at={saved.applied_at} />
              </>
            )
          ) : (
            "Not in force yet"
          )}
        </Box>
      </SpaceBetween>
    </Container>
  );
}

const wordsOf = ({ entries }: Allowlist) => ({
  Networks: entries.map(({ cidr, description }) => (description ? `${cidr} (${description})` : cidr)).join(", "),
});
