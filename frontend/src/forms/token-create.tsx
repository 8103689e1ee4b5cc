import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Modal from "@cloudscape-design/components/modal";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type ApiError, createTokenMutation, type Permission, refresh, toApiError, useSession } from "../api";
import { ErrorBox } from "../components/error-box";

const EXPIRY = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
  { value: "", label: "Never" },
];
const USUAL_EXPIRY = { value: "90", label: "90 days" };

const SCOPE: Record<Permission, string> = {
  "clusters:read": "Look at clusters, operations and the catalogue",
  "clusters:write": "Order, change and delete clusters",
  "credentials:read": "Reveal database passwords",
  "operations:write": "Cancel and retry operations",
  "members:read": "Look at members and invitations",
  "members:write": "Invite, change and remove members",
  "tokens:write": "Make and revoke API tokens",
  "cloud-accounts:write": "Add, check and delete cloud accounts",
  "images:write": "Register, choose and deprecate machine images",
  "prices:write": "Upload prices and take them back",
  "budgets:write": "Make and change budgets and ceilings",
  "diagnostics:read": "Ask nodes about themselves; answers hold keys and values of data",
  "alerts:write": "Change alert rules, silences and receivers of alerts",
  "cql:read": "Run CQL that reads, as a role of the database whose password is known",
  "cql:write": "Run CQL that changes something, too",
  "audit:read": "Read the audit log",
  "backups:export": "Take backups out: addresses and the key that opens them",
};

export function TokenCreateModal({
  onDismiss,
  onCreated,
}: {
  onDismiss: () => void;
  onCreated: (secret: string) => void;
}) {
  const { permissions } = useSession();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<Permission[]>(["clusters:read"]);
  const [expiry, setExpiry] = useState(USUAL_EXPIRY);
  const create = useMutation({
    ...createTokenMutation(),
    // The secret is in the answer: keep it nowhere longer than the dialog that shows it.
    gcTime: 0,
    onSuccess: ({ secret }) => {
      onCreated(secret);
      return refresh();
    },
  });
  const error = create.isError ? toApiError(create.error, undefined) : undefined;
  const missing = name === "" ? "Enter a name." : scopes.length === 0 ? "Choose at least one scope." : undefined;

  const submit = () =>
    create.mutate({ body: { name, scopes, expires_in_days: expiry.value === "" ? null : Number(expiry.value) } });

  return (
    <Modal
      visible
      header="Create token"
      closeAriaLabel="Close"
      onDismiss={onDismiss}
      footer={
        <Box float="right">
          <SpaceBetween direction="horizontal" size="xs">
            <Button variant="link" onClick={onDismiss}>
              Cancel
            </Button>
            <Button
              variant="primary"
              loading={create.isPending}
              loadingText="Creating"
              disabled={missing !== undefined}
              disabledReason={missing}
              onClick={submit}
            >
              Create
            </Button>
          </SpaceBetween>
        </Box>
      }
    >
      <SpaceBetween size="m">
        {error && !hasOnlyFields(error) && <ErrorBox error={error} />}
        <FormField label="Token name" errorText={error?.fields.name}>
          <Input
            value={name}
            placeholder="terraform"
            autoComplete={false}
            onChange={({ detail }) => setName(detail.value)}
          />
        </FormField>
        <FormField label="Scopes" errorText={error?.fields.scopes}>
          <SpaceBetween size="xs">
            {permissions.map((permission) => (
              <Checkbox
                key={permission}
                checked={scopes.includes(permission)}
                description={SCOPE[permission]}
                onChange={({ detail }) =>
                  setScopes(detail.checked ? [...scopes, permission] : scopes.filter((each) => each !== permission))
                }
              >
                {permission}
              </Checkbox>
            ))}
          </SpaceBetween>
        </FormField>
        <FormField label="Expires after" errorText={error?.fields.expires_in_days}>
          <Select
            selectedOption={expiry}
            options={EXPIRY}
            onChange={({ detail: { selectedOption } }) =>
              setExpiry(EXPIRY.find(({ value }) => value === selectedOption.value) ?? USUAL_EXPIRY)
            }
          />
        </FormField>
      </SpaceBetween>
    </Modal>
  );
}

function hasOnlyFields(error: ApiError): boolean {
  const shown = ["name", "scopes", "expires_in_days"];
  const fields = Object.keys(error.fields);
  return fields.length > 0 && fields.every((field) => shown.includes(field));
}
