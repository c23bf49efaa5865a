/** An editor for conditions: colours while typing, and the place of a mistake under it. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

const TOKEN = /('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|\b(AND|OR|NOT|IN|BETWEEN|LIKE|IS|NULL|TRUE|FALSE|ANY|CASEI|ACCENTI|DIV)\b|\b([A-Z][A-Z_]+)(?=\s*\()|(\b\d[\d.]*(?:[eE][+-]?\d+)?)/gi;
const KINDS = ["", "string", "name", "word", "function", "number"];

function coloured(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const found of text.matchAll(TOKEN)) {
    const kind = found.findIndex((group, place) => place > 0 && group !== undefined);
    parts.push(text.slice(at, found.index), <span class={`c-${KINDS[kind]}`}>{found[0]}</span>);
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}

/** The offset of a line and a column, which count from 1 and in code points. */
export function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
}

interface Props {
  label: string;
  value: string;
  change: (value: string) => void;
  mistake?: { line: number; column: number };
  describedBy?: string;
  submit?: () => void;
  rows?: number;
}

export function Editor({ label, value, change, mistake, describedBy, submit, rows = 5 }: Props) {
  const area = useRef<HTMLTextAreaElement>(null);
  const back = useRef<HTMLPreElement>(null);
  const follow = () => {
    if (back.current && area.current) back.current.scrollTop = area.current.scrollTop;
  };
  useEffect(follow, [value]);
  const at = mistake ? Math.min(offsetOf(value, mistake.line, mistake.column), value.length) : -1;
  const word = at < 0 ? 0 : Math.max(1, /^[\w.]+|^'[^']*'?|^\S/.exec(value.slice(at))?.[0].length ?? 1);
  return (
    <div class={`editor ${at >= 0 ? "wrong" : ""}`}>
      <pre ref={back} aria-hidden="true">
        {coloured(value)}
        {"\n"}
      </pre>
      {at >= 0 && (
        <pre class="marks" aria-hidden="true">
          {value.slice(0, at)}
          <mark>{value.slice(at, at + word) || " "}</mark>
          {value.slice(at + word)}
        </pre>
      )}
      <textarea
        ref={area}
        rows={rows}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        aria-label={label}
        aria-invalid={at >= 0}
        aria-describedby={describedBy}
        value={value}
        onScroll={follow}
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit?.();
        }}
      />
    </div>
  );
}
