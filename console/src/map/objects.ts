/**
 * The objects on the map: where each was last, and which regions it is in.
 *
 * An object is what has the same value of one attribute. It enters a region with the first event that matches it, and
 * exits with the next one that does not. The deliveries of one event come one after the other, a destination each, so an
 * event counts when the next one of its object comes, or after a moment. A subscription with a fence tells its changes
 * itself, and these are exact.
 */
import { signal } from "@preact/signals";
import type { Delivery } from "../documents";
import { byId, names } from "./regions";
import { placeOf, projected } from "./places";

const SETTLED_MS = 600;
const KEPT_MS = 300_000;
const MOST = 20_000;
const TRAIL = 16;
const KEPT = 200;
const FAR = 0.05; // of the world: who jumps so far has not left a trail

export interface Moving {
  name: string;
  x: number;
  y: number;
  /** Earlier places: x, y, x, y, the oldest first. */
  trail: number[];
  moved: number;
  delivery: Delivery;
  event: string;
  matched: Set<string>;
  inside: Set<string>;
  /** Regions of fences, which tell when the object leaves. */
  fenced: Set<string>;
  isOpen: boolean;
}

export interface Change {
  number: number;
  time: number;
  kind: string;
  object: string;
  region: string;
  delivery: Delivery;
}

export const objects = new Map<string, Moving>();
export const changes = signal<Change[]>([]);
export const key = signal("");
export const keys = signal<string[]>([]);
/** When each region was matched last, in milliseconds: it glows. */
export const glowing = new Map<string, number>();
/** Events with a place. */
export const seen = signal(0);
/** Objects within what the map shows, and how many of them have their name beside them. */
export const inView = signal({ objects: 0, labels: 0 });
let number = 0;
let located = 0;

/** The attribute that names objects if nobody chose one: the first that is a text. */
function named(event: Delivery["event"]): string {
  return Object.keys(event).find((name) => typeof event[name] === "string") ?? "";
}

function nameOf(one: Delivery): string {
  const value = one.event[key.value];
  return value === undefined || value === null ? one.key.replace(/-\d+$/, "") : String(value);
}

export function take(deliveries: Delivery[]): void {
  const fresh: Change[] = [];
  const now = Date.now();
  const before = located;
  for (const one of deliveries) {
    const place = placeOf(one.event, names.value);
    if (!place) continue;
    located += 1;
    if (!key.value) key.value = named(one.event);
    follow(one, projected(...place), now, fresh);
  }
  if (located === before) return;
  const last = deliveries.at(-1)!.event;
  const found = Object.keys(last).filter((name) => typeof last[name] !== "object");
  if (found.some((name) => !keys.value.includes(name))) keys.value = [...new Set([...keys.value, ...found])].slice(0, 40);
  tell(fresh);
}

function follow(one: Delivery, [x, y]: [number, number], now: number, fresh: Change[]): void {
  const name = nameOf(one);
  const event = one.key.replace(/-\d+$/, "");
  let object = objects.get(name);
  if (!object) {
    object = { name, x, y, trail: [], moved: now, delivery: one, event, matched: new Set(), inside: new Set(), fenced: new Set(), isOpen: true };
    objects.set(name, object);
    if (objects.size > MOST) objects.delete(objects.keys().next().value!);
  } else if (object.event !== event) {
    settle(object, fresh);
    if (Math.hypot(x - object.x, y - object.y) > FAR) object.trail = [];
    else object.trail.push(object.x, object.y);
    if (object.trail.length > TRAIL * 2) object.trail.splice(0, 2);
    Object.assign(object, { x, y, event, matched: new Set(), isOpen: true });
  }
  object.moved = now;
  for (const match of one.subscriptions) {
    const id = String(match.id);
    if (match.change) {
      if (match.change === "exit" || match.change === "lost") object.fenced.delete(id);
      else object.fenced.add(id);
      object.delivery = one;
      glowing.set(id, now);
      fresh.push({ number: ++number, time: now, kind: match.change, object: name, region: id, delivery: one });
      continue;
    }
    if (!byId.value.has(id)) continue;
    object.matched.add(id);
    glowing.set(id, now);
    object.delivery = one;
  }
  if (object.matched.size === 0) object.delivery = one;
}

/** All deliveries of an object's event are here: tell what changed. */
function settle(object: Moving, fresh: Change[]): void {
  if (!object.isOpen) return;
  object.isOpen = false;
  const about = { time: object.moved, object: object.name, delivery: object.delivery };
  for (const region of object.matched) if (!object.inside.has(region)) fresh.push({ ...about, number: ++number, kind: "enter", region });
  for (const region of object.inside) if (!object.matched.has(region)) fresh.push({ ...about, number: ++number, kind: "exit", region });
  object.inside = object.matched;
}

let untold: Change[] = [];

function tell(fresh: Change[]): void {
  untold.push(...fresh);
}

/** Show what changed: not at each event, so that a list of many changes costs little. */
function show(): void {
  if (untold.length > 0) changes.value = [...untold.toReversed().slice(0, KEPT), ...changes.value].slice(0, KEPT);
  untold = [];
  if (seen.value !== located) seen.value = located;
}

/** Settle what is old enough, and forget objects that were not seen for five minutes. */
export function tidy(): void {
  const now = Date.now();
  const fresh: Change[] = [];
  for (const [name, object] of objects) {
    if (now - object.moved > KEPT_MS) objects.delete(name);
    else if (object.isOpen && now - object.moved > SETTLED_MS) settle(object, fresh);
  }
  for (const [id, time] of glowing) if (now - time > 3000) glowing.delete(id);
  tell(fresh);
  show();
}

/** Another attribute names the objects: begin anew. */
export function nameBy(attribute: string): void {
  key.value = attribute;
  objects.clear();
  changes.value = [];
}
