/** The panel of a destination: its cursor, its last deliveries, its attempts and its dead letters. */
import { useEffect, useState } from "preact/hooks";
import { Failure, get, may, part, post, told } from "../api";
import { type Delivery, type Destination, backlog, isSent } from "../documents";
import { ago, clock, date, duration, moment, plural, since, whole } from "../format";
import { usePolled } from "../polling";
import { Badge, Button, Empty, Note } from "../ui/basic";
import { JsonView } from "../ui/json";
import { say } from "../ui/toasts";
import { Attributes } from "./live";
import { State } from "./overview";

interface Letter {
  sequence: number;
  key: string;
  cause: string;
  reason?: string;
  status?: number | null;
  attempts?: number;
  since?: string;
  delivery: Delivery | null;
}

interface Attempt {
  number: number;
  time: string;
  sequence?: number;
  last?: number;
  attempt: number;
  outcome: "delivered" | "failed" | "refused" | "gone";
  status?: number;
  reason?: string;
  duration_ms: number;
}

const SHOWN = 30;
const CAUSES: Record<string, string> = {
  refused: "every try failed, and the endpoint refused it",
  "set-aside": "the endpoint refused it, and others waited",
  attempts: "every try failed",
  overflow: "the outbox was full",
  expired: "retention deleted the event",
};

function Cursor({ one }: { one: Destination }) {
  const all = Math.max(one.newest - one.earliest + 1, 1);
  const done = Math.max(one.acknowledged - one.earliest + 1, 0);
  return (
    <div class="grid">
      <svg class={`bar tall ${one.state === "disabled" ? "fail" : "well"}`} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect width={(done / all) * 100} height="4" />
      </svg>
      <dl class="facts num">
        <div>
          <dt>Earliest kept</dt>
          <dd>{whole(one.earliest)}</dd>
        </div>
        <div>
          <dt>Cursor</dt>
          <dd>{whole(one.acknowledged)}</dd>
        </div>
        <div>
          <dt>Newest</dt>
          <dd>{whole(one.newest)}</dd>
        </div>
        <div>
          <dt>{isSent(one) ? "Waiting" : "Lag"}</dt>
          <dd>{whole(backlog(one))}</dd>
        </div>
      </dl>
    </div>
  );
}

