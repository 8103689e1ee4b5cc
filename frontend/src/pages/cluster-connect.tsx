import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import KeyValuePairs from "@cloudscape-design/components/key-value-pairs";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Tabs from "@cloudscape-design/components/tabs";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import {
  type Cluster,
  type Connection,
  type Credentials,
  connectionQuery,
  fetchBundle,
  fetchCa,
  refresh,
  revealCredentialsMutation,
  rotateCredentialsMutation,
  useLiveQuery,
} from "../api";
import { ActionButton } from "../components/action-button";
import { ConfirmModal } from "../components/confirm-modal";
import { QueryView } from "../components/query-view";
import { useDownload } from "../hooks/use-download";
import { toast } from "../hooks/use-toasts";
import { Code } from "../ui/code";
import { Copy } from "../ui/copy";

const route = getRouteApi("/console/clusters/$clusterId");

export function ClusterConnect({ cluster }: { cluster: Cluster }) {
  const connection = useLiveQuery(connectionQuery(cluster.id), ({ ready }) => !ready);
  return (
    <QueryView query={connection} lines={6}>
      {(data) => (
        <SpaceBetween size="l">
          {!data.ready && (
            <Alert type="info" statusIconAriaLabel="Info">
              The cluster does not take connections yet. This page fills in when it does.
            </Alert>
          )}
          <Addresses cluster={cluster} connection={data} />
          {data.dynamodb && <DynamoDb connection={data} api={data.dynamodb} />}
          <Password cluster={cluster} connection={data} />
          {data.snippets.length > 0 && <Snippets connection={data} />}
        </SpaceBetween>
      )}
    </QueryView>
  );
}

function Addresses({ cluster, connection }: { cluster: Cluster; connection: Connection }) {
  const bundle = useDownload(() => fetchBundle(cluster.id), `${cluster.name}-connection.zip`);
  const ca = useDownload(() => fetchCa(cluster.id), `${cluster.name}-ca.crt`);
  const notReady = connection.ready ? undefined : "The cluster does not take connections yet.";
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="The bundle holds the CA, a Java trust store, a cqlshrc and these values as JSON."
          actions={
            <SpaceBetween direction="horizontal" size="xs">
              <Button
                iconName="download"
                loading={ca.isPending}
                disabled={notReady !== undefined}
                disabledReason={notReady}
                onClick={() => ca.mutate()}
              >
                Download CA
              </Button>
              <Button
                variant="primary"
                iconName="download"
                loading={bundle.isPending}
                disabled={notReady !== undefined}
                disabledReason={notReady}
                onClick={() => bundle.mutate()}
              >
                Download bundle
              </Button>
            </SpaceBetween>
          }
        >
          Connection
        </Header>
      }
    >
      <KeyValuePairs
        columns={3}
        items={[
          {
            label: "Contact points",
            value:
              connection.contact_points.length > 0 ? (
                <Copy value={connection.contact_points.join(",")} label="contact points" />
              ) : (
                "–"
              ),
          },
          { label: "Port", value: <Copy value={String(connection.port)} label="port" /> },
          { label: "Data centre", value: <Copy value={connection.datacenter} label="data centre" /> },
          { label: "User", value: <Copy value={connection.username} label="user" /> },
          { label: "Encryption", value: connection.tls ? "TLS, with the cluster's own CA" : "None" },
        ]}
      />
    </Container>
  );
}

function DynamoDb({ connection, api }: { connection: Connection; api: NonNullable<Connection["dynamodb"]> }) {
  return (
    <Container
      header={
        <Header variant="h2" description="Any node answers. Clients verify it with the cluster's own CA.">
          DynamoDB API
        </Header>
      }
    >
      <KeyValuePairs
        columns={3}
        items={[
          {
            label: "Endpoints",
            value: api.endpoints.length > 0 ? <Copy value={api.endpoints.join(",")} label="endpoints" /> : "–",
          },
          { label: "Region", value: <Copy value={connection.datacenter} label="region" /> },
          { label: "Write isolation", value: api.write_isolation },
          { label: "Access key id", value: <Copy value={api.access_key} label="access key id" /> },
          {
            label: "Secret access key",
            value: (
              <Box>
                What <Box variant="code">SELECT salted_hash FROM system.roles WHERE role = '{api.access_key}'</Box>{" "}
                answers in CQL
              </Box>
            ),
          },
        ]}
      />
    </Container>
  );
}

