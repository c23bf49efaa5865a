/** What a subscription does, in words, and why nothing was sent for an event. */
import { useState } from "preact/hooks";
import { get, part, post, told } from "../api";
import type { Json, Subscription } from "../documents";
import { ago, date, instant, moment, plural, sentence, whole } from "../format";
import { usePolled } from "../polling";
import { address } from "../route";
import { Badge, Button, type Tone, Field, Note } from "../ui/basic";
import { type Explained, Tree } from "../ui/explanation";
import { JsonView } from "../ui/json";
import { conditionOf } from "./checking";

interface Changed {
  time: string;
  method: string;
  token?: string;
}
interface Told {
  sequence: number;
  published: string;
  matches: number;
  event: Json;
  outcome: string;
  reason: string;
  changed_since: boolean;
  delivery?: { destination: string; sequence: number };
  explanation?: Explained;
}
export interface Diagnosis {
  id: string | number;
  state: "active" | "paused" | "expired" | "no-destination" | "deleted";
  changed?: Changed;
  since: string;
  matches: number;
  last_match?: string;
  last_told?: string;
  event?: Told;
}

const pathOf = (id: string | number) => `/v1/subscriptions/${part(String(id))}/diagnosis`;
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;
const WORDS: Record<string, [Tone, string]> = {
  delivered: ["well", "delivered"],
  waiting: ["wait", "waiting"],
  "dead-letter": ["fail", "dead letter"],
  "destination-deleted": ["fail", "destination deleted"],
  "no-match": ["", "no match"],
  "no-change": ["", "no change"],
  "no-destination": ["wait", "no destination"],
  paused: ["wait", "paused"],
  expired: ["fail", "expired"],
  throttled: ["wait", "throttled"],
  deleted: ["fail", "deleted"],
  unknown: ["", "not clear"],
};

/** A state as a badge; nothing for a subscription that does what it should. */
export function StateBadge({ one }: { one: Subscription }) {
  const isAfter = (time: string | undefined) => time !== undefined && new Date(time) > new Date();
  if (one.expires_at && !isAfter(one.expires_at)) return <Badge tone="fail">expired</Badge>;
  if (isAfter(one.paused_until)) return <Badge tone="wait">{`paused until ${date(one.paused_until!)}`}</Badge>;
  if (one.expires_at) return <Badge>{`expires ${date(one.expires_at)}`}</Badge>;
  return null;
}

function who({ time, method, token }: Changed): string {
  const what = method === "DELETE" ? "deleted" : "last changed";
  return `${what} ${ago(time)}${token ? ` by token “${token}”` : ""}`;
}

function sentenceOf(one: Subscription, found: Diagnosis): string {
  const parts = {
    active: "Active",
    paused: `Paused until ${date(one.paused_until ?? "")}`,
    expired: `Expired at ${date(one.expires_at ?? "")}, and is deleted soon`,
    "no-destination": "Without a destination: matches are only counted",
    deleted: "Deleted",
  };
  return parts[found.state] + (found.changed ? `, ${who(found.changed)}.` : ".");
}

/** The state in words: until when, by whom it was changed, and when it matched last. */
export function StateInWords({ one }: { one: Subscription }) {
  const found = usePolled((signal) => get<Diagnosis>(pathOf(one.id), signal), 10_000, [one.id, one.sequence]);
  if (found.error) return <Note tone="fail">{found.error}</Note>;
  if (!found.value) return null;
  const { value } = found;
  const isWell = value.state === "active";
  return (
    <div aria-label="The state" role="group">
      <Note tone={isWell ? "well" : "wait"}>
        {sentenceOf(one, value)}
        <p>
          {value.last_match ? `${plural(value.matches, "match", "matches")} since the server started, the last ${ago(value.last_match)}.` : `No match since the server started ${ago(value.since)}.`}
          {value.last_told && ` Told last ${ago(value.last_told)}, because of its throttle.`}
        </p>
      </Note>
    </div>
  );
}

