/** Where a client is on each destination, and whether a delivery is missing. The service numbers deliveries 1, 2, 3. */
import type { Delivery, Destination } from "../documents";

export interface Gap {
  destination: string;
  from: number;
  to: number;
  reason: string;
}

export class Positions {
  private places = new Map<string, { epoch: string; after: number }>();

  get names(): string[] {
    return [...this.places.keys()];
  }

  /** Follow some destinations from now on. Those that are followed already keep their places. */
  follow(destinations: Destination[]): void {
    const before = this.places;
    this.places = new Map(
      destinations.map((one) => [one.id, before.get(one.id) ?? { epoch: one.epoch, after: one.newest }]),
    );
  }

  /** The text that resumes a stream: the places in the order of the names. */
  get last(): string {
    return [...this.places.values()].map((one) => `${one.epoch}-${one.after}`).join(",");
  }

  /** Take the histories of a position that the service sent: they change when a backup was restored. */
  read(id: string): void {
    const parts = id.split(",");
    [...this.places.values()].forEach((one, place) => {
      const epoch = parts[place]?.slice(0, parts[place].lastIndexOf("-"));
      if (epoch) one.epoch = epoch;
    });
  }

  /** Whether a delivery is new, and which ones before it are missing. */
  take(one: Delivery): { isNew: boolean; gap: Gap | null } {
    const place = this.places.get(one.destination);
    if (!place) return { isNew: true, gap: null };
    if (one.sequence <= place.after) return { isNew: false, gap: null };
    const first = place.after + 1;
    place.after = one.sequence;
    const isNext = one.sequence === first;
    return {
      isNew: true,
      gap: isNext ? null : { destination: one.destination, from: first, to: one.sequence - 1, reason: "missing" },
    };
  }

  /** What the service itself told that it does not keep any more. */
  skip(gap: Gap): void {
    const place = this.places.get(gap.destination);
    if (place) place.after = gap.reason === "lost" ? gap.from - 1 : gap.to;
  }
}
