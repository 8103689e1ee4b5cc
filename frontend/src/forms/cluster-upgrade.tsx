import FormField from "@cloudscape-design/components/form-field";
import Select from "@cloudscape-design/components/select";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Cluster, catalogQuery } from "../api";
import { ChangeModal } from "./change-modal";

/** Another version of the engine: one node first, then the others rack by rack. */
export function ClusterUpgradeModal({ cluster, onDismiss }: { cluster: Cluster; onDismiss: () => void }) {
  const catalog = useQuery(catalogQuery());
  const [version, setVersion] = useState("");
  const options = (catalog.data?.engines.find(({ name }) => name === cluster.engine)?.versions ?? [])
    .filter(({ upgrades_from }) => upgrades_from.includes(cluster.engine_version))
    .map((each) => ({ value: each.version, label: each.version, description: each.is_default ? "Recommended" : "" }));
  return (
    <ChangeModal
      cluster={cluster}
      title={`Upgrade ${cluster.name}`}
      confirm="Upgrade"
      change={version === "" ? null : { kind: "upgrade", engine_version: version }}
      missing="Choose a version."
      onDismiss={onDismiss}
    >
      <FormField label="Version" description={`Now ${cluster.engine_version}.`}>
        <Select
          selectedOption={options.find(({ value }) => value === version) ?? null}
          options={options}
          statusType={catalog.isPending ? "loading" : "finished"}
          placeholder="Choose a version"
          empty="No version can be reached from this one."
          onChange={({ detail }) => setVersion(detail.selectedOption.value ?? "")}
        />
      </FormField>
    </ChangeModal>
  );
}
