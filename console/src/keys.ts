/** Keyboard shortcuts: one list, which the help shows. A key in a field types; with Ctrl or Command it may act. */
import { useEffect } from "preact/hooks";

export interface Shortcut {
  key: string;
  about: string;
  run: () => void;
  /** Also while somebody types. */
  always?: boolean;
}

const active: Shortcut[][] = [];

export function shortcuts(): Shortcut[] {
  const seen = new Set<string>();
  return active.toReversed().flat().filter((one) => !seen.has(one.key) && seen.add(one.key));
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

function nameOf(event: KeyboardEvent): string {
  const name = event.key === " " ? "Space" : event.key;
  return event.ctrlKey || event.metaKey ? `Ctrl ${name}` : name;
}

addEventListener("keydown", (event) => {
  if (event.altKey || event.defaultPrevented) return;
  const name = nameOf(event);
  const isButton = event.target instanceof HTMLElement && event.target.matches("button, a, summary");
  if (isButton && (name === "Space" || name === "Enter")) return;
  const inDialog = document.querySelector("dialog[open]") !== null;
  const found = shortcuts().find((one) => one.key === name);
  if (!found || (!found.always && (isTyping(event.target) || inDialog))) return;
  event.preventDefault();
  found.run();
});

/** Shortcuts while a component is shown. Those of a later component go before those of an earlier one. */
export function useShortcuts(list: Shortcut[]): void {
  useEffect(() => {
    active.push(list);
    return () => {
      active.splice(active.indexOf(list), 1);
    };
  });
}
