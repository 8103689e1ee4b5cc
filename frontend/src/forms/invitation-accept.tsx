import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Form from "@cloudscape-design/components/form";
import FormField from "@cloudscape-design/components/form-field";
import Header from "@cloudscape-design/components/header";
import Input from "@cloudscape-design/components/input";
import SpaceBetween from "@cloudscape-design/components/space-between";
import Spinner from "@cloudscape-design/components/spinner";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useLocation, useRouter } from "@tanstack/react-router";
import { useState } from "react";
import {
  ApiError,
  acceptInvitationMutation,
  type InvitationOffer,
  invitationOfferQuery,
  queryClient,
  sessionQuery,
  signIn,
} from "../api";
import { Brand } from "../components/brand";
import { ErrorBox } from "../components/error-box";
import { roleName } from "../components/roles";
import { useTitle } from "../hooks/use-title";
import { StageLayout } from "../layouts/stage-layout";
import { formatMoment } from "../util/duration";

/** The secret stands after the '#', which browsers do not send: it is in no server's log. */
export function InvitationAcceptPage() {
  useTitle("Accept invitation");
  const secret = useLocation({ select: (location) => location.hash });
  const offer = useQuery({ ...invitationOfferQuery(secret), enabled: secret !== "" });

  return (
    <StageLayout>
      <Brand />
      {secret === "" && (
        <Alert type="error" statusIconAriaLabel="Error">
          This link is not complete. Copy all of it, or ask for a new one.
        </Alert>
      )}
      {secret !== "" && offer.isPending && (
        <Box textAlign="center">
          <Spinner size="large" />
        </Box>
      )}
      {offer.isError && <ErrorBox header="The invitation cannot be used" error={offer.error} />}
      {offer.data && <Acceptance secret={secret} offer={offer.data} />}
    </StageLayout>
  );
}

function Acceptance({ secret, offer }: { secret: string; offer: InvitationOffer }) {
  const router = useRouter();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const session = useQuery(sessionQuery);
  const person = session.data?.user ?? session.data?.without_organisation;
  const isThem = person?.email.toLowerCase() === offer.email.toLowerCase();
  const accept = useMutation({
    ...acceptInvitationMutation(),
    onSuccess: async ({ email }) => {
      if (isThem) {
        queryClient.clear();
        await queryClient.fetchQuery(sessionQuery);
      } else await signIn({ email, password });
      await router.navigate({ to: "/clusters" });
    },
  });
  const fields = (accept.error as unknown) instanceof ApiError ? (accept.error as unknown as ApiError).fields : {};

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        accept.mutate({ body: { secret, name, password: isThem ? null : password } });
      }}
    >
      <Container
        header={
          <Header variant="h1" description={`As ${roleName(offer)}, until ${formatMoment(offer.expires_at)}`}>
            Join {offer.organisation_name}
          </Header>
        }
      >
        <Form
          actions={
            <Button
              variant="primary"
              formAction="submit"
              loading={accept.isPending}
              loadingText="Joining"
              disabled={!password && !isThem}
              disabledReason="Enter a password."
            >
              Accept invitation
            </Button>
          }
        >
          <SpaceBetween size="m">
            {accept.isError && <ErrorBox error={accept.error} />}
            <FormField label="E-mail">
              <Input readOnly autoComplete="username" value={offer.email} />
            </FormField>
            {!offer.has_account && (
              <FormField label="Your name" errorText={fields.name}>
                <Input autoComplete="name" value={name} onChange={({ detail }) => setName(detail.value)} />
              </FormField>
            )}
            {!isThem && (
              <FormField
                label="Password"
                description={
                  offer.has_account
                    ? "Of your account. Without one, sign in through your identity provider first and open this link again."
                    : "12 characters or more."
                }
                errorText={fields.password}
              >
                <Input
                  type="password"
                  autoComplete={offer.has_account ? "current-password" : "new-password"}
                  value={password}
                  onChange={({ detail }) => setPassword(detail.value)}
                />
              </FormField>
            )}
          </SpaceBetween>
        </Form>
      </Container>
    </form>
  );
}
