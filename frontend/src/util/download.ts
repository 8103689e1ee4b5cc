/** Save bytes the page already has as a file, the way a download link would. */
export function saveAs(filename: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = filename;
  link.click();
  // The browser starts to read after this turn; revoking at once would cancel it in some.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
