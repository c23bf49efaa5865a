/** Explain: paste an event; see which subscriptions match it and why, and which ones miss it narrowly. */
import { useEffect, useState } from "preact/hooks";
import { post, told } from "../api";
import type { Id } from "../documents";
import { plural, pretty } from "../format";
import { address, place } from "../route";
import { kept } from "../stored";
import { Badge, Button, Empty, Head, Note } from "../ui/basic";
import { type Explained, Tree } from "../ui/explanation";
import { eventOf } from "./publish";

interface Told extends Explained {
  id: Id;
}
interface Found {
  matches: Told[];
  near: Told[];
  isMore: boolean;
}

const EXPLAINED = 20; // what the service explains at once
const ASKED = 60;
const NEAR = 10;
/** The last event that was explained: it is stored nowhere, so that it may be filled in. */
const last = kept("explain.last", "");

/** Subscriptions of which most conditions hold, without those that match. */
async function nearMisses(event: unknown, known: Set<Id>): Promise<Told[]> {
  const relaxed = await post<{ matches: { id: Id }[] }>(`/v1/match?relaxed=${ASKED}`, event);
  const others = relaxed.matches.filter((one) => !known.has(one.id));
  const near: Told[] = [];
  for (let first = 0; first < others.length && near.length < NEAR; first += NEAR) {
    const some = others.slice(first, first + NEAR);
    const explained = await Promise.all(some.map((one) => post<Explained>("/v1/explain", { id: one.id, event })));
    explained.forEach((one, at) => !one.matches && near.push({ ...one, id: some[at]!.id }));
  }
  return near.slice(0, NEAR);
}

async function explained(event: unknown, id: string): Promise<Found> {
  if (id) {
    const one = await post<Explained>("/v1/explain", { id, event });
    const list = [{ ...one, id }];
    return one.matches ? { matches: list, near: [], isMore: false } : { matches: [], near: list, isMore: false };
  }
  const { matches } = await post<{ matches: (Told & { text: string })[] }>("/v1/match?explain=true", event);
  const all = matches.map((one) => ({ ...one, matches: true, truth: true }));
  return { matches: all, near: await nearMisses(event, new Set(all.map((one) => one.id))), isMore: all.length === EXPLAINED };
}

function One({ one, isOpen }: { one: Told; isOpen: boolean }) {
  return (
    <details class="card explained" open={isOpen}>
      <summary>
        <Badge tone={one.matches ? "ring" : one.truth === null ? "" : "event"}>{one.matches ? "matches" : one.truth === null ? "unknown" : "misses"}</Badge>
        <code>{String(one.id)}</code>
      </summary>
      <div class="pad grid">
        <Tree text={one.text} />
        <a class="link" href={address("subscriptions", { id: String(one.id) })}>
          Open the subscription
        </a>
      </div>
    </details>
  );
}

function Results({ found }: { found: Found }) {
  const { matches, near, isMore } = found;
  return (
    <div class="grid" aria-live="polite">
      <h2>{matches.length === 0 ? "No subscription matches" : isMore ? `The first ${EXPLAINED} that match` : `${plural(matches.length, "subscription")} ${matches.length === 1 ? "matches" : "match"}`}</h2>
      {matches.map((one, at) => (
        <One key={one.id} one={one} isOpen={at < 3} />
      ))}
      {near.length > 0 && <h2>Nearest misses</h2>}
      {near.map((one, at) => (
        <One key={one.id} one={one} isOpen={at < 3} />
      ))}
      {matches.length + near.length === 0 && <Note>No condition of any subscription holds for this event. Check the names of its attributes: they are compared letter by letter.</Note>}
    </div>
  );
}

/** Anew for each event that a link gives. */
export function Explain() {
  const given = place.value.options.get("event") ?? "";
  return <Page key={given} given={given} />;
}

function Page({ given }: { given: string }) {
  const [text, setText] = useState(() => (given ? pretty(eventOf(given).event ?? {}) : last.value));
  const [id, setId] = useState(place.value.options.get("id") ?? "");
  const [found, setFound] = useState<Found | null>(null);
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    if (given) void run();
  }, []);
  const run = async () => {
    const { event, error: wrong } = eventOf(text);
    setError(wrong);
    if (!event) return;
    setBusy(true);
    try {
      setFound(await explained(event, id.trim()));
      last.value = text;
    } catch (failure) {
      setFound(null);
      setError(told(failure));
    }
    setBusy(false);
  };
  return (
    <>
      <Head title="Explain" about="Why an event matches a subscription, or what it lacks" />
      <div class="body explain">
        <form
          class="grid"
          onSubmit={(event) => {
            event.preventDefault();
            void run();
          }}
        >
          <label class="field">
            <span>Event, as JSON</span>
            <textarea
              class="input area mono"
              rows={14}
              spellcheck={false}
              placeholder={pretty({ model: "iphone5s", price: 550 })}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void run();
              }}
            />
          </label>
          <label class="field">
            <span>Only this subscription</span>
            <input class="input mono" placeholder="all of them" value={id} onInput={(event) => setId(event.currentTarget.value)} />
          </label>
          {error && <Note tone="fail">{error}</Note>}
          <div class="row">
            <Button type="submit" kind="main" disabled={isBusy}>
              {isBusy ? "Explaining…" : "Explain"}
            </Button>
            <span class="faint">
              <kbd>Ctrl</kbd> <kbd>Enter</kbd> &nbsp;Nothing is stored.
            </span>
          </div>
        </form>
        {found ? (
          <Results found={found} />
        ) : (
          <Empty icon="explain" title="Paste an event">
            <p>You see the tree of each subscription that matches: what holds and what was found. Then those that miss it narrowly, with what would make them match.</p>
          </Empty>
        )}
      </div>
    </>
  );
}
