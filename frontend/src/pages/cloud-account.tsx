import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import ContentLayout from "@cloudscape-design/components/content-layout";
import ExpandableSection from "@cloudscape-design/components/expandable-section";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import ProgressBar from "@cloudscape-design/components/progress-bar";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useState } from "react";
import {
  type CloudAccountDetail,
  checkCloudAccountMutation,
  cloudAccountQuery,
  deleteCloudAccountMutation,
  operationQuery,
  refresh,
  type SetupStep,
  updateCloudAccountMutation,
  useLiveQuery,
} from "../api";
import { AccountCheckBadge } from "../components/account-check";
import { ActionButton } from "../components/action-button";
import { ConfirmModal } from "../components/confirm-modal";
import { ErrorBox } from "../components/error-box";
import { Moment } from "../components/moment";
import { QueryView } from "../components/query-view";
import { RouteLink } from "../components/route-link";
import { useTitle } from "../hooks/use-title";
import { toast } from "../hooks/use-toasts";
import { Code } from "../ui/code";
import { Copy } from "../ui/copy";
import { cloudName } from "../util/clouds";
import { saveAs } from "../util/download";
import { count } from "../util/size";

const route = getRouteApi("/console/cloud-accounts/$accountId");

export function CloudAccountPage() {
  const { accountId } = route.useParams();
  const account = useLiveQuery(cloudAccountQuery(accountId), ({ check }) => check.state === "checking");
  useTitle(account.data?.name ?? "Cloud account", "Cloud accounts");
  return (
    <QueryView query={account} lines={8} title="Cloud account">
      {(data) => <Account account={data} />}
    </QueryView>
  );
}

function Account({ account }: { account: CloudAccountDetail }) {
  const [isRenaming, setIsRenaming] = useState(false);
  const [isDeleting, setIsDeleting] = useState(false);
  return (
    <ContentLayout
      header={
        <Header
          variant="h1"
          description={cloudName(account.provider)}
          actions={
            <SpaceBetween direction="horizontal" size="xs">
              <ActionButton
                action="update_cloud_account"
                allowed={account.allowed_actions}
                onClick={() => setIsRenaming(true)}
              >
                Rename
              </ActionButton>
              <ActionButton
                action="delete_cloud_account"
                allowed={account.allowed_actions}
                onClick={() => setIsDeleting(true)}
              >
                Delete
              </ActionButton>
            </SpaceBetween>
          }
        >
          {account.name}
        </Header>
      }
    >
      <SpaceBetween size="l">
        <Check account={account} />
        <Facts account={account} />
        <Setup account={account} />
      </SpaceBetween>
      {isRenaming && <RenameModal account={account} onDismiss={() => setIsRenaming(false)} />}
      {isDeleting && <DeleteModal account={account} onDismiss={() => setIsDeleting(false)} />}
    </ContentLayout>
  );
}

function Check({ account }: { account: CloudAccountDetail }) {
  const { check } = account;
  const again = useMutation({ ...checkCloudAccountMutation(), onSuccess: () => refresh() });
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Everything the control plane does there is tried, without doing it."
          actions={
            <ActionButton
              action="check_cloud_account"
              allowed={account.allowed_actions}
              loading={again.isPending}
              loadingText="Starting"
              onClick={() => again.mutate({ path: { account_id: account.id } })}
            >
              {check.checked_at ? "Check again" : "Check"}
            </ActionButton>
          }
        >
          Permission check
        </Header>
      }
    >
      <SpaceBetween size="m">
        {again.isError && <ErrorBox error={again.error} />}
        <KeyValuePairs
          columns={3}
          items={[
            { label: "Result", value: <AccountCheckBadge check={check} /> },
            { label: "Checked", value: check.checked_at ? <Moment at={check.checked_at} /> : "Never" },
            {
              label: "Clusters can be ordered into it",
              value: account.allowed_actions.find(({ action }) => action === "create_cluster")?.reason ?? "Yes",
            },
          ]}
        />
        {check.operation_id && <Checking operationId={check.operation_id} />}
        {check.state === "refused" && <Problems account={account} />}
        {check.missing.length > 0 && (
          <div>
            <Box variant="h3">Missing permissions</Box>
            <Box variant="p">Give them to the {account.role_arn ? "role" : "service account"}, then check again.</Box>
            <ul aria-label="Missing permissions">
              {check.missing.map((permission) => (
                <li key={permission}>
                  <Box variant="code">{permission}</Box>
                </li>
              ))}
            </ul>
          </div>
        )}
        {check.state === "ready" && (
          <Box>
            Nothing is missing in {count(check.results.length, "region")}:{" "}
            {check.results.map(({ region }) => region).join(", ")}.
          </Box>
        )}
      </SpaceBetween>
    </Container>
  );
}

