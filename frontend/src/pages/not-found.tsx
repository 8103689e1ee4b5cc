import Box from "@cloudscape-design/components/box";
import Header from "@cloudscape-design/components/header";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { RouteLink } from "../components/route-link";
import { useTitle } from "../hooks/use-title";

export function NotFoundPage() {
  useTitle("Not found");
  return (
    <Box padding="xxl">
      <main>
        <SpaceBetween size="m">
          <Header variant="h1">There is nothing at this address</Header>
          <Box>Check the address, or start again from your clusters.</Box>
          <RouteLink to="/clusters">Go to clusters</RouteLink>
        </SpaceBetween>
      </main>
    </Box>
  );
}
