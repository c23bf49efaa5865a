/** Places: on the globe, on the map, and in events. The map is Mercator; the world is a square from 0 to 1. */
export type Point = [number, number];

/** A part of the map: the place in its middle, and how many pixels the world is wide. */
export interface View {
  x: number;
  y: number;
  scale: number;
}

const MOST_LATITUDE = 85.051129;

export function projected(longitude: number, latitude: number): Point {
  const lat = Math.max(-MOST_LATITUDE, Math.min(MOST_LATITUDE, latitude));
  const sine = Math.sin((lat * Math.PI) / 180);
  return [longitude / 360 + 0.5, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)];
}

export function unprojected(x: number, y: number): Point {
  return [(x - 0.5) * 360, (Math.atan(Math.sinh((0.5 - y) * 2 * Math.PI)) * 180) / Math.PI];
}

/** The middle of a circle's edge points, as the sphere has them. */
export function circle(longitude: number, latitude: number, radius_m: number, corners = 48): Point[] {
  const angle = radius_m / 6_371_008.8;
  const lat = (latitude * Math.PI) / 180;
  return Array.from({ length: corners + 1 }, (_, corner) => {
    const turn = (corner / corners) * 2 * Math.PI;
    const up = Math.asin(Math.sin(lat) * Math.cos(angle) + Math.cos(lat) * Math.sin(angle) * Math.cos(turn));
    const east = Math.atan2(Math.sin(turn) * Math.sin(angle) * Math.cos(lat), Math.cos(angle) - Math.sin(lat) * Math.sin(up));
    return [longitude + (east * 180) / Math.PI, (up * 180) / Math.PI];
  });
}

const TEXT = /^(?:SRID=\d+;)?\s*POINT\s*\(\s*(-?[\d.eE+-]+)\s+(-?[\d.eE+-]+)/i;

/** The point of a value, in the forms that the service reads: [x, y], GeoJSON, well-known text. */
export function pointOf(value: unknown): Point | null {
  if (Array.isArray(value)) return isPoint(value) ? [value[0], value[1]] : null;
  if (typeof value === "string") {
    const found = TEXT.exec(value);
    return found ? [Number(found[1]), Number(found[2])] : null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { type, coordinates } = value as { type?: unknown; coordinates?: unknown };
  return type === "Point" ? pointOf(coordinates) : null;
}

function isPoint(value: unknown[]): value is [number, number] {
  const [x, y] = value;
  return value.length >= 2 && value.length <= 3 && typeof x === "number" && typeof y === "number" && Math.abs(x) <= 360 && Math.abs(y) <= 90;
}

/** The first place in an event: under a name that regions use, or any that has one. */
export function placeOf(event: Record<string, unknown>, names: ReadonlySet<string>): Point | null {
  for (const name of names) {
    const found = pointOf(name in event ? event[name] : name.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], event));
    if (found) return found;
  }
  for (const value of Object.values(event)) {
    const found = pointOf(value);
    if (found) return found;
  }
  return null;
}
