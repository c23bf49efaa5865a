/** A subscription as the fields of a form, all of them text, and back. */
import type { Destination, Json, Subscription } from "../documents";
import { pretty } from "../format";
import { conditionOf } from "./checking";

/** The fields as text. Empty ones are left out of what is saved. */
export interface Draft {
  id: string;
  where: string;
  language: string;
  destination: string;
  fence: string;
  score: string;
  weights: string;
  throttle_s: string;
  paused_until: string;
  expires_at: string;
  payload: string;
}

const NEW: Draft = { id: "", where: "", language: "", destination: "", fence: "", score: "", weights: "", throttle_s: "", paused_until: "", expires_at: "", payload: "" };

/** The languages of conditions by their names in the service, which are also in /openapi.json. */
export const LANGUAGES: Record<string, string> = {
  "": "CQL2, text or JSON",
  eventbridge: "EventBridge pattern",
  sigma: "Sigma rule",
  mongodb: "MongoDB query",
  elasticsearch: "Elasticsearch query",
  jsonlogic: "JSON Logic",
  "json-rules-engine": "json-rules-engine",
  sql: "SQL, a WHERE clause",
};

/** An instant as a field of the browser takes it, in the time zone of the browser. */
export function local(time: string | undefined): string {
  if (!time) return "";
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

const written = (value: Json | undefined) => (value === undefined ? "" : pretty(value));

export function draftOf(one: Subscription | null, fresh: Partial<Draft>): Draft {
  if (!one) return { ...NEW, ...fresh };
  return {
    id: String(one.id),
    where: typeof one.where === "string" ? one.where : pretty(one.where),
    language: one.language ?? "",
    destination: one.destination ?? "",
    fence: one.fence ?? "",
    score: one.score === undefined || one.score === 1 ? "" : String(one.score),
    weights: written(one.weights),
    throttle_s: one.throttle_s === undefined ? "" : String(one.throttle_s),
    paused_until: local(one.paused_until),
    expires_at: local(one.expires_at),
    payload: written(one.payload),
  };
}

/** JSON of a field; a mistake says which field has it. */
function jsonOf(text: string, field: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(`${field} is not JSON: ${(error as Error).message}`);
  }
}

/** What is saved: members that the form does not show stay as they are. */
export function recordOf(draft: Draft, before: Subscription | null): Record<string, unknown> {
  const { id: _, sequence: __, ...kept } = before ?? ({} as Partial<Subscription>);
  const record: Record<string, unknown> = { ...kept, where: conditionOf(draft.where, draft.language) };
  const set = (name: keyof Draft, value: (text: string) => unknown) => {
    if (draft[name].trim()) record[name] = value(draft[name]);
    else delete record[name];
  };
  // A field has no milliseconds, so an instant that nobody touched is saved as it was.
  const instant = (name: "paused_until" | "expires_at") => set(name, (text) => (text === local(before?.[name]) ? before?.[name] : new Date(text).toISOString()));
  for (const name of ["language", "destination", "fence"] as const) set(name, (text) => text);
  set("score", Number);
  set("throttle_s", Number);
  set("weights", (text) => jsonOf(text, "The weights"));
  set("payload", (text) => jsonOf(text, "The payload"));
  instant("paused_until");
  instant("expires_at");
  return record;
}

export interface Fence {
  name: string;
  key: string;
}

/** What a form can choose from. */
export interface Choices {
  destinations: Destination[];
  fences: Fence[];
}
