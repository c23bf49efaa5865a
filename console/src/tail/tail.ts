/** The live tail: one stream for all views. It reads every delivery, and remembers a sample of them. */
import { signal } from "@preact/signals";
import { Failure, answer, get, may, session, told } from "../api";
import type { Delivery, Destination } from "../documents";
import { Positions, type Gap } from "./positions";
import { readEvents, type Sent } from "./reader";

const MOST = 32; // destinations on one stream
const LOOK_MS = 5000;
const SOONEST_MS = 400;
const LATEST_MS = 8000;

export type State = "off" | "connecting" | "live" | "lost";

/** What happened to the stream, for people: it was lost and came back, or something is missing. */
export interface Notice {
  time: number;
  text: string;
  tone: "well" | "wait" | "fail";
}

export const state = signal<State>("off");
export const followed = signal<string[]>([]);
export const leftOut = signal(0);
export const notices = signal<Notice[]>([]);
export const problem = signal("");
/** Deliveries since the page was opened, and how many of them in a row without a gap. */
export const count = signal({ deliveries: 0, matches: 0, unbroken: 0 });

type Take = (deliveries: Delivery[]) => void;
const listeners = new Set<Take>();
const positions = new Positions();
let abort: AbortController | null = null;
let isWanted = false;
let lostAt = 0;
let since = 0; // deliveries since it came back

/** Get all deliveries from now on, until the returned function is called. */
export function listen(take: Take): () => void {
  listeners.add(take);
  return () => listeners.delete(take);
}

function notice(text: string, tone: Notice["tone"]): void {
  notices.value = [{ time: Date.now(), text, tone }, ...notices.value].slice(0, 20);
}

/** Begin to follow; called by the first view that needs it. The stream goes on when another view is shown. */
export function start(): void {
  if (isWanted || !may("read")) return;
  isWanted = true;
  state.value = "connecting";
  void run();
  void look();
}

function stop(): void {
  isWanted = false;
  abort?.abort();
  state.value = "off";
}

session.subscribe((who) => {
  if (!who && isWanted) stop();
});

/** The destinations that are followed: the first 32, those with most deliveries before the others. */
async function destinations(): Promise<Destination[]> {
  const { destinations: all } = await get<{ destinations: Destination[] }>("/v1/destinations?limit=1000");
  const known = new Set(positions.names);
  const order = all.toSorted((a, b) => Number(known.has(b.id)) - Number(known.has(a.id)) || b.newest - a.newest);
  leftOut.value = Math.max(0, all.length - MOST);
  return order.slice(0, MOST);
}

/** Notice destinations that are made or deleted, and follow them, too. */
async function look(): Promise<void> {
  while (isWanted) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    if (state.value !== "live" && followed.value.length > 0) continue;
    try {
      const found = (await destinations()).map((one) => one.id);
      const known = new Set(positions.names);
      if (found.length !== known.size || found.some((one) => !known.has(one))) abort?.abort("changed");
    } catch {
      continue; // the stream itself tells that the service does not answer
    }
  }
}

async function run(): Promise<void> {
  let wait = SOONEST_MS;
  while (isWanted) {
    abort = new AbortController();
    try {
      positions.follow(await destinations());
      followed.value = positions.names;
      if (positions.names.length === 0) {
        state.value = "live";
        await paused(LOOK_MS, abort.signal);
        continue;
      }
      await stream(abort);
      wait = SOONEST_MS;
    } catch (error) {
      if (abort.signal.reason === "changed" || !isWanted) continue;
      problem.value = error instanceof Failure && error.status !== 0 ? told(error) : "";
    }
    if (!isWanted || abort.signal.reason === "changed") continue;
    lose();
    await paused(wait * (0.75 + Math.random() / 2));
    wait = Math.min(wait * 1.7, LATEST_MS);
  }
}

function paused(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()));
  });
}

function lose(): void {
  if (state.value === "lost") return;
  state.value = "lost";
  lostAt = Date.now();
}

async function stream(control: AbortController): Promise<void> {
  if (state.value !== "lost") state.value = "connecting";
  const names = positions.names.map((name) => `destination=${encodeURIComponent(name)}`).join("&");
  const headers = { Accept: "text/event-stream", "Last-Event-ID": positions.last };
  const response = await answer("GET", `/v1/stream?${names}`, { headers, signal: control.signal });
  await readEvents(response, take, control);
}

/** The stream is open. What was missed comes next, and is counted for a second. */
function opened(): void {
  problem.value = "";
  if (state.value === "lost") {
    const seconds = Math.round((Date.now() - lostAt) / 1000);
    const gaps = notices.value.filter((one) => one.tone === "fail" && one.time >= lostAt).length;
    since = 0;
    setTimeout(() => {
      const more = gaps ? "See the gaps below." : "Nothing is missing.";
      notice(`Back after ${seconds} s. ${since} deliveries caught up. ${more}`, gaps ? "fail" : "well");
    }, 1000);
  }
  state.value = "live";
}

function take(events: Sent[]): void {
  const deliveries: Delivery[] = [];
  let { unbroken } = count.value;
  let matches = 0;
  for (const one of events) {
    if (one.kind === "open") opened();
    else if (one.kind === "gap") {
      const gap = JSON.parse(one.data) as Gap;
      positions.skip(gap);
      if (gap.to >= gap.from) unbroken = missing(gap);
    } else if (one.kind === "message") {
      const delivery = JSON.parse(one.data) as Delivery;
      const { isNew, gap } = positions.take(delivery);
      if (gap) unbroken = missing(gap);
      if (!isNew) continue;
      unbroken += 1;
      matches += delivery.count ?? delivery.subscriptions.length;
      deliveries.push(delivery);
    }
  }
  positions.read(events.at(-1)!.id);
  if (deliveries.length === 0) return;
  since += deliveries.length;
  const before = count.value;
  count.value = { deliveries: before.deliveries + deliveries.length, matches: before.matches + matches, unbroken };
  for (const listener of listeners) listener(deliveries);
}

const REASONS: Record<string, string> = {
  expired: "retention deleted them",
  restored: "the store is a restored backup",
  lost: "a power cut took them back",
  new: "the destination is new on this stream",
  missing: "they did not arrive",
};

function missing(gap: Gap): number {
  const which = gap.from === gap.to ? `delivery ${gap.from} is` : `deliveries ${gap.from} to ${gap.to} are`;
  notice(`${gap.destination}: ${which} missing, because ${REASONS[gap.reason] ?? gap.reason}.`, "fail");
  return 0;
}
