/** Map: the regions of subscriptions, and events with a place, as they ring. */
import { useEffect, useRef, useState } from "preact/hooks";
import { may } from "../api";
import type { Delivery } from "../documents";
import { clock, plural, whole } from "../format";
import { useShortcuts } from "../keys";
import { type Change, changes, inView, key, keys, nameBy, objects, seen, take, tidy } from "../map/objects";
import { Painter } from "../map/painter";
import { MOST, byId, load, loading, regions } from "../map/regions";
import { world } from "../map/world";
import { address } from "../route";
import { now, watch } from "../metrics";
import { listen, start, state } from "../tail/tail";
import { Badge, Button, Empty, Head, Note } from "../ui/basic";
import { DeliveryPanel } from "./delivery";

const RELOAD_MS = 15_000;
let isListening = false;

/** Follow objects from the first time that the map is shown: when it is shown again, it is complete. */
function follow(): void {
  start();
  if (isListening) return;
  isListening = true;
  listen(take);
  setInterval(tidy, 400);
}

/** Load the regions, and again when subscriptions changed; only those in view if there are too many. */
function useRegions(painter: { current: Painter | null }): void {
  const last = now.value?.values.get("tocsin_sequence");
  const loaded = useRef<{ sequence: number | undefined; time: number } | null>(null);
  useEffect(() => {
    const wait = loaded.current ? Math.max(0, loaded.current.time + RELOAD_MS - Date.now()) : 0;
    if (loaded.current && loaded.current.sequence === last) return;
    const timer = setTimeout(() => {
      loaded.current = { sequence: last, time: Date.now() };
      void load(loading.value.isWhole ? null : painter.current!.box);
    }, wait);
    return () => clearTimeout(timer);
  }, [last]);
}

function pointers(canvas: HTMLCanvasElement, painter: Painter, moved: () => void, click: (x: number, y: number) => void): void {
  let from: { x: number; y: number; isDrag: boolean } | null = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    from = { x: event.offsetX, y: event.offsetY, isDrag: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [dx, dy] = [event.offsetX - from.x, event.offsetY - from.y];
    if (!from.isDrag && Math.hypot(dx, dy) < 4) return;
    painter.move(dx, dy);
    from = { x: event.offsetX, y: event.offsetY, isDrag: true };
  });
  canvas.addEventListener("pointerup", (event) => {
    if (from?.isDrag) moved();
    else if (from) click(event.offsetX, event.offsetY);
    from = null;
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      painter.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), event.offsetX, event.offsetY);
      moved();
    },
    { passive: false },
  );
}

function Count() {
  return <span class="push faint num">{changes.value.length > 0 && plural(changes.value.length, "change")}</span>;
}

