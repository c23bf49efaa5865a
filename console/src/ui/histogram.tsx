/** Counts over time as bars. */
import { clock, moment, plural } from "../format";

export interface Counts {
  from: string;
  to: string;
  width_s: number;
  counts: number[];
}

export function Histogram({ from, to, width_s, counts }: Counts) {
  const most = Math.max(...counts, 1);
  const start = new Date(from).getTime();
  return (
    <figure class="histogram">
      <svg viewBox={`0 0 ${counts.length * 10} 64`} preserveAspectRatio="none" role="img" aria-label={`Matches over time, at most ${most} in a bar`}>
        {counts.map((count, place) => (
          <rect key={place} x={place * 10 + 1} width="8" y={count ? 62 - (count / most) * 58 : 62} height={count ? (count / most) * 58 + 2 : 2} class={count ? "" : "none"}>
            <title>{`${clock(start + place * width_s * 1000)}: ${plural(count, "match", "matches")}`}</title>
          </rect>
        ))}
      </svg>
      <figcaption class="faint num">
        <span>{moment(from)}</span>
        <span>{moment(to)}</span>
      </figcaption>
    </figure>
  );
}
