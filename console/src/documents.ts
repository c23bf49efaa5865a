/** The documents of the service that views read. docs/service.md and /openapi.json describe them. */
export type Id = string | number;
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type EventRecord = { [name: string]: Json };

export interface Destination {
  id: string;
  kind: string;
  epoch: string;
  newest: number;
  acknowledged: number;
  earliest: number;
  subscriptions: number;
  url?: string;
  order?: string;
  state?: "well" | "failing" | "disabled";
  reason?: string;
  failing_since?: string;
  disabled_at?: string;
  waiting?: number;
  paused_until?: string;
  next_try?: string;
  rate_per_s?: number;
  digest_s?: number;
  max_attempts?: number;
  set_aside_after?: number;
  on_full?: string;
  failures_to?: string;
  /** In Liquid, by the part of what is sent. */
  template?: { [part: string]: Json };
  /** Why the template failed for the last message. */
  template_error?: string;
  allow_private?: boolean;
  named?: boolean;
}

/** Whether the service sends to a destination, so that it has a state, attempts and dead letters. */
export const isSent = (one: Destination): boolean => one.state !== undefined;

export interface Match {
  id: Id;
  score: number | null;
  payload: Json;
  /** Of a fence or a window: what changed. */
  change?: string;
  fence?: string;
  object?: Json;
  seconds?: number | null;
  message?: Json;
  /** Members that the delivery was too large for. */
  left_out?: string[];
}

export interface Delivery {
  sequence: number;
  key: string;
  event: EventRecord;
  subscriptions: Match[];
  destination: string;
  published: string;
  more?: string;
  count?: number;
}

export interface Subscription {
  id: Id;
  where: Json;
  score?: number;
  payload?: Json;
  language?: string;
  weights?: Record<string, number>;
  destination?: string;
  fence?: string;
  throttle_s?: number;
  paused_until?: string;
  expires_at?: string;
  sequence: number;
}

export interface Activity {
  since: string;
  subscriptions: number;
  silent: number;
  busiest: { id: Id; matches: number; last: string }[];
  first_silent: Id[];
}

/** Deliveries after the cursor that are kept. */
export function backlog(one: Destination): number {
  return one.waiting ?? one.newest - Math.max(one.acknowledged, one.earliest - 1);
}
