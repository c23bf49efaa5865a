/** The service's metrics, polled for as long as somebody looks: rates and latencies of the last minutes. */
import { signal } from "@preact/signals";
import { Failure, answer, told } from "./api";

const EVERY_MS = 2000;
const KEPT = 450; // a quarter of an hour
const SAMPLE = /^([a-z_]+?)(?:\{(.*)\})? (\S+)$/;

interface Scrape {
  time: number;
  values: Map<string, number>;
  buckets: { bound: number; count: number }[];
}

/** Columns of equal length: seconds since 1970, events/s, matches/s, and the latencies of publishing in seconds. */
export interface History {
  times: number[];
  events: number[];
  matches: number[];
  half: (number | null)[];
  most: (number | null)[];
}

export interface Now {
  events: number;
  matches: number;
  deliveries: number;
  half: number | null;
  most: number | null;
  values: Map<string, number>;
}

export const history = signal<History>({ times: [], events: [], matches: [], half: [], most: [] });
export const now = signal<Now | null>(null);
export const trouble = signal("");

let before: Scrape | null = null;
let watchers = 0;
let timer = 0;

/** The samples of the token's own tenant: an operator of the default tenant gets those of others with a label. */
export function parsed(text: string, time: number): Scrape {
  const values = new Map<string, number>();
  const buckets: Scrape["buckets"] = [];
  for (const row of text.split("\n")) {
    const found = row.charAt(0) === "#" ? null : SAMPLE.exec(row);
    if (!found) continue;
    const [, name = "", labels = "", value = "0"] = found;
    if (labels.includes("tenant=")) continue;
    if (name === "tocsin_publish_seconds_bucket") {
      const bound = /le="([^"]+)"/.exec(labels)?.[1] ?? "+Inf";
      buckets.push({ bound: bound === "+Inf" ? Infinity : Number(bound), count: Number(value) });
    } else if (!labels) values.set(name, Number(value));
  }
  return { time, values, buckets };
}

/** The quantile of what came between two scrapes, straight within a bucket as Prometheus does it. */
export function quantile(share: number, last: Scrape["buckets"], first: Scrape["buckets"]): number | null {
  const counts = last.map((one, place) => one.count - (first[place]?.count ?? 0));
  const all = counts.at(-1) ?? 0;
  if (all <= 0) return null;
  const rank = share * all;
  const place = counts.findIndex((count) => count >= rank);
  const low = place > 0 ? last[place - 1]!.bound : 0;
  const under = place > 0 ? counts[place - 1]! : 0;
  const high = last[place]!.bound;
  if (high === Infinity) return low;
  const own = counts[place]! - under;
  return own > 0 ? low + (high - low) * ((rank - under) / own) : high;
}

function take(scrape: Scrape): void {
  const earlier = before;
  before = scrape;
  if (!earlier) return;
  const seconds = (scrape.time - earlier.time) / 1000;
  const per = (name: string) => {
    const more = (scrape.values.get(name) ?? 0) - (earlier.values.get(name) ?? 0);
    return more < 0 || seconds <= 0 ? 0 : more / seconds; // less than before: the server was started again
  };
  const half = quantile(0.5, scrape.buckets, earlier.buckets);
  const most = quantile(0.99, scrape.buckets, earlier.buckets);
  const events = per("tocsin_events_total");
  const matches = per("tocsin_matches_total");
  now.value = { events, matches, deliveries: per("tocsin_deliveries_total"), half, most, values: scrape.values };
  const old = history.value;
  const added = <T>(column: T[], value: T) => [...column.slice(-KEPT + 1), value];
  history.value = {
    times: added(old.times, Math.round(scrape.time / 1000)),
    events: added(old.events, events),
    matches: added(old.matches, matches),
    half: added(old.half, half),
    most: added(old.most, most),
  };
}

async function poll(): Promise<void> {
  try {
    const response = await answer("GET", "/metrics");
    take(parsed(await response.text(), Date.now()));
    trouble.value = "";
  } catch (error) {
    before = null;
    if (error instanceof Failure && error.status !== 0) trouble.value = told(error);
  }
  timer = watchers > 0 ? window.setTimeout(poll, EVERY_MS) : 0;
}

/** Poll until the returned function is called. Earlier values are kept. */
export function watch(): () => void {
  watchers += 1;
  if (!timer) {
    timer = -1;
    void poll();
  }
  return () => {
    watchers -= 1;
  };
}
