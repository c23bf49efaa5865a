/** JSON with colours. Every value is a text node, whatever it says. */
import type { ComponentChildren } from "preact";

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g;

export function coloured(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const found of text.matchAll(TOKEN)) {
    const [all, string, colon] = found;
    parts.push(text.slice(at, found.index));
    const kind = string ? (colon ? "name" : "string") : found[3] ? "number" : "word";
    parts.push(<span class={`j-${kind}`}>{string ?? all}</span>, colon ?? "");
    at = found.index + all.length;
  }
  return [...parts, text.slice(at)];
}

export function JsonView({ value, label }: { value: unknown; label: string }) {
  return (
    <pre class="code json" tabIndex={0} aria-label={label}>
      {coloured(JSON.stringify(value, null, 2))}
    </pre>
  );
}
