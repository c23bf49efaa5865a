/** Settings that a browser keeps: the theme and saved filters. A browser that keeps nothing works, too. */
import { signal, type Signal } from "@preact/signals";

export function kept<T>(name: string, initial: T): Signal<T> {
  const key = `tocsin.${name}`;
  let value = initial;
  try {
    const text = localStorage.getItem(key);
    if (text !== null) value = JSON.parse(text) as T;
  } catch {
    value = initial;
  }
  const one = signal(value);
  one.subscribe((next) => {
    try {
      localStorage.setItem(key, JSON.stringify(next));
    } catch {
      return; // storage is full or forbidden: the setting lasts as long as the page
    }
  });
  return one;
}

export type Theme = "system" | "light" | "dark";
export const theme = kept<Theme>("theme", "system");
theme.subscribe((value) => {
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
  dispatchEvent(new Event("theme"));
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("theme")));

export function turnTheme(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const shown = theme.value === "system" ? (dark ? "dark" : "light") : theme.value;
  theme.value = shown === "dark" ? "light" : "dark";
}

/** A colour of the design as the browser resolves it, for canvases. */
export function colour(name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
