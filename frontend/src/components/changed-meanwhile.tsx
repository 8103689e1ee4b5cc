import Alert from "@cloudscape-design/components/alert";
import Box from "@cloudscape-design/components/box";
import Button from "@cloudscape-design/components/button";
import SpaceBetween from "@cloudscape-design/components/space-between";
import { differing, type Words } from "../util/differing";

/** What somebody else saved while a form was open, and what to do about it. What was typed stays until it is loaded. */
export function ChangedMeanwhile<Thing>({
  edit: { opened, changed, isPending },
  words,
  onLoad,
  onSaveOver,
}: {
  edit: { opened: Thing; changed: Thing | undefined; isPending: boolean };
  words: (thing: Thing) => Words;
  onLoad: (now: Thing) => void;
  onSaveOver: () => void;
}) {
  if (changed === undefined) return null;
  return (
    <Alert
      type="warning"
      statusIconAriaLabel="Warning"
      header="Somebody changed this while you were editing"
      action={
        <SpaceBetween direction="horizontal" size="xs">
          <Button onClick={() => onLoad(changed)}>Load what it is now</Button>
          <Button loading={isPending} loadingText="Saving …" onClick={onSaveOver}>
            Save over it
          </Button>
        </SpaceBetween>
      }
    >
      <SpaceBetween size="xxs">
        <div>Nothing was saved, and what you typed is still here.</div>
        {differing(words(opened), words(changed)).map(({ label, before, now }) => (
          <div key={label}>
            <Box variant="strong" color="inherit">
              {label}
            </Box>
            : was {before}, is now {now}
          </div>
        ))}
      </SpaceBetween>
    </Alert>
  );
}
