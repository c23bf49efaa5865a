/** The place in the console, in the fragment of the address: `#/live?destination=a`. The server never sees it. */
import { signal } from "@preact/signals";

export interface Place {
  view: string;
  options: URLSearchParams;
}

function here(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: path || "overview", options: new URLSearchParams(query) };
}

export const place = signal<Place>(here());
addEventListener("hashchange", () => {
  place.value = here();
});

export function address(view: string, options: Record<string, string> = {}): string {
  const query = new URLSearchParams(options).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

export function go(view: string, options: Record<string, string> = {}): void {
  location.hash = address(view, options);
}
