/** What the live list shows: of each moment a few deliveries, drawn fairly among those that pass the filter. */
import { signal } from "@preact/signals";
import type { Delivery } from "../documents";
import { listen } from "./tail";

const EVERY_MS = 250;
const AT_ONCE = 6; // rows in a moment: 24 a second
const KEPT = 300;

export interface Filter {
  destination: string;
  subscription: string;
  text: string;
}

export const EVERYTHING: Filter = { destination: "", subscription: "", text: "" };
export const filter = signal<Filter>(EVERYTHING);
export const rows = signal<Delivery[]>([]);
export const isPaused = signal(false);
/** Of the last seconds: matches that passed the filter, and rows that were shown, a second. */
export const flow = signal({ passed: 0, shown: 0 });

let drawn: Delivery[] = [];
let seen = 0;
const recent: { passed: number; shown: number }[] = [];

function passes(one: Delivery, asked: Filter): boolean {
  if (asked.destination && one.destination !== asked.destination) return false;
  if (asked.subscription && !one.subscriptions.some((match) => String(match.id).includes(asked.subscription))) return false;
  return !asked.text || JSON.stringify(one.event).toLowerCase().includes(asked.text.toLowerCase());
}

/** Reservoir sampling: each of the deliveries of a moment has the same chance to be shown. */
function draw(deliveries: Delivery[]): void {
  const asked = filter.value;
  for (const one of deliveries) {
    if (!passes(one, asked)) continue;
    seen += 1;
    if (drawn.length < AT_ONCE) drawn.push(one);
    else {
      const place = Math.floor(Math.random() * seen);
      if (place < AT_ONCE) drawn[place] = one;
    }
  }
}

function show(): void {
  const shown = isPaused.value ? 0 : drawn.length;
  recent.push({ passed: seen, shown });
  if (recent.length > 2000 / EVERY_MS) recent.shift();
  const sum = (name: "passed" | "shown") => recent.reduce((all, one) => all + one[name], 0) / ((recent.length * EVERY_MS) / 1000);
  const next = { passed: sum("passed"), shown: sum("shown") };
  if (next.passed !== flow.value.passed || next.shown !== flow.value.shown) flow.value = next;
  if (shown > 0) rows.value = [...drawn.toReversed(), ...rows.value].slice(0, KEPT);
  drawn = [];
  seen = 0;
}

let isRunning = false;

export function sample(): void {
  if (isRunning) return;
  isRunning = true;
  listen(draw);
  setInterval(show, EVERY_MS);
}

/** Another filter: what was shown stays if it passes. */
export function choose(next: Filter): void {
  filter.value = next;
  drawn = [];
  seen = 0;
  rows.value = rows.value.filter((one) => passes(one, next));
}
