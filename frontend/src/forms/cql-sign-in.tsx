import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type CqlConsole, cqlConsoleQuery, openCqlSessionMutation, queryClient, toApiError } from "../api";
import { ActionButton } from "../components/action-button";
import { ErrorBox } from "../components/error-box";

/** A role of the database and its password, which is kept by the control plane for this session. */
export function CqlSignIn({
  clusterId,
  allowed,
  onOpened,
  onCancel,
}: {
  clusterId: string;
  allowed: CqlConsole["allowed_actions"];
  onOpened: (sessionId: string) => void;
  /** Left out where there is nothing to go back to. */
  onCancel?: () => void;
}) {
  const [role, setRole] = useState("");
  const [password, setPassword] = useState("");
  const open = useMutation({
    ...openCqlSessionMutation(),
    onSuccess: async (session) => {
      setPassword("");
      await queryClient.invalidateQueries(cqlConsoleQuery(clusterId));
      onOpened(session.id);
    },
  });
  const errorOf = (field: string) => (open.error == null ? undefined : toApiError(open.error, undefined).fields[field]);
  return (
    <Container
      header={
        <Header
          variant="h2"
          description="What you run is run as a role of the database. Its password is kept encrypted until half an hour after its last use, and never shown."
        >
          Sign in to the database
        </Header>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          open.mutate({ path: { cluster_id: clusterId }, body: { role: role.trim(), password } });
        }}
      >
        <SpaceBetween size="m">
          {open.error != null && <ErrorBox error={open.error} />}
          <FormField label="Role" errorText={errorOf("role")}>
            <Input
              value={role}
              spellcheck={false}
              autoComplete={false}
              onChange={({ detail }) => setRole(detail.value)}
            />
          </FormField>
          <FormField label="Password" errorText={errorOf("password")}>
            <Input
              type="password"
              value={password}
              autoComplete="off"
              onChange={({ detail }) => setPassword(detail.value)}
            />
          </FormField>
          <SpaceBetween direction="horizontal" size="xs">
            <ActionButton action="run_cql" allowed={allowed} variant="primary" loading={open.isPending}>
              Sign in
            </ActionButton>
            {onCancel && (
              <Button formAction="none" onClick={onCancel}>
                Back
              </Button>
            )}
          </SpaceBetween>
        </SpaceBetween>
      </form>
    </Container>
  );
}