/** The options that are set, and the times that the service knows, in words. */
function Options({ one }: { one: Destination }) {
  const rows: [string, string | undefined][] = [
    ["Order", one.order],
    ["At most", one.rate_per_s === undefined ? undefined : `${one.rate_per_s} requests a second`],
    ["Digest of", one.digest_s === undefined ? undefined : duration(one.digest_s)],
    ["Attempts", one.max_attempts === undefined ? undefined : `at most ${one.max_attempts}`],
    ["Set aside after", one.set_aside_after === undefined ? undefined : plural(one.set_aside_after, "refusal")],
    ["When full", one.on_full],
    ["Failures are told to", one.failures_to],
    ["Template", one.template && Object.keys(one.template).join(", ")],
    ["Template failed", one.template_error],
    ["Private addresses", one.allow_private ? "allowed" : undefined],
    ["Named parts", one.named ? "are told" : undefined],
    ["Paused until", one.paused_until && date(one.paused_until)],
    ["Next try", one.next_try && next(one.next_try)],
  ];
  const set = rows.filter(([, text]) => text !== undefined);
  if (set.length === 0) return null;
  return (
    <dl class="options" aria-label="Options">
      {set.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function next(time: string): string {
  const seconds = (new Date(time).getTime() - Date.now()) / 1000;
  return seconds < 1 ? "now" : `in ${duration(seconds).replace(/\.\d/, "")}, at ${clock(time)}`;
}

function Health({ one, act }: { one: Destination; act: (what: string, run: () => Promise<unknown>) => void }) {
  if (!one.state || one.state === "well") return null; // which the console calls healthy
  const begun = one.failing_since ? ` It has been failing for ${duration(since(one.failing_since))}.` : "";
  return (
    <Note tone={one.state === "disabled" ? "fail" : "wait"}>
      {one.state === "disabled" ? "Nothing is sent any more; what comes waits in the outbox." : `The last request failed; the service tries again ${one.next_try ? next(one.next_try) : "by itself"}.`}
      {one.reason && ` The endpoint: ${one.reason}.`}
      {begun}
      {may("subscribe") && (
        <p>
          <Button small onClick={() => act(`${one.id} is sent to again.`, () => post(`/v1/destinations/${part(one.id)}/enable`))}>
            Try again now
          </Button>
        </p>
      )}
    </Note>
  );
}

function Letters({ one, changed }: { one: Destination; changed: () => void }) {
  const path = `/v1/destinations/${part(one.id)}/dead-letters`;
  const found = usePolled((signal) => get<{ dead_letters: Letter[]; next?: number }>(`${path}?limit=100`, signal), 4000, [one.id]);
  const letters = found.value?.dead_letters ?? [];
  const retry = async (some: Letter[]) => {
    let failed = "";
    let sent = 0;
    for (const letter of some)
      try {
        await post(`${path}/${letter.sequence}/retry`);
        sent += 1;
      } catch (failure) {
        failed = told(failure);
      }
    if (sent > 0) say(`${plural(sent, "dead letter is", "dead letters are")} sent again.`);
    if (failed) say(failed, "fail");
    found.again();
    changed();
  };
  if (found.error) return <Note tone="fail">{found.error}</Note>;
  if (letters.length === 0)
    return (
      <Empty icon="check" title="No dead letters">
        <p>What was given up stands here, with the reason, and can be sent again.</p>
      </Empty>
    );
  return (
    <>
      <div class="row">
        <h3>{found.value?.next === undefined ? plural(letters.length, "dead letter") : `The first ${letters.length} dead letters`}</h3>
        <span class="push" />
        {may("subscribe") && (
          <Button small icon="retry" onClick={() => void retry(letters.filter((letter) => letter.delivery))}>
            Retry all
          </Button>
        )}
      </div>
      <ul class="letters" aria-label="Dead letters">
        {letters.map((letter) => (
          <li key={letter.sequence}>
            <details>
              <summary>
                <span class="num">#{whole(letter.sequence)}</span>
                <Badge tone="fail">{letter.reason || letter.cause}</Badge>
                <span class="faint">{letter.since && ago(letter.since)}</span>
              </summary>
              <div class="grid">
                <p class="dim">
                  {CAUSES[letter.cause] ?? letter.cause}, after {plural(letter.attempts ?? 0, "try", "tries")}
                </p>
                {letter.delivery ? <JsonView value={letter.delivery.event} label={`Event of dead letter ${letter.sequence}`} /> : <p class="faint">Retention has deleted the event; it cannot be sent again.</p>}
              </div>
            </details>
            {may("subscribe") && letter.delivery && (
              <Button small icon="retry" aria-label={`Retry dead letter ${letter.sequence}`} onClick={() => void retry([letter])}>
                Retry
              </Button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

/** The deliveries of an attempt by their numbers; a test has none. */
function numbers(one: Attempt): string {
  if (one.sequence === undefined) return "test";
  return one.last === one.sequence ? `#${whole(one.sequence)}` : `#${whole(one.sequence)}–${whole(one.last ?? one.sequence)}`;
}

function Attempts({ one }: { one: Destination }) {
  const path = `/v1/destinations/${part(one.id)}`;
  const found = usePolled((signal) => get<{ attempts: Attempt[] }>(`${path}/attempts?limit=100`, signal), 2000, [one.id]);
  const test = async () => {
    try {
      const made = await post<Attempt>(`${path}/test`);
      const isDelivered = made.outcome === "delivered";
      say(isDelivered ? `The endpoint took the test, with HTTP ${made.status}.` : `The test failed: ${made.reason}`, isDelivered ? undefined : "fail");
    } catch (failure) {
      say(told(failure), "fail");
    }
    found.again();
  };
  if (found.error) return <Note tone="fail">{found.error}</Note>;
  const attempts = found.value?.attempts ?? [];
  return (
    <>
      <div class="row">
        <h3>{attempts.length === 0 ? "No attempts yet" : `The last ${plural(attempts.length, "attempt")}`}</h3>
        <span class="push" />
        {may("subscribe") && (
          <Button small onClick={() => void test()}>
            Send a test
          </Button>
        )}
      </div>
      <ul class="letters" aria-label="Attempts, the latest first">
        {attempts.map((attempt) => (
          <li key={attempt.number}>
            <span class="num">{numbers(attempt)}</span>
            <Badge tone={attempt.outcome === "delivered" ? "well" : "fail"}>{attempt.reason ?? `HTTP ${attempt.status}`}</Badge>
            <span class="faint num">
              {attempt.attempt > 1 && `try ${attempt.attempt}, `}
              {whole(attempt.duration_ms)} ms, {ago(attempt.time)}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The last deliveries. Those that retention deleted meanwhile are asked for from the first one on that is kept. */
async function lastOnes(one: Destination, signal: AbortSignal): Promise<Delivery[]> {
  const path = `/v1/destinations/${part(one.id)}/deliveries?limit=${SHOWN}&after=`;
  const after = Math.max(one.newest - SHOWN, one.earliest - 1, 0);
  try {
    return (await get<{ deliveries: Delivery[] }>(path + after, signal)).deliveries.toReversed();
  } catch (failure) {
    if (failure instanceof Failure && failure.status === 410) return [];
    throw failure;
  }
}

function Last({ one, pick }: { one: Destination; pick: (delivery: Delivery) => void }) {
  const found = usePolled((signal) => lastOnes(one, signal), 0, [one.id, one.newest]);
  if (found.error) return <Note tone="fail">{found.error}</Note>;
  if (found.value?.length === 0)
    return (
      <Empty icon="deliveries" title="No deliveries yet">
        <p>The first event that matches a subscription with this destination stands here.</p>
      </Empty>
    );
  return (
    <ul class="lasts" aria-label="The last deliveries, the newest first">
      {found.value?.map((delivery) => (
        <li key={delivery.sequence}>
          <button type="button" onClick={() => pick(delivery)}>
            <span class="num faint">#{whole(delivery.sequence)}</span>
            <span class={`dot ${delivery.sequence <= one.acknowledged ? "well" : "wait"}`} title={delivery.sequence <= one.acknowledged ? "acknowledged" : "behind the cursor"} />
            <span class="num faint">{moment(delivery.published)}</span>
            <Attributes event={delivery.event} />
          </button>
        </li>
      ))}
    </ul>
  );
}

export function DestinationPanel({ one, close, changed, pick }: { one: Destination; close: () => void; changed: () => void; pick: (delivery: Delivery) => void }) {
  const [tab, setTab] = useState<"last" | "attempts" | "dead">("last");
  const [from, setFrom] = useState("");
  useEffect(() => setFrom(""), [one.id]);
  const act = async (text: string, run: () => Promise<unknown>) => {
    try {
      await run();
      say(text);
    } catch (failure) {
      say(told(failure), "fail");
    }
    changed();
  };
  return (
    <section class="panel wide" aria-label="The destination">
      <header>
        <h2>{one.id}</h2>
        <State one={one} />
        <span class="push" />
        <Button small kind="plain" icon="close" label="Close" onClick={close} />
      </header>
      <div class="scroll">
        {one.url && <p class="mono dim">{one.url}</p>}
        <Cursor one={one} />
        <Options one={one} />
        <Health one={one} act={(text, run) => void act(text, run)} />
        {may("subscribe") && (
          <form
            class="row"
            onSubmit={(event) => {
              event.preventDefault();
              void act(`${one.id} begins again with delivery ${from}.`, () => post(`/v1/destinations/${part(one.id)}/replay`, { from: Number(from) }));
            }}
          >
            <label class="row dim">
              Replay from
              <input class="input num number" inputMode="numeric" pattern="[0-9]+" placeholder={String(one.earliest)} value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
            </label>
            <Button small type="submit" disabled={!/^[1-9]\d*$/.test(from)}>
              Move the cursor back
            </Button>
          </form>
        )}
        {isSent(one) && (
          <div class="tabs" role="group" aria-label="What is shown">
            <button type="button" aria-pressed={tab === "last"} onClick={() => setTab("last")}>
              Last deliveries
            </button>
            <button type="button" aria-pressed={tab === "attempts"} onClick={() => setTab("attempts")}>
              Attempts
            </button>
            <button type="button" aria-pressed={tab === "dead"} onClick={() => setTab("dead")}>
              Dead letters
            </button>
          </div>
        )}
        {!may("read") && <Note>The deliveries themselves need a token with the scope read.</Note>}
        {may("read") && isSent(one) && tab === "dead" && <Letters one={one} changed={changed} />}
        {may("read") && isSent(one) && tab === "attempts" && <Attempts one={one} />}
        {may("read") && (!isSent(one) || tab === "last") && <Last one={one} pick={pick} />}
      </div>
    </section>
  );
}
