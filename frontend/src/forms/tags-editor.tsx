import AttributeEditor from "@cloudscape-design/components/attribute-editor";
import Input from "@cloudscape-design/components/input";
import type { Tag } from "../util/order";

/** Pairs of key and value, as many as wanted. */
export function TagsEditor({ tags, onChange }: { tags: Tag[]; onChange: (tags: Tag[]) => void }) {
  return (
    <AttributeEditor
      items={tags}
      addButtonText="Add tag"
      removeButtonText="Remove"
      removeButtonAriaLabel={({ key }) => `Remove tag ${key}`}
      empty="No tags."
      onAddButtonClick={() => onChange([...tags, { key: "", value: "" }])}
      onRemoveButtonClick={({ detail }) => onChange(tags.filter((_, index) => index !== detail.itemIndex))}
      definition={(["key", "value"] as const).map((part) => ({
        label: part === "key" ? "Key" : "Value",
        control: (tag: Tag, index: number) => (
          <Input
            value={tag[part]}
            ariaLabel={part === "key" ? `Key of tag ${index + 1}` : `Value of tag ${index + 1}`}
            onChange={({ detail }) =>
              onChange(tags.map((each, at) => (at === index ? { ...each, [part]: detail.value } : each)))
            }
          />
        ),
      }))}
    />
  );
}
