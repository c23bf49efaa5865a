/** Live: matches as they happen. It follows all destinations, shows a sample, and says so. */
import { computed } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { may } from "../api";
import type { Delivery } from "../documents";
import { attributes, clock, plural, rate, whole } from "../format";
import { useShortcuts } from "../keys";
import { place } from "../route";
import { kept } from "../stored";
import { count, followed, leftOut, notices, problem, start, state } from "../tail/tail";
import { EVERYTHING, type Filter, choose, filter, flow, isPaused, rows, sample } from "../tail/sample";
import { Badge, Button, Code, Empty, Head, Note } from "../ui/basic";
import { type Saved, SavedFilters } from "../ui/filters";
import { DeliveryPanel } from "./delivery";

const saved = kept<Saved<Filter>[]>("live.filters", []);
/** The attributes that are shown as columns; none: each event as it is. */
const columns = kept<string[]>("live.columns", []);
const isSet = computed(() => Object.values(filter.value).some(Boolean));

function Sampled() {
  const { passed, shown } = flow.value;
  if (state.value === "off") return null;
  if (state.value === "lost") return <Badge tone="wait">Connection lost. The place is kept.</Badge>;
  if (state.value === "connecting") return <Badge>Connecting</Badge>;
  const isWhole = passed - shown < 0.5;
  return (
    <>
      <Badge tone="well">
        <i class="dot well pulse" />
        Live
      </Badge>
      <span class="dim num">
        {isPaused.value
          ? `Paused. ${rate(passed)} deliveries a second pass by.`
          : isWhole
            ? `Every delivery is shown: ${rate(passed)} a second.`
            : `A sample is shown: ${rate(shown)} of ${rate(passed)} deliveries a second.`}
      </span>
    </>
  );
}

function Filters() {
  const set = (part: Partial<Filter>) => choose({ ...filter.value, ...part });
  const asked = filter.value;
  return (
    <div class="tools">
      <select class="select" aria-label="Destination" value={asked.destination} onChange={(event) => set({ destination: event.currentTarget.value })}>
        <option value="">All destinations</option>
        {followed.value.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <input class="input" aria-label="Subscription" placeholder="Subscription" value={asked.subscription} onInput={(event) => set({ subscription: event.currentTarget.value })} />
      <input class="input" id="search" aria-label="Text in the event" placeholder="Text in the event  /" value={asked.text} onInput={(event) => set({ text: event.currentTarget.value })} />
      {isSet.value && (
        <Button kind="plain" onClick={() => choose(EVERYTHING)}>
          Clear
        </Button>
      )}
      <SavedFilters saved={saved} current={asked} isSet={isSet.value} use={choose} />
    </div>
  );
}

export function Attributes({ event }: { event: Delivery["event"] }) {
  return (
    <span class="what mono">
      {attributes(event).map(([name, value]) => (
        <span key={name}>
          <i>{name}</i> {value}
        </span>
      ))}
    </span>
  );
}

const MOST_COLUMNS = 6;

/** Which attributes are columns: those of the rows that are shown, and those that were chosen before. */
function Columns() {
  const names = [...new Set([...columns.value, ...rows.value.slice(0, 50).flatMap((one) => Object.keys(one.event))])].slice(0, 60);
  const turn = (name: string) => (columns.value = columns.value.includes(name) ? columns.value.filter((one) => one !== name) : [...columns.value, name]);
  return (
    <details class="menu">
      <summary class="button">Columns{columns.value.length > 0 && ` (${columns.value.length})`}</summary>
      <div class="card" role="group" aria-label="Attributes as columns">
        {names.length === 0 && <p class="faint">The attributes of the first matches are listed here.</p>}
        {names.map((name) => (
          <label key={name} class="row">
            <input type="checkbox" checked={columns.value.includes(name)} disabled={!columns.value.includes(name) && columns.value.length >= MOST_COLUMNS} onChange={() => turn(name)} />
            <span class="mono clip-line">{name}</span>
          </label>
        ))}
        {columns.value.length > 0 && (
          <Button small kind="plain" onClick={() => (columns.value = [])}>
            Show all of each event
          </Button>
        )}
      </div>
    </details>
  );
}

function Cells({ event }: { event: Delivery["event"] }) {
  return (
    <span class="what cells mono">
      {columns.value.map((name) => {
        const value = event[name];
        return (
          <span key={name} class={value === undefined ? "faint" : ""}>
            <i>{name}</i> {value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value)}
          </span>
        );
      })}
    </span>
  );
}

