import Alert from "@cloudscape-design/components/alert";
import AttributeEditor from "@cloudscape-design/components/attribute-editor";
import Box from "@cloudscape-design/components/box";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Allowlist, type Cluster, refresh, replaceAllowlistMutation, toApiError } from "../api";
import { ActionButton } from "../components/action-button";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { RouteLink } from "../components/route-link";
import { toast } from "../hooks/use-toasts";

const WARNING = { type: "warning", statusIconAriaLabel: "Warning" } as const;
const INFO = { type: "info", statusIconAriaLabel: "Info" } as const;

/** The networks from which roles may log in. */
export function AllowlistForm({ cluster, saved }: { cluster: Cluster; saved: Allowlist }) {
  const [entries, setEntries] = useState(saved.entries);
  const save = useMutation({
    ...replaceAllowlistMutation(),
    onSuccess: () => {
      toast({ type: "success", content: "The allowlist is being applied." });
      return refresh();
    },
  });
  const error = save.isError ? toApiError(save.error, undefined) : undefined;
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
              loading={save.isPending}
              onClick={() =>
                save.mutate({
                  path: { cluster_id: cluster.id },
                  body: { entries: entries.filter(({ cidr }) => cidr.trim() !== "") },
                })
              }
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
