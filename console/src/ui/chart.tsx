/** Lines over time, drawn by uPlot in the colours of the theme. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock } from "../format";
import { colour } from "../stored";

export interface Line {
  label: string;
  colour: string;
  fill?: boolean;
  show: (value: number) => string;
}

interface Props {
  label: string;
  lines: Line[];
  times: number[];
  columns: (number | null)[][];
  height?: number;
}

const FONT = "11px Inter, system-ui, sans-serif";

function made(element: HTMLElement, { lines, height = 176 }: Props, data: uPlot.AlignedData): uPlot {
  const ink = colour("ink-3");
  const grid = { stroke: colour("line"), width: 1 };
  const axis = { stroke: ink, font: FONT, ticks: { show: false }, grid };
  const shown = lines[0]!.show;
  return new uPlot(
    {
      width: element.clientWidth || 400,
      height,
      padding: [10, 20, 0, 0],
      cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
      legend: { live: true },
      scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.12] } },
      axes: [
        { ...axis, size: 30, grid: { show: false }, values: (_, splits) => splits.map((one) => clock(one * 1000)), space: 90 },
        { ...axis, size: 56, values: (_, splits) => splits.map(shown), space: 36 },
      ],
      series: [
        { label: "Time", value: (_, value) => (value == null ? "–" : clock(value * 1000)) },
        ...lines.map((one) => ({
          label: one.label,
          stroke: colour(one.colour),
          width: 1.75,
          fill: one.fill ? `${colour(one.colour).replace("rgb", "rgba").replace(")", ", 0.10)")}` : undefined,
          points: { show: false },
          value: (_: uPlot, value: number | null) => (value == null ? "–" : one.show(value)),
        })),
      ],
    },
    data,
    element,
  );
}

export function Chart(props: Props) {
  const own = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const data = [props.times, ...props.columns] as uPlot.AlignedData;
  const current = useRef(data);
  current.current = data;
  useEffect(() => {
    const element = own.current!;
    const draw = () => {
      plot.current?.destroy();
      plot.current = made(element, props, current.current);
    };
    draw();
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: props.height ?? 176 }));
    sizes.observe(element);
    addEventListener("theme", draw);
    return () => {
      removeEventListener("theme", draw);
      sizes.disconnect();
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => {
    plot.current?.setData(data);
    if ((plot.current?.cursor.idx ?? null) === null) plot.current?.setLegend({ idx: props.times.length - 1 }, false);
  }, [props.times]);
  return (
    <div class="chart" role="img" aria-label={props.label}>
      <div ref={own} />
    </div>
  );
}

/** A line without axes, as wide as its box. */
export function Spark({ values, tone }: { values: (number | null)[]; tone: string }) {
  const last = values.slice(-60);
  const most = Math.max(...last.map((one) => one ?? 0), 1e-9);
  const points = last.map((one, place) => `${(place / Math.max(last.length - 1, 1)) * 100},${27 - ((one ?? 0) / most) * 24}`);
  return (
    <svg class={`spark ${tone}`} viewBox="0 0 100 28" preserveAspectRatio="none" aria-hidden="true">
      {points.length > 1 && <polygon points={`0,28 ${points.join(" ")} 100,28`} />}
      {points.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}