function Checking({ operationId }: { operationId: string }) {
  const operation = useLiveQuery(operationQuery(operationId), ({ finished_at }) => finished_at === null);
  return (
    <SpaceBetween size="xs">
      <ProgressBar
        value={Math.round((operation.data?.progress ?? 0) * 100)}
        label="Trying every permission"
        description={operation.data?.reason?.message ?? operation.data?.current ?? "The check is about to begin."}
      />
      <RouteLink to="/operations/$operationId" params={{ operationId }}>
        Follow the check
      </RouteLink>
    </SpaceBetween>
  );
}

function Problems({ account }: { account: CloudAccountDetail }) {
  const found = account.check.results.filter(({ problem }) => problem !== null);
  // Usually the same everywhere: said once.
  const distinct = found.filter(
    ({ problem }, position) => found.findIndex((other) => other.problem === problem) === position,
  );
  return distinct.map(({ region, problem, hint }) => (
    <Alert key={region} type="error" header="The control plane cannot act in this account">
      <Box>{problem}</Box>
      {hint && <Box margin={{ top: "xs" }}>{hint}</Box>}
    </Alert>
  ));
}

function Facts({ account }: { account: CloudAccountDetail }) {
  const { settings } = account;
  const vpcs = Object.entries(settings.vpcs ?? {});
  return (
    <Container header={<Header variant="h2">Account</Header>}>
      <KeyValuePairs
        columns={3}
        items={[
          ...(account.role_arn ? [{ label: "Role", value: <Copy value={account.role_arn} label="role" /> }] : []),
          ...(account.project ? [{ label: "Project", value: account.project }] : []),
          ...(account.service_account
            ? [{ label: "Service account", value: <Copy value={account.service_account} label="service account" /> }]
            : []),
          { label: "External id", value: <Copy value={account.external_id} label="external id" /> },
          { label: "Public addresses", value: settings.public_addresses ? "Yes" : "No" },
          { label: "Addresses of networks", value: settings.networks ?? "As in the installation" },
          ...(vpcs.length > 0
            ? [{ label: "Your own VPCs", value: vpcs.map(([region, vpc]) => `${region}: ${vpc}`).join(", ") }]
            : []),
          { label: "Clusters", value: account.clusters },
          { label: "Added", value: <Moment at={account.created_at} /> },
          { label: "Added by", value: account.created_by },
        ]}
      />
    </Container>
  );
}

function Setup({ account }: { account: CloudAccountDetail }) {
  return (
    <Container
      header={
        <Header variant="h2" description="To do once, by somebody who may change permissions there.">
          Setup in {cloudName(account.provider)}
        </Header>
      }
    >
      <SpaceBetween size="l">
        {account.setup.map((step) => (
          <Step key={step.title} step={step} />
        ))}
      </SpaceBetween>
    </Container>
  );
}

function Step({ step }: { step: SetupStep }) {
  const code = <Code content={step.content} language={step.language} label={step.file_name ?? step.title} wrapLines />;
  return (
    <SpaceBetween size="xs">
      <Box variant="h3">{step.title}</Box>
      <Box>{step.text}</Box>
      {step.file_name ? (
        <>
          <Button
            iconName="download"
            onClick={() => saveAs(step.file_name ?? "", new Blob([step.content], { type: "text/plain" }))}
          >
            Download {step.file_name}
          </Button>
          <ExpandableSection headerText={`Show ${step.file_name}`}>{code}</ExpandableSection>
        </>
      ) : (
        code
      )}
    </SpaceBetween>
  );
}

function RenameModal({ account, onDismiss }: { account: CloudAccountDetail; onDismiss: () => void }) {
  const [name, setName] = useState(account.name);
  const rename = useMutation({
    ...updateCloudAccountMutation(),
    onSuccess: () => {
      onDismiss();
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Rename ${account.name}`}
      confirm="Rename"
      isPending={rename.isPending}
      error={rename.error}
      disabledReason={name === "" ? "Enter a name." : undefined}
      onConfirm={() => rename.mutate({ path: { account_id: account.id }, body: { name } })}
      onDismiss={onDismiss}
    >
      <FormField label="Account name">
        <Input value={name} autoComplete={false} onChange={({ detail }) => setName(detail.value)} />
      </FormField>
    </ConfirmModal>
  );
}

function DeleteModal({ account, onDismiss }: { account: CloudAccountDetail; onDismiss: () => void }) {
  const router = useRouter();
  const remove = useMutation({
    ...deleteCloudAccountMutation(),
    onSuccess: async () => {
      toast({ type: "success", content: `Cloud account ${account.name} deleted.` });
      await router.navigate({ to: "/cloud-accounts" });
      return refresh();
    },
  });
  return (
    <ConfirmModal
      title={`Delete ${account.name}?`}
      confirm="Delete"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ path: { account_id: account.id } })}
      onDismiss={onDismiss}
    >
      <Box>
        The control plane forgets the account. Nothing is changed in the cloud: delete the{" "}
        {account.role_arn ? "role" : "service account"} there yourself.
      </Box>
    </ConfirmModal>
  );
}
