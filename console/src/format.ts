/** Numbers, times and events as text. */
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export const whole = (value: number) => WHOLE.format(value);

/** A rate: two digits below ten, whole numbers above. */
export function rate(value: number): string {
  if (value === 0) return "0";
  return value < 10 ? value.toFixed(value < 1 ? 2 : 1) : whole(value);
}

/** A number in a narrow place: 1,234, 12.3k, 4.5M. */
export function short(value: number): string {
  if (value < 10_000) return whole(value);
  const [size, unit] = value < 1e6 ? [1e3, "k"] : value < 1e9 ? [1e6, "M"] : [1e9, "G"];
  return `${(value / size).toFixed(value / size < 100 ? 1 : 0)}${unit}`;
}

/** A duration in seconds: 1.2 ms, 3.4 s, 5 min. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds === 0) return "0";
  if (seconds < 0.001) return `${Math.max(1, Math.round(seconds * 1e6))} µs`;
  if (seconds < 1) return `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

export function clock(time: string | number): string {
  return CLOCK.format(new Date(time));
}

export function moment(time: string | number): string {
  const date = new Date(time);
  return Date.now() - date.getTime() < 43_200_000 ? CLOCK.format(date) : DAY.format(date);
}

export function since(time: string | number): number {
  return Math.max(0, (Date.now() - new Date(time).getTime()) / 1000);
}

export function ago(time: string | number): string {
  const seconds = since(time);
  return seconds < 3 ? "now" : `${duration(seconds).replace(/\.\d/, "")} ago`;
}

/** The first names and values of an event, as many as a row can show. */
export function attributes(event: Record<string, unknown>, most = 220): [string, string][] {
  const found: [string, string][] = [];
  let length = 0;
  for (const [name, value] of Object.entries(event)) {
    const shown = typeof value === "string" ? value : JSON.stringify(value);
    found.push([name.slice(0, 40), shown.length > 60 ? `${shown.slice(0, 57)}…` : shown]);
    length += name.length + shown.length;
    if (length > most) break;
  }
  return found;
}

/** A day and a time in words, with the year unless it is this one: 20 December, 14:00. */
export function date(time: string): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return "a time that is not known";
  const day = DATE.format(at) + (at.getFullYear() === new Date().getFullYear() ? "" : ` ${at.getFullYear()}`);
  const hour = CLOCK.format(at).slice(0, 5);
  return hour === "00:00" ? day : `${day}, ${hour}`;
}

/** A time that may be to come: the clock if it is near, and else the day. */
export function instant(time: string): string {
  const at = new Date(time).getTime();
  return Math.abs(Date.now() - at) < 43_200_000 ? clock(at) : date(time);
}

/** A message as a sentence: a capital first, a full stop last. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed.charAt(0).toUpperCase() + trimmed.slice(1) + (/[.!?]$/.test(trimmed) ? "" : ".");
}

export const pretty = (value: unknown) => JSON.stringify(value, null, 2);
export const plural = (count: number, one: string, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;
