/** Windows: the best recent messages of subscriptions, as their lists change. */
import { useEffect, useState } from "preact/hooks";
import { Failure, get, part, told } from "../api";
import type { Delivery, Json } from "../documents";
import { plural, whole } from "../format";
import { usePolled } from "../polling";
import { go, place } from "../route";
import { kept } from "../stored";
import { listen, start } from "../tail/tail";
import { Badge, Button, Code, Empty, Head, Note } from "../ui/basic";

interface Window {
  name: string;
  size?: number;
  time?: number;
  messages: number;
  next: number;
  subscriptions: number;
}
interface Result {
  message: Json;
  score: number;
}

const EVERY_MS = 1500;
const MOST = 24;
const FIRST = 6;
/** The subscriptions that are watched, by window. */
const watched = kept<Record<string, string[]>>("windows.watched", {});

const named = (message: Json) => (typeof message === "object" ? JSON.stringify(message) : String(message));

/** A list, with what came since the last look. */
function List({ window, id, forget }: { window: string; id: string; forget: () => void }) {
  const path = `/v1/windows/${part(window)}/results/${part(id)}`;
  const found = usePolled((signal) => get<{ results: Result[] }>(path, signal), EVERY_MS, [path]);
  const [known, setKnown] = useState<{ now: Set<string>; fresh: Set<string> } | null>(null);
  const results = found.value?.results;
  useEffect(() => {
    if (!results) return;
    const now = new Set(results.map((one) => named(one.message)));
    setKnown((before) => ({ now, fresh: new Set(before ? [...now].filter((one) => !before.now.has(one)) : []) }));
  }, [results]);
  const most = Math.max(...(results ?? []).map((one) => one.score), 1e-9);
  return (
    <section class="card top" aria-label={`The list of ${id}`}>
      <header>
        <h2 class="clip-line">{id}</h2>
        <span class="push" />
        {results && <Badge>{results.length}</Badge>}
        <Button small kind="plain" icon="close" label={`Do not watch ${id}`} onClick={forget} />
      </header>
      {found.error && (
        <div class="pad">
          <Note tone="fail">{found.error}</Note>
        </div>
      )}
      {results?.length === 0 && <p class="pad faint">No message of the window has one of its words.</p>}
      <ol>
        {results?.map((one, at) => {
          const name = named(one.message);
          return (
            <li key={`${at} ${name}`} class={known?.fresh.has(name) ? "fresh" : ""}>
              <span class="faint num">{at + 1}</span>
              <span class="clip-line mono">{name}</span>
              <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                <rect width={(one.score / most) * 100} height="4" />
              </svg>
              <span class="num">{one.score.toFixed(3)}</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

/** Subscriptions whose lists were told to have changed, on any destination. */
function useHeard(window: string): string[] {
  const [heard, setHeard] = useState<string[]>([]);
  useEffect(() => {
    setHeard([]);
    start();
    return listen((deliveries: Delivery[]) => {
      const ids = deliveries.filter((one) => one.event["window"] === window && one.event["message"] !== undefined).flatMap((one) => one.subscriptions.map((match) => String(match.id)));
      if (ids.length > 0) setHeard((before) => [...new Set([...before, ...ids])].slice(0, MOST));
    });
  }, [window]);
  return heard;
}

/** The first subscriptions of a window: they are offered, and watched until somebody chose others. */
function useKnown(window: string): string[] {
  const path = `/v1/windows/${part(window)}/subscriptions?limit=100`;
  const found = usePolled((signal) => get<{ subscriptions: { id: string }[] }>(path, signal), 10_000, [path]);
  return (found.value?.subscriptions ?? []).map((one) => String(one.id));
}

function Lists({ one }: { one: Window }) {
  const known = useKnown(one.name);
  const [id, setId] = useState("");
  const [error, setError] = useState("");
  const mine = watched.value[one.name] ?? known.slice(0, FIRST);
  const heard = useHeard(one.name).filter((other) => !mine.includes(other));
  const set = (ids: string[]) => (watched.value = { ...watched.value, [one.name]: ids.slice(0, MOST) });
  const add = async (added: string) => {
    try {
      await get(`/v1/windows/${part(one.name)}/results/${part(added)}`);
      set([...mine.filter((other) => other !== added), added]);
      setId("");
      setError("");
    } catch (failure) {
      setError(failure instanceof Failure && failure.status === 404 ? `The window ${one.name} has no subscription ${added}.` : told(failure));
    }
  };
  return (
    <>
      <form
        class="tools"
        onSubmit={(event) => {
          event.preventDefault();
          if (id.trim()) void add(id.trim());
        }}
      >
        <input class="input search mono" aria-label="Subscription to watch" placeholder="Id of a subscription" list="known" value={id} onInput={(event) => setId(event.currentTarget.value)} />
        <datalist id="known">
          {known.filter((other) => !mine.includes(other)).map((other) => (
            <option key={other} value={other} />
          ))}
        </datalist>
        <Button type="submit" disabled={!id.trim() || mine.length >= MOST}>
          Watch
        </Button>
        <span class="dim num">
          {plural(one.messages, "message")} of {whole(one.next)}, {plural(one.subscriptions, "subscription")}
        </span>
      </form>
      {error && <Note tone="fail">{error}</Note>}
      {heard.length > 0 && (
        <div class="row wrap tools">
          <span class="dim">Changed just now:</span>
          {heard.map((other) => (
            <Button small key={other} onClick={() => void add(other)}>
              {other}
            </Button>
          ))}
        </div>
      )}
      {mine.length === 0 ? (
        <Empty icon="windows" title="No list is watched">
          <p>Type the id of a subscription of this window. Its best messages stand here, the best first, and change as messages come and go.</p>
        </Empty>
      ) : (
        <div class="tops">
          {mine.map((other) => (
            <List key={other} window={one.name} id={other} forget={() => set(mine.filter((own) => own !== other))} />
          ))}
        </div>
      )}
    </>
  );
}

export function Windows() {
  const found = usePolled((signal) => get<{ windows: Window[] }>("/v1/windows?limit=1000", signal), 2000);
  const asked = place.value.options.get("window");
  const windows = found.value?.windows ?? [];
  const one = windows.find((other) => other.name === asked) ?? windows[0];
  return (
    <>
      <Head title="Windows" about="The best recent messages of each subscription">
        {windows.length > 1 && (
          <select class="select" aria-label="Window" value={one?.name} onChange={(event) => go("windows", { window: event.currentTarget.value })}>
            {windows.map((other) => (
              <option key={other.name}>{other.name}</option>
            ))}
          </select>
        )}
      </Head>
      <div class="body">
        {found.error && <Note tone="fail">{found.error}</Note>}
        {found.value && windows.length === 0 && (
          <Empty icon="windows" title="No window yet">
            <p>A window keeps the last messages, and for each subscription the best of them by words and distance.</p>
            <Code>{`curl -X PUT ${location.origin}/v1/windows/news --json '{"size": 1000, "bounds": [-180, -90, 180, 90]}'`}</Code>
          </Empty>
        )}
        {one && <Lists key={one.name} one={one} />}
      </div>
    </>
  );
}
