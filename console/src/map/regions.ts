/** The regions of subscriptions, flattened for drawing. */
import { signal } from "@preact/signals";
import { get, told } from "../api";
import type { Id } from "../documents";
import { circle, projected, type Point } from "./places";

interface Told {
  id: Id;
  destination?: string;
  attribute: string;
  operator: string;
  not: boolean;
  radius_m?: number;
  geometry: { type: string; coordinates?: unknown; geometries?: Told["geometry"][] };
}

export interface Region {
  id: string;
  attribute: string;
  isNot: boolean;
  /** Rings and lines in world coordinates: x, y, x, y. */
  lines: Float64Array[];
  isArea: boolean;
  left: number;
  upper: number;
  right: number;
  lower: number;
}

export const MOST = 20_000;
export const regions = signal<Region[]>([]);
export const byId = signal<ReadonlyMap<string, Region[]>>(new Map());
export const names = signal<ReadonlySet<string>>(new Set());
export const loading = signal<{ isBusy: boolean; isWhole: boolean; error: string }>({ isBusy: false, isWhole: true, error: "" });

function linesOf(geometry: Told["geometry"]): Point[][] {
  const at = geometry.coordinates as never;
  switch (geometry.type) {
    case "Point":
      return [[at]];
    case "MultiPoint":
      return (at as Point[]).map((one) => [one]);
    case "LineString":
      return [at];
    case "MultiLineString":
    case "Polygon":
      return at;
    case "MultiPolygon":
      return (at as Point[][][]).flat();
    default:
      return (geometry.geometries ?? []).flatMap(linesOf);
  }
}

export function flattened(one: Told): Region {
  const isCircle = one.radius_m !== undefined;
  const [x, y] = one.geometry.coordinates as [number, number];
  const lines = isCircle ? [circle(x, y, one.radius_m!)] : linesOf(one.geometry);
  let [left, upper, right, lower] = [Infinity, Infinity, -Infinity, -Infinity];
  const flat = lines.map((line) => {
    const own = new Float64Array(line.length * 2);
    line.forEach(([longitude, latitude], place) => {
      const [px, py] = projected(longitude, latitude);
      own[place * 2] = px;
      own[place * 2 + 1] = py;
      left = Math.min(left, px);
      right = Math.max(right, px);
      upper = Math.min(upper, py);
      lower = Math.max(lower, py);
    });
    return own;
  });
  const isArea = isCircle || one.geometry.type.includes("Polygon");
  return { id: String(one.id), attribute: one.attribute, isNot: one.not, lines: flat, isArea, left, upper, right, lower };
}

let current: AbortController | null = null;

/** Load the regions, a page after the other; what was shown stays until the new ones are there. */
export async function load(box: string | null): Promise<void> {
  current?.abort();
  const own = (current = new AbortController());
  loading.value = { ...loading.value, isBusy: true, error: "" };
  const found: Region[] = [];
  let after: string | undefined;
  try {
    do {
      const query = new URLSearchParams({ limit: "1000" });
      if (box) query.set("box", box);
      if (after !== undefined) query.set("after", after);
      const page = await get<{ regions: Told[]; next?: string }>(`/v1/regions?${query}`, own.signal);
      for (const one of page.regions) found.push(flattened(one));
      after = page.next;
      if (regions.value.length < found.length) publish(found);
    } while (after !== undefined && found.length < MOST);
    publish(found);
    loading.value = { isBusy: false, isWhole: after === undefined && box === null, error: "" };
  } catch (error) {
    if (!own.signal.aborted) loading.value = { ...loading.value, isBusy: false, error: told(error) };
  }
}

function publish(found: Region[]): void {
  const known = new Map<string, Region[]>();
  for (const one of found) {
    const own = known.get(one.id);
    if (own) own.push(one);
    else known.set(one.id, [one]);
  }
  regions.value = [...found];
  byId.value = known;
  names.value = new Set(found.map((one) => one.attribute));
}

/** Whether a place of the world lies in a region, by the ray to its right. */
export function contains(region: Region, x: number, y: number): boolean {
  if (!region.isArea || x < region.left || x > region.right || y < region.upper || y > region.lower) return false;
  let isIn = false;
  for (const line of region.lines) {
    for (let at = 0, last = line.length - 2; at < line.length; last = at, at += 2) {
      const [ax, ay, bx, by] = [line[at]!, line[at + 1]!, line[last]!, line[last + 1]!];
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) isIn = !isIn;
    }
  }
  return isIn;
}
