import FormField from "@cloudscape-design/components/form-field";
import Input from "@cloudscape-design/components/input";
import RadioGroup from "@cloudscape-design/components/radio-group";
import { useQuery } from "@tanstack/react-query";
import { type Backup, logArchiveQuery } from "../api";
import { momentIn, utcText } from "../util/moment-text";

/** Asks whether to restore as the backup has it, or to a moment after it. The text is a moment in UTC; null: the backup. */
export function RestorePoint({
  backup,
  text,
  onChange,
}: {
  backup: Backup;
  text: string | null;
  onChange: (text: string | null) => void;
}) {
  const archive = useQuery(logArchiveQuery(backup.cluster_id));
  const covered = archive.data?.restorable.find((each) => each.backup_id === backup.id);
  const isWrong = text !== null && momentIn(text) === null;
  return (
    <>
      <RadioGroup
        ariaLabel="As of when"
        value={text === null ? "backup" : "moment"}
        items={[
          { value: "backup", label: "As of the backup" },
          {
            value: "moment",
            label: "At a moment after it",
            disabled: !covered,
            description: covered
              ? `From ${utcText(covered.begins_at)} to ${utcText(covered.ends_at)} UTC.`
              : "The commit logs after this backup were not archived.",
          },
        ]}
        onChange={({ detail: { value } }) => onChange(value === "moment" && covered ? utcText(covered.ends_at) : null)}
      />
      {text !== null && (
        <FormField
          label="Moment"
          description="In UTC. What was written later is left out."
          errorText={isWrong ? "Write it like 2026-01-31 14:05:00." : undefined}
        >
          <Input value={text} spellcheck={false} onChange={({ detail: { value } }) => onChange(value)} />
        </FormField>
      )}
    </>
  );
}
