import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import Container from "@cloudscape-design/components/container";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { signOut, useSession } from "../api";
import { Brand } from "../components/brand";
import { ErrorBox } from "../components/error-box";
import { useTitle } from "../hooks/use-title";
import { StageLayout } from "../layouts/stage-layout";

/** For people who signed in and are members of nothing. */
export function NoOrganisationPage() {
  useTitle("No organisation");
  const router = useRouter();
  const { without_organisation: person } = useSession();
  const leave = useMutation({ mutationFn: signOut, onSuccess: () => router.navigate({ to: "/sign-in" }) });
  return (
    <StageLayout>
      <Brand />
      <Container header={<Header variant="h1">You belong to no organisation yet</Header>}>
        <SpaceBetween size="m">
          {leave.isError && <ErrorBox error={leave.error} />}
          <Box>You are signed in as {person?.email}.</Box>
          <Box>
            Ask an administrator of your organisation in Ringmaster to invite this address, or to give a role to one of
            your groups at the identity provider. Then sign in again.
          </Box>
          <Button loading={leave.isPending} loadingText="Signing out" onClick={() => leave.mutate()}>
            Sign out
          </Button>
        </SpaceBetween>
      </Container>
    </StageLayout>
  );
}
