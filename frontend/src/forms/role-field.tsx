import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import { useQuery } from "@tanstack/react-query";
import { organisationRolesQuery } from "../api";
import { type HeldRole, roleOptions, toHeldRole } from "../components/roles";

/** Chooses a built-in role or one of the organisation's own. */
export function RoleField({
  held,
  withoutOwner,
  onChange,
}: {
  held: HeldRole;
  withoutOwner?: boolean;
  onChange: (held: HeldRole) => void;
}) {
  const roles = useQuery(organisationRolesQuery());
  const options = roleOptions(roles.data?.items ?? [], withoutOwner);
  const value = held.custom_role_id ?? held.role;
  const flat = options.flatMap((option) => ("options" in option ? option.options : [option]));
  return (
    <FormField label="Role" errorText={roles.isError ? "Your organisation's own roles could not be read." : undefined}>
      <Select
        selectedOption={flat.find((option) => option.value === value) ?? null}
        options={options}
        statusType={roles.isPending ? "loading" : "finished"}
        onChange={({ detail }) => onChange(toHeldRole(detail.selectedOption.value ?? "viewer"))}
      />
    </FormField>
  );
}
