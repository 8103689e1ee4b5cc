import Checkbox from "@cloudscape-design/components/checkbox";
import ColumnLayout from "@cloudscape-design/components/column-layout";
import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import Select, { type SelectProps } from "@cloudscape-design/components/select";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type Catalog, type ImageOrder, refresh, registerImageMutation, toApiError } from "../api";
import { ConfirmModal } from "../components/confirm-modal";
import { cloudName, cloudsOf } from "../util/clouds";
import { defaultVersion } from "../util/order";

const ARCHITECTURES = ["x86_64", "arm64"] as const;

/** Packer's manifest registers images without anybody typing; this is for single ones. */
export function ImageRegisterModal({ catalog, onDismiss }: { catalog: Catalog; onDismiss: () => void }) {
  const clouds = cloudsOf(catalog);
  const engine = catalog.engines[0]?.name ?? "";
  const [order, setOrder] = useState<ImageOrder>({
    provider: clouds[0] ?? "aws",
    region: firstRegion(catalog, clouds[0] ?? "aws"),
    architecture: "x86_64",
    engine,
    engine_version: defaultVersion(catalog, engine),
    cloud_id: "",
    build_id: "",
    agent_version: "",
    base: "",
    sbom: "",
    is_default: false,
  });
  const change = (changes: Partial<ImageOrder>) => setOrder((before) => ({ ...before, ...changes }));
  const register = useMutation({
    ...registerImageMutation(),
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  const error = register.isError ? toApiError(register.error, undefined) : undefined;
  const missing =
    order.cloud_id === "" ? "Enter the image's id." : order.build_id === "" ? "Enter the build." : undefined;
  const regions = catalog.providers.find(({ id }) => id === order.provider)?.regions ?? [];
  const versions = catalog.engines.find(({ name }) => name === order.engine)?.versions ?? [];

  return (
    <ConfirmModal
      title="Register image"
      confirm="Register"
      size="large"
      isPending={register.isPending}
      error={register.error}
      disabledReason={missing}
      onConfirm={() => register.mutate({ body: order })}
      onDismiss={onDismiss}
    >
      <ColumnLayout columns={2}>
        <Choice
          label="Cloud"
          value={order.provider}
          options={clouds.map((cloud) => ({ value: cloud, label: cloudName(cloud) }))}
          onChange={(value) =>
            change({ provider: value as ImageOrder["provider"], region: firstRegion(catalog, value) })
          }
        />
        {order.provider === "aws" && (
          <Choice
            label="Region"
            value={order.region ?? ""}
            options={regions.map(({ name, title }) => ({ value: name, label: title, description: name }))}
            onChange={(region) => change({ region })}
          />
        )}
        <Choice
          label="Engine"
          value={order.engine}
          options={catalog.engines.map(({ name, title }) => ({ value: name, label: title }))}
          onChange={(value) => change({ engine: value, engine_version: defaultVersion(catalog, value) })}
        />
        <Choice
          label="Version"
          value={order.engine_version}
          options={versions.map(({ version }) => ({ value: version, label: version }))}
          onChange={(engine_version) => change({ engine_version })}
        />
        <Choice
          label="Architecture"
          value={order.architecture}
          options={ARCHITECTURES.map((value) => ({ value, label: value }))}
          onChange={(value) => change({ architecture: value as ImageOrder["architecture"] })}
        />
        <Field
          label="Image"
          value={order.cloud_id}
          placeholder={order.provider === "aws" ? "ami-0123456789abcdef0" : "projects/acme-images/global/images/name"}
          errorText={error?.fields.cloud_id}
          onChange={(cloud_id) => change({ cloud_id })}
        />
        <Field
          label="Build"
          value={order.build_id}
          placeholder="20261121"
          errorText={error?.fields.build_id}
          onChange={(build_id) => change({ build_id })}
        />
        <Field
          label="Agent version"
          value={order.agent_version ?? ""}
          errorText={error?.fields.agent_version}
          onChange={(agent_version) => change({ agent_version })}
        />
        <Field
          label="Base"
          value={order.base ?? ""}
          placeholder="debian-12"
          errorText={error?.fields.base}
          onChange={(base) => change({ base })}
        />
        <Field
          label="SBOM"
          value={order.sbom ?? ""}
          placeholder="/opt/ringmaster/sbom.spdx.json"
          errorText={error?.fields.sbom}
          onChange={(sbom) => change({ sbom })}
        />
      </ColumnLayout>
      <Checkbox
        checked={order.is_default ?? false}
        description="In its cloud, region and architecture, for its engine version."
        onChange={({ detail }) => change({ is_default: detail.checked })}
      >
        Make new machines from it
      </Checkbox>
    </ConfirmModal>
  );
}

function firstRegion(catalog: Catalog, provider: string): string {
  if (provider !== "aws") return "";
  return catalog.providers.find(({ id }) => id === provider)?.regions[0]?.name ?? "";
}

function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: SelectProps.Option[];
  onChange: (value: string) => void;
}) {
  return (
    <FormField label={label}>
      <Select
        selectedOption={options.find((option) => option.value === value) ?? null}
        options={options}
        onChange={({ detail }) => onChange(detail.selectedOption.value ?? "")}
      />
    </FormField>
  );
}

function Field({
  label,
  value,
  placeholder,
  errorText,
  onChange,
}: {
  label: string;
  value: string;
  placeholder?: string;
  errorText: string | undefined;
  onChange: (value: string) => void;
}) {
  return (
    <FormField label={label} errorText={errorText}>
      <Input
        value={value}
        placeholder={placeholder}
        spellcheck={false}
        autoComplete={false}
        onChange={({ detail }) => onChange(detail.value.trim())}
      />
    </FormField>
  );
}
