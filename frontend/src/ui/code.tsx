import CodeView from "@cloudscape-design/code-view/code-view";
import go from "@cloudscape-design/code-view/highlight/go";
import java from "@cloudscape-design/code-view/highlight/java";
import javascript from "@cloudscape-design/code-view/highlight/javascript";
import python from "@cloudscape-design/code-view/highlight/python";
import sh from "@cloudscape-design/code-view/highlight/sh";
import xml from "@cloudscape-design/code-view/highlight/xml";
import CopyToClipboard from "@cloudscape-design/components/copy-to-clipboard";
import type { ReactNode } from "react";

const HIGHLIGHT: Record<string, (code: string) => ReactNode> = { bash: sh, go, java, javascript, python, xml };

/** Code with colours, where the language is known, and a button that copies it as it is. */
export function Code({
  content,
  language,
  label,
  wrapLines,
}: {
  content: string;
  language?: string;
  label: string;
  /** For long lines, where nothing hangs on their shape. */
  wrapLines?: boolean;
}) {
  return (
    <CodeView
      ariaLabel={label}
      content={content}
      wrapLines={wrapLines}
      highlight={language ? HIGHLIGHT[language] : undefined}
      actions={
        <CopyToClipboard
          variant="icon"
          textToCopy={content}
          copyButtonAriaLabel={`Copy ${label}`}
          copySuccessText="Copied"
          copyErrorText="Could not copy"
        />
      }
    />
  );
}
