import AttributeEditor from "@cloudscape-design/components/attribute-editor";
import Input from "@cloudscape-design/components/input";

/** One condition as it is typed: the values with commas between them. */
export interface RoleTag {
  key: string;
  values: string;
}

const MOST = 5;

/** Conditions on tags: for each key the values that clusters may have. */
export function RoleTagsEditor({ tags, onChange }: { tags: RoleTag[]; onChange: (tags: RoleTag[]) => void }) {
  const set = (index: number, changed: Partial<RoleTag>) =>
    onChange(tags.map((tag, at) => (at === index ? { ...tag, ...changed } : tag)));
  return (
    <AttributeEditor
      items={tags}
      addButtonText="Add tag"
      removeButtonText="Remove"
      disableAddButton={tags.length >= MOST}
      isItemRemovable={() => tags.length > 1}
      onAddButtonClick={() => onChange([...tags, { key: "", values: "" }])}
      onRemoveButtonClick={({ detail }) => onChange(tags.filter((_, at) => at !== detail.itemIndex))}
      definition={[
        {
          label: "Key",
          control: ({ key }, index) => (
            <Input
              value={key}
              placeholder="env"
              ariaLabel="Key of the tag"
              autoComplete={false}
              onChange={({ detail }) => set(index, { key: detail.value })}
            />
          ),
        },
        {
          label: "Values, with commas",
          control: ({ values }, index) => (
            <Input
              value={values}
              placeholder="dev, test"
              ariaLabel="Values of the tag"
              autoComplete={false}
              onChange={({ detail }) => set(index, { values: detail.value })}
            />
          ),
        },
      ]}
    />
  );
}

/** As the API takes them; undefined while one has no key or no value. */
export function readRoleTags(tags: readonly RoleTag[]): Record<string, string[]> | undefined {
  const read = tags.map(({ key, values }) => ({
    key: key.trim(),
    values: values
      .split(",")
      .map((value) => value.trim())
      .filter((value) => value !== ""),
  }));
  if (read.some(({ key, values }) => key === "" || values.length === 0)) return undefined;
  return Object.fromEntries(read.map(({ key, values }) => [key, values]));
}