function Password({ cluster, connection }: { cluster: Cluster; connection: Connection }) {
  const [asking, setAsking] = useState<"reveal" | "rotate" | null>(null);
  // Only here, for as long as the tab is open: the API never shows it again.
  const [shown, setShown] = useState<Credentials | null>(null);
  const path = { cluster_id: cluster.id };
  const reveal = useMutation({
    ...revealCredentialsMutation(),
    gcTime: 0,
    onSuccess: (credentials) => {
      setAsking(null);
      setShown(credentials);
      return refresh();
    },
  });
  const rotate = useMutation({
    ...rotateCredentialsMutation(),
    onSuccess: () => {
      setAsking(null);
      setShown(null);
      toast({ type: "success", content: "A new password is being set. Reveal it when it is ready." });
      return refresh();
    },
  });

  return (
    <Container
      header={
        <Header
          variant="h2"
          description="Of the administrator. It can be seen once; after that, set a new one."
          actions={
            <SpaceBetween direction="horizontal" size="xs">
              <ActionButton
                action="rotate_credentials"
                allowed={cluster.allowed_actions}
                onClick={() => setAsking("rotate")}
              >
                Set a new password
              </ActionButton>
              <ActionButton
                action="reveal_credentials"
                allowed={cluster.allowed_actions}
                onClick={() => setAsking("reveal")}
              >
                Reveal password
              </ActionButton>
            </SpaceBetween>
          }
        >
          Password
        </Header>
      }
    >
      {shown ? (
        <SpaceBetween size="m">
          <Alert type="warning" statusIconAriaLabel="Warning" header="Copy the password now">
            It is not shown again. Keep it in your secret store.
          </Alert>
          <KeyValuePairs
            columns={2}
            items={[
              { label: "User", value: <Copy value={shown.username} label="revealed user" /> },
              { label: "Password", value: <Copy value={shown.password} label="password" /> },
            ]}
          />
        </SpaceBetween>
      ) : (
        <Box color="text-body-secondary">
          {connection.password_revealed ? "The password was revealed before." : "The password was not revealed yet."}
        </Box>
      )}
      {asking === "reveal" && (
        <ConfirmModal
          title="Reveal the password?"
          confirm="Reveal"
          isPending={reveal.isPending}
          error={reveal.error}
          onConfirm={() => reveal.mutate({ path })}
          onDismiss={() => setAsking(null)}
        >
          <Box>It is shown this once, to you only. The audit log notes who saw it.</Box>
        </ConfirmModal>
      )}
      {asking === "rotate" && (
        <ConfirmModal
          title="Set a new password?"
          confirm="Set a new password"
          isPending={rotate.isPending}
          error={rotate.error}
          onConfirm={() => rotate.mutate({ path })}
          onDismiss={() => setAsking(null)}
        >
          <Box>Programs that use the present password can no longer connect anew.</Box>
        </ConfirmModal>
      )}
    </Container>
  );
}

function Snippets({ connection }: { connection: Connection }) {
  const { snippet } = route.useSearch();
  const navigate = route.useNavigate();
  const active = connection.snippets.find(({ id }) => id === snippet) ?? connection.snippets[0];
  return (
    <Container header={<Header variant="h2">Use it</Header>}>
      <Tabs
        ariaLabel="Snippets"
        activeTabId={active?.id}
        onChange={({ detail }) =>
          void navigate({ search: { tab: "connect", snippet: detail.activeTabId }, replace: true, resetScroll: false })
        }
        tabs={connection.snippets.map(({ id, title, install, code, language }) => ({
          id,
          label: title,
          content: (
            <SpaceBetween size="m">
              {install && (
                <Code
                  content={install}
                  language={install.trimStart().startsWith("<") ? "xml" : "bash"}
                  label={`${title} installation`}
                />
              )}
              <Code content={code} language={language} label={`${title} snippet`} />
            </SpaceBetween>
          ),
        }))}
      />
    </Container>
  );
}