function Feed({ pick }: { pick: (change: Change) => void }) {
  if (changes.value.length === 0)
    return (
      <Empty icon="map" title="Nothing entered a region yet">
        <p>An object enters a region with its first event that matches, and exits with the next one that does not.</p>
        <p>To see exits at once, let one subscription match every position, such as <code>location IS NOT NULL</code>.</p>
      </Empty>
    );
  return (
    <ul class="feed" aria-label="What entered and left regions, the newest first">
      {changes.value.slice(0, 40).map((one) => (
        <li key={one.number}>
          <button type="button" onClick={() => pick(one)}>
            <span class="faint num">{clock(one.time)}</span>
            <Badge tone={one.kind === "exit" || one.kind === "lost" ? "event" : "ring"}>{one.kind}</Badge>
            <span class="clip-line">
              <b>{one.object}</b> {one.region}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function About({ painter }: { painter: Painter | null }) {
  const { isBusy, isWhole, error } = loading.value;
  if (error) return <Note tone="fail">{error}</Note>;
  const count = regions.value.length;
  return (
    <div class="map-about num">
      {isBusy && count === 0 ? "Loading regions…" : plural(count, "region")}
      {!isWhole && (
        <>
          {" "}of more than {whole(MOST)}; those in view are shown.{" "}
          <button type="button" class="link" onClick={() => painter && void load(painter.box)}>
            Load this part
          </button>
        </>
      )}
      {seen.value > 0 && ` · ${plural(objects.size, "object")}, ${inView.value.objects} in view`}
      {state.value === "lost" && " · connection lost"}
    </div>
  );
}

interface Box {
  left: number;
  upper: number;
  right: number;
  lower: number;
}

/** The box of all regions and objects, but for the outermost: the first look is at what matters. */
function boxOfAll(): Box | null {
  const boxes: Box[] = regions.value.filter((one) => Number.isFinite(one.left));
  for (const { x, y } of objects.values()) boxes.push({ left: x, upper: y, right: x, lower: y });
  if (boxes.length === 0) return null;
  const edge = (of: (one: Box) => number, share: number) => Float64Array.from(boxes, of).sort()[Math.min(boxes.length - 1, Math.floor(share * boxes.length))]!;
  return { left: edge((one) => one.left, 0.02), upper: edge((one) => one.upper, 0.02), right: edge((one) => one.right, 0.98), lower: edge((one) => one.lower, 0.98) };
}

function fitted(painter: Painter): void {
  const box = boxOfAll();
  if (box) painter.fit(box.left, box.upper, box.right, box.lower);
}

/** Fit the map to what is there, and again as more comes from outside, until somebody moves it. */
function useFit(painter: { current: Painter | null }, hasMoved: { current: boolean }): void {
  const last = useRef<Box | null>(null);
  useEffect(() => {
    if (hasMoved.current || loading.value.isBusy || !painter.current) return;
    const box = boxOfAll();
    const before = last.current;
    if (!box || (before && box.left >= before.left && box.upper >= before.upper && box.right <= before.right && box.lower <= before.lower)) return;
    const all = before ? { left: Math.min(box.left, before.left), upper: Math.min(box.upper, before.upper), right: Math.max(box.right, before.right), lower: Math.max(box.lower, before.lower) } : box;
    last.current = all;
    painter.current.fit(all.left, all.upper, all.right, all.lower);
  }, [regions.value, loading.value, seen.value]);
}

export function MapView() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const painter = useRef<Painter | null>(null);
  const hasMoved = useRef(false);
  const [delivery, setDelivery] = useState<Delivery | null>(null);
  const [region, setRegion] = useState<string | null>(null);
  useEffect(watch, []);
  useRegions(painter);
  useEffect(() => {
    if (may("read")) follow();
    const own = (painter.current = new Painter(canvas.current!));
    void world().then((found) => {
      own.world = found;
      own.renew();
    });
    let timer = 0;
    const moved = () => {
      hasMoved.current = true;
      if (loading.value.isWhole) return;
      clearTimeout(timer);
      timer = window.setTimeout(() => void load(own.box), 600);
    };
    pointers(canvas.current!, own, moved, (x, y) => {
      const object = own.objectAt(x, y);
      const found = object ? null : own.regionAt(x, y);
      setDelivery(object ? (objects.get(object)?.delivery ?? null) : null);
      setRegion((own.chosen = found?.id ?? null));
    });
    addEventListener("theme", own.recolour);
    const stopped = regions.subscribe(() => own.renew());
    return () => {
      stopped();
      removeEventListener("theme", own.recolour);
      own.stop();
    };
  }, []);
  useFit(painter, hasMoved);
  const act = (run: (own: Painter) => void) => () => {
    hasMoved.current = true;
    if (painter.current) run(painter.current);
  };
  const keysOfMap = [
    { key: "+", about: "Zoom in", run: act((own) => own.zoom(1.6)) },
    { key: "-", about: "Zoom out", run: act((own) => own.zoom(1 / 1.6)) },
    { key: "0", about: "Show all regions and objects", run: act(fitted) },
    { key: "ArrowLeft", about: "Move the map", run: act((own) => own.move(80, 0)) },
    { key: "ArrowRight", about: "Move the map", run: act((own) => own.move(-80, 0)) },
    { key: "ArrowUp", about: "Move the map", run: act((own) => own.move(0, 80)) },
    { key: "ArrowDown", about: "Move the map", run: act((own) => own.move(0, -80)) },
    { key: "Escape", about: "Close the panel", run: () => (setDelivery(null), setRegion(null)) },
  ];
  useShortcuts(keysOfMap);
  const choose = (one: Change) => {
    const [found] = byId.value.get(one.region) ?? [];
    if (painter.current && found) {
      painter.current.chosen = one.region;
      const { x, y } = painter.current.view;
      const isFar = Math.abs((found.left + found.right) / 2 - x) * painter.current.view.scale > painter.current.width / 2 || Math.abs((found.upper + found.lower) / 2 - y) * painter.current.view.scale > painter.current.height / 2;
      if (isFar) painter.current.fit(found.left - 0.02, found.upper - 0.02, found.right + 0.02, found.lower + 0.02);
    }
    setRegion(one.region);
    setDelivery(one.delivery);
  };
  return (
    <>
      <Head title="Map" about="Regions of subscriptions, and events with a place">
        <label class="row dim">
          Objects by
          <select class="select" value={key.value} onChange={(event) => nameBy(event.currentTarget.value)}>
            {!key.value && <option value="">the first text</option>}
            {[...new Set([key.value, ...keys.value])].filter(Boolean).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      </Head>
      <div class="body fixed">
        <div class="card split map">
          <div class="main">
            <canvas ref={canvas} role="img" aria-label={`Map with ${plural(regions.value.length, "region")}, and ${plural(inView.value.objects, "object")} in view, ${inView.value.labels} with a name. The list beside it tells which objects enter and exit them.`} />
            <About painter={painter.current} />
            {region && (
              <div class="map-chosen">
                <a class="link mono" href={address("subscriptions", { id: region })}>
                  {region}
                </a>
                <Button small kind="plain" icon="close" label="Choose no region" onClick={() => (setRegion(null), painter.current && (painter.current.chosen = null))} />
              </div>
            )}
            <div class="map-zoom">
              <Button icon="plus" label="Zoom in" onClick={keysOfMap[0]!.run} />
              <Button label="Zoom out" onClick={keysOfMap[1]!.run}>
                −
              </Button>
              <Button icon="fit" label="Show all regions and objects" onClick={() => painter.current && fitted(painter.current)} />
            </div>
          </div>
          {delivery ? (
            <DeliveryPanel one={delivery} close={() => setDelivery(null)} />
          ) : (
            <section class="panel narrow" aria-label="Enter and exit">
              <header>
                <h2>Enter and exit</h2>
                <Count />
              </header>
              <div class="scrolls" tabIndex={0}>
                <Feed pick={choose} />
              </div>
            </section>
          )}
        </div>
      </div>
    </>
  );
}
