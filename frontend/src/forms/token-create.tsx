import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Checkbox from "@cloudscape-design/components/checkbox";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Modal from "@cloudscape-design/components/modal";
import Select from "@cloudscape-design/components/select";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  type ApiError,
  accessSettingsQuery,
  createTokenMutation,
  type Permission,
  refresh,
  type ServiceAccount,
  toApiError,
  useSession,
} from "../api";
import { ErrorBox } from "../components/error-box";
import { PERMISSIONS } from "../components/roles";

const EXPIRY = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
  { value: "", label: "Never" },
];
const USUAL_EXPIRY = { value: "90", label: "90 days" };

/** Makes a token of one's own, or of a service account. */
export function TokenCreateModal({
  account,
  onDismiss,
  onCreated,
}: {
  account?: ServiceAccount;
  onDismiss: () => void;
  onCreated: (secret: string) => void;
}) {
  const { permissions } = useSession();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<Permission[]>(["clusters:read"]);
  const [wanted, setExpiry] = useState<(typeof EXPIRY)[number] | null>(null);
  const [ranges, setRanges] = useState("");
  const settings = useQuery(accessSettingsQuery());
  const most = settings.data?.token_days_max ?? null;
  const options = EXPIRY.filter(({ value }) => most === null || (value !== "" && Number(value) <= most));
  const expiry = wanted ?? usualExpiry(options, settings.data?.token_days_default ?? most);
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
    create.mutate({
      body: {
        name,
        scopes,
        expires_in_days: expiry.value === "" ? null : Number(expiry.value),
        source_ranges: ranges.split(/[\s,]+/).filter((range) => range !== ""),
        service_account_id: account?.id ?? null,
      },
    });

  return (
    <Modal
      visible
      header={account ? `Create a token for ${account.name}` : "Create token"}
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
                description={PERMISSIONS[permission]}
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
            options={options.includes(expiry) ? options : [expiry, ...options]}
            onChange={({ detail: { selectedOption } }) =>
              setExpiry(EXPIRY.find(({ value }) => value === selectedOption.value) ?? null)
            }
          />
        </FormField>
        <FormField
          label="Only from these addresses"
          description="Ranges such as 203.0.113.0/24, with commas; empty: from anywhere."
          errorText={Object.entries(error?.fields ?? {}).find(([field]) => field.startsWith("source_ranges"))?.[1]}
        >
          <Input value={ranges} autoComplete={false} onChange={({ detail }) => setRanges(detail.value)} />
        </FormField>
      </SpaceBetween>
    </Modal>
  );
}

function hasOnlyFields(error: ApiError): boolean {
  const shown = ["name", "scopes", "expires_in_days"];
  const fields = Object.keys(error.fields);
  return fields.length > 0 && fields.every((field) => shown.includes(field) || field.startsWith("source_ranges"));
}

/** As the organisation wants it when nobody says; 90 days where it says nothing. */
function usualExpiry(options: typeof EXPIRY, days: number | null) {
  if (days === null) return USUAL_EXPIRY;
  return options.find(({ value }) => value === String(days)) ?? { value: String(days), label: `${days} days` };
}
