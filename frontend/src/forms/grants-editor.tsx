import AttributeEditor from "@cloudscape-design/components/attribute-editor";
import Input from "@cloudscape-design/components/input";
import Multiselect from "@cloudscape-design/components/multiselect";
import type { Grant } from "../api";

export interface GrantDraft {
  resource: string;
  permissions: string[];
}

const PERMISSIONS = [
  "SELECT",
  "MODIFY",
  "CREATE",
  "ALTER",
  "DROP",
  "AUTHORIZE",
  "DESCRIBE",
  "UNMASK",
  "SELECT_MASKED",
].map((value) => ({ value, label: value }));

/** Permissions on keyspaces and tables. What fits what the API decides. */
export function GrantsEditor({ grants, onChange }: { grants: GrantDraft[]; onChange: (grants: GrantDraft[]) => void }) {
  const change = (at: number, changes: Partial<GrantDraft>) =>
    onChange(grants.map((each, index) => (index === at ? { ...each, ...changes } : each)));
  return (
    <AttributeEditor
      items={grants}
      addButtonText="Add permissions"
      removeButtonText="Remove"
      removeButtonAriaLabel={({ resource }) => `Remove the permissions on ${resource}`}
      empty="No permissions."
      onAddButtonClick={() => onChange([...grants, { resource: "data/", permissions: ["SELECT", "MODIFY"] }])}
      onRemoveButtonClick={({ detail }) => onChange(grants.filter((_, index) => index !== detail.itemIndex))}
      definition={[
        {
          label: "On",
          constraintText: "data, data/keyspace, data/keyspace/table",
          control: ({ resource }, at: number) => (
            <Input
              value={resource}
              ariaLabel={`Resource ${at + 1}`}
              placeholder="data/shop/orders"
              onChange={({ detail }) => change(at, { resource: detail.value })}
            />
          ),
        },
        {
          label: "Permissions",
          control: ({ permissions }, at: number) => (
            <Multiselect
              ariaLabel={`Permissions ${at + 1}`}
              selectedOptions={PERMISSIONS.filter(({ value }) => permissions.includes(value))}
              options={PERMISSIONS}
              placeholder="Choose permissions"
              onChange={({ detail }) =>
                change(at, { permissions: detail.selectedOptions.map(({ value }) => value ?? "") })
              }
            />
          ),
        },
      ]}
    />
  );
}

/** What the API takes: without rows that say nothing. */
export function asGrants(drafts: readonly GrantDraft[]): Grant[] {
  return drafts.filter(({ resource, permissions }) => resource !== "" && permissions.length > 0);
}