function Verdict({ found }: { found: Told }) {
  const [tone, word] = WORDS[found.outcome] ?? ["", found.outcome];
  const reason = found.reason.replace(TIME, (time) => instant(time));
  return (
    <div class="grid verdict" aria-label="The outcome" role="group">
      <div class="row wrap">
        <Badge tone={tone}>{word}</Badge>
        <strong>Event {whole(found.sequence)}</strong>
        <span class="faint">{moment(found.published)}</span>
        {found.delivery && (
          <a class="link" href={address("deliveries", { destination: found.delivery.destination })}>
            {found.delivery.destination} #{whole(found.delivery.sequence)}
          </a>
        )}
      </div>
      <p>{sentence(reason)}</p>
      {found.changed_since && <Note tone="wait">The subscription was changed after the event. Deliveries are facts; all else here is about the subscription as it is now.</Note>}
      {found.explanation && <Tree text={found.explanation.text} />}
      <details>
        <summary>The event</summary>
        <JsonView value={found.event} label="The event that was looked at" />
      </details>
    </div>
  );
}

interface Example {
  sequence: number;
  published: string;
  event: unknown;
}

/** Events to ask about: by their number, or the last ones that satisfy a condition. */
export function WhyNothing({ one, where, language }: { one: Subscription; where: string; language: string }) {
  const [condition, setCondition] = useState("");
  const [number, setNumber] = useState("");
  const [examples, setExamples] = useState<Example[] | null>(null);
  const [found, setFound] = useState<Told | null>(null);
  const [error, setError] = useState("");
  const attempt = async (run: () => Promise<void>) => {
    try {
      await run();
      setError("");
    } catch (failure) {
      setError(told(failure));
    }
  };
  const look = (sequence: number) =>
    attempt(async () => {
      const answer = await get<Diagnosis>(`${pathOf(one.id)}?event=${sequence}`);
      setFound(answer.event ?? null);
    });
  const search = () =>
    attempt(async () => {
      const asked = condition.trim() ? { where: conditionOf(condition) } : { where: conditionOf(where, language), ...(language && { language }) };
      setFound(null);
      setExamples((await post<{ examples: Example[] }>("/v1/dry-run", asked)).examples);
    });
  return (
    <details class="why">
      <summary>Why was nothing sent?</summary>
      <div class="grid">
        <form
          class="row wrap ends-low"
          onSubmit={(event) => {
            event.preventDefault();
            if (/^[1-9]\d*$/.test(number)) void look(Number(number));
            else void search();
          }}
        >
          <Field label="Events that satisfy">
            <input class="input mono" placeholder="the condition above" value={condition} onInput={(event) => setCondition(event.currentTarget.value)} />
          </Field>
          <Field label="or the number of an event">
            <input class="input num number" inputMode="numeric" pattern="[0-9]*" value={number} onInput={(event) => setNumber(event.currentTarget.value)} />
          </Field>
          <Button type="submit" icon="search">
            Look
          </Button>
        </form>
        {error && <Note tone="fail">{error}</Note>}
        {examples?.length === 0 && <Note>No event that is kept satisfies it. Try a condition that is less strict, such as one attribute of the event.</Note>}
        {examples && examples.length > 0 && (
          <ul class="lasts" aria-label="Events, the newest first">
            {examples.map((example) => (
              <li key={example.sequence}>
                <button type="button" aria-pressed={found?.sequence === example.sequence} onClick={() => void look(example.sequence)}>
                  <span class="num faint">#{whole(example.sequence)}</span>
                  <span class="dot" />
                  <span class="num faint">{moment(example.published)}</span>
                  <span class="what mono">{JSON.stringify(example.event)}</span>
                </button>
              </li>
            ))}
          </ul>
        )}
        {found && <Verdict found={found} />}
      </div>
    </details>
  );
}