/** The names of the columns, above the list. */
function Heading() {
  return (
    <div class="ring-row heading" aria-hidden="true">
      <span>Time</span>
      <span>Destination</span>
      <span>Subscription</span>
      <span class="what cells">
        {columns.value.map((name) => (
          <span key={name} class="mono">
            {name}
          </span>
        ))}
      </span>
    </div>
  );
}

function Row({ one, isChosen, pick }: { one: Delivery; isChosen: boolean; pick: (one: Delivery) => void }) {
  const first = one.subscriptions[0];
  const more = (one.count ?? one.subscriptions.length) - 1;
  return (
    <li>
      <button type="button" class="ring-row" aria-pressed={isChosen} onClick={() => pick(one)}>
        <time class="faint num">{clock(one.published)}</time>
        <span class="badge">{one.destination}</span>
        <span class="who mono">
          {first ? String(first.id) : "no subscription"}
          {more > 0 && <i class="faint"> +{whole(more)}</i>}
        </span>
        {columns.value.length > 0 ? <Cells event={one.event} /> : <Attributes event={one.event} />}
      </button>
    </li>
  );
}

function Nothing() {
  if (!may("read")) return <Empty icon="key" title="Live needs the scope read"><p>Log in with a token that may read deliveries.</p></Empty>;
  if (problem.value) return <Note tone="fail">{problem.value}</Note>;
  if (isSet.value)
    return (
      <Empty icon="search" title="Nothing passes the filter yet">
        <p>{whole(count.value.deliveries)} deliveries came since this page was opened.</p>
        <Button onClick={() => choose(EVERYTHING)}>Clear the filter</Button>
      </Empty>
    );
  if (followed.value.length === 0 && state.value !== "live") return null;
  if (followed.value.length === 0)
    return (
      <Empty icon="live" title="No destination to follow">
        <p>Matches are delivered to a destination. Make one in Deliveries, and name it in a subscription.</p>
      </Empty>
    );
  return (
    <Empty icon="live" title="Waiting for the first match">
      <p>Events that match a subscription with a destination are shown here. Press <kbd>p</kbd> to publish one by hand, or:</p>
      <Code>{`curl ${location.origin}/v1/events --json '{"model": "iphone5s", "price": 550}'`}</Code>
    </Empty>
  );
}

function Notices() {
  return (
    <>
      {notices.value.slice(0, 3).map((one) => (
        <Note tone={one.tone} key={one.time + one.text}>
          <span class="num">{clock(one.time)}</span> {one.text}
        </Note>
      ))}
    </>
  );
}

export function Live() {
  const [chosen, setChosen] = useState<Delivery | null>(null);
  useEffect(() => {
    start();
    sample();
    const asked = place.value.options;
    if (asked.size > 0) choose({ ...EVERYTHING, destination: asked.get("destination") ?? "", subscription: asked.get("subscription") ?? "" });
  }, []);
  const step = (by: number) => {
    const at = rows.value.findIndex((one) => one.key === chosen?.key);
    setChosen(rows.value[Math.max(0, at + by)] ?? chosen);
  };
  useShortcuts([
    { key: "Space", about: "Pause, or go on", run: () => (isPaused.value = !isPaused.value) },
    { key: "j", about: "Next row", run: () => step(1) },
    { key: "k", about: "Row before", run: () => step(-1) },
    { key: "/", about: "Search", run: () => document.getElementById("search")?.focus() },
    { key: "Escape", about: "Close the panel", run: () => setChosen(null) },
  ]);
  return (
    <>
      <Head title="Live" about="Matches as they happen">
        <Columns />
        <Button icon={isPaused.value ? "play" : "pause"} aria-pressed={isPaused.value} onClick={() => (isPaused.value = !isPaused.value)}>
          {isPaused.value ? "Go on" : "Pause"}
        </Button>
      </Head>
      <div class="body fixed">
        <Filters />
        <div class="row status-line">
          <Sampled />
          <span class="push faint num">
            {plural(count.value.deliveries, "delivery", "deliveries")} followed, {count.value.unbroken < count.value.deliveries ? `${whole(count.value.unbroken)} since the last gap` : "no gap"}
            {leftOut.value > 0 && `; ${leftOut.value} destinations are not followed`}
          </span>
        </div>
        <Notices />
        <div class="card split live">
          <div class="main">
            {rows.value.length === 0 ? (
              <Nothing />
            ) : (
              <>
              {columns.value.length > 0 && <Heading />}
              <ul class="ring-list" aria-label="Deliveries, the newest first">
                {rows.value.map((one) => (
                  <Row key={one.key} one={one} isChosen={one.key === chosen?.key} pick={setChosen} />
                ))}
              </ul>
              </>
            )}
          </div>
          {chosen && <DeliveryPanel one={chosen} close={() => setChosen(null)} />}
        </div>
      </div>
    </>
  );
}
