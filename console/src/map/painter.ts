/**
 * The map as a canvas: outlines and regions in a layer behind, objects in front.
 *
 * The layer behind is painted in slices of some milliseconds, so that no input waits for twenty thousand regions. Until
 * it is complete, the last one is shown, moved to where it belongs.
 */
import { colour } from "../stored";
import { glowing, inView, objects } from "./objects";
import { type View, projected, unprojected } from "./places";
import { type Region, byId, contains, regions } from "./regions";
import { SIZE, type World } from "./world";

const SLICE_MS = 6;
const SHORT_SLICE_MS = 2; // while somebody moves the map
const RESTS_MS = 120;
const AT_ONCE = 25;
const FRAME_MS = 32; // half of a screen's rate is enough for what glows
const FADE_MS = 2600;
const SHADES = 4;
const MOST_LABELS = 60;
const LABEL = "11px Inter, system-ui, sans-serif";
const LEAST_SCALE = 256;
const MOST_SCALE = 4_000_000;

interface Layer {
  canvas: HTMLCanvasElement;
  view: View;
}

export class Painter {
  view: View = { ...startView() };
  world: World | null = null;
  chosen: string | null = null;
  private readonly front: CanvasRenderingContext2D;
  private shown: Layer | null = null;
  private job: Generator<void> | null = null;
  private isStale = true;
  private isMoved = true;
  private drawnAt = 0;
  private movedAt = 0;
  private frame = 0;
  private colours: Record<string, string> = {};
  private isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.front = canvas.getContext("2d")!;
    this.recolour();
    const draw = () => {
      this.step();
      this.frame = requestAnimationFrame(draw);
    };
    this.frame = requestAnimationFrame(draw);
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
  }

  recolour = (): void => {
    for (const name of ["ground", "line", "line-strong", "ring-line", "ring", "event", "ink", "ink-3", "chosen", "card"]) this.colours[name] = colour(name);
    this.renew();
  };

  /** Paint the layer behind anew. */
  renew = (): void => {
    this.isStale = this.isMoved = true;
  };

  get width(): number {
    return this.canvas.clientWidth;
  }

  get height(): number {
    return this.canvas.clientHeight;
  }

  move(dx: number, dy: number): void {
    this.set({ ...this.view, x: this.view.x - dx / this.view.scale, y: this.view.y - dy / this.view.scale });
  }

  /** Zoom by a factor, so that the place under a pixel stays there. */
  zoom(factor: number, px = this.width / 2, py = this.height / 2): void {
    const scale = Math.max(LEAST_SCALE, Math.min(MOST_SCALE, this.view.scale * factor));
    const [x, y] = this.placeAt(px, py);
    this.set({ scale, x: x - (px - this.width / 2) / scale, y: y - (py - this.height / 2) / scale });
  }

  /** Show a box of the world, with a margin. */
  fit(left: number, upper: number, right: number, lower: number): void {
    const scale = Math.min(this.width / Math.max(right - left, 1e-6), this.height / Math.max(lower - upper, 1e-6)) * 0.82;
    this.set({ x: (left + right) / 2, y: (upper + lower) / 2, scale: Math.max(LEAST_SCALE, Math.min(60_000, scale)) });
  }

  private set(view: View): void {
    this.movedAt = performance.now();
    this.view = { ...view, x: Math.max(0, Math.min(1, view.x)), y: Math.max(0, Math.min(1, view.y)) };
    this.renew();
  }

  placeAt(px: number, py: number): [number, number] {
    return [this.view.x + (px - this.width / 2) / this.view.scale, this.view.y + (py - this.height / 2) / this.view.scale];
  }

  pixelOf(x: number, y: number): [number, number] {
    return [(x - this.view.x) * this.view.scale + this.width / 2, (y - this.view.y) * this.view.scale + this.height / 2];
  }

  /** The part of the globe that is shown, as the service takes it. */
  get box(): string {
    const [west, north] = unprojected(...this.placeAt(0, 0));
    const [east, south] = unprojected(...this.placeAt(this.width, this.height));
    return [Math.max(west, -180), south, Math.min(east, 180), north].map((one) => one.toFixed(4)).join(",");
  }

  regionAt(px: number, py: number): Region | null {
    const [x, y] = this.placeAt(px, py);
    const found = regions.value.filter((one) => contains(one, x, y));
    return found.reduce<Region | null>((least, one) => (!least || one.right - one.left < least.right - least.left ? one : least), null);
  }

  objectAt(px: number, py: number): string | null {
    let [best, name] = [12, null as string | null];
    for (const one of objects.values()) {
      const [x, y] = this.pixelOf(one.x, one.y);
      const distance = Math.hypot(x - px, y - py);
      if (distance < best) [best, name] = [distance, one.name];
    }
    return name;
  }

  /** A frame: paint a slice of the layer behind; draw all if something moved, and else not at each frame. */
  private step(): void {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (width === 0 || height === 0) return;
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.renew();
    }
    this.work(width, height, ratio);
    const now = performance.now();
    if (!this.isMoved && now - this.drawnAt < FRAME_MS) return;
    this.isMoved = false;
    this.drawnAt = now;
    this.draw(width, height, ratio);
  }

  private draw(width: number, height: number, ratio: number): void {
    const { front } = this;
    front.setTransform(1, 0, 0, 1, 0, 0);
    front.fillStyle = this.colours["ground"]!;
    front.fillRect(0, 0, width, height);
    this.putLayer(ratio);
    front.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawGlow();
    this.drawObjects();
  }

  private work(width: number, height: number, ratio: number): void {
    if (this.isStale && !this.job) {
      this.isStale = false;
      this.job = this.paint(width, height, ratio);
    }
    const now = performance.now();
    const end = now + (now - this.movedAt < RESTS_MS ? SHORT_SLICE_MS : SLICE_MS);
    while (this.job && performance.now() < end) if (this.job.next().done) this.job = null;
  }

  private putLayer(ratio: number): void {
    if (!this.shown) return;
    const { canvas, view } = this.shown;
    const grown = this.view.scale / view.scale;
    const [x, y] = this.pixelOf(view.x, view.y);
    this.front.setTransform(grown, 0, 0, grown, x * ratio, y * ratio);
    this.front.drawImage(canvas, -canvas.width / 2, -canvas.height / 2);
  }

  /** Paint the layer behind, with a pause after each few regions. */
  private *paint(width: number, height: number, ratio: number): Generator<void> {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d", { willReadFrequently: true })!;
    const flush = () => context.getImageData(0, 0, 1, 1); // draws now what would else be drawn all at once, at the end
    const view = { ...this.view };
    const scale = view.scale * ratio;
    const place = () => context.setTransform(scale / SIZE, 0, 0, scale / SIZE, width / 2 - view.x * scale, height / 2 - view.y * scale);
    if (this.world) {
      place();
      context.fillStyle = this.colours["card"]!;
      context.strokeStyle = this.colours["line-strong"]!;
      context.lineWidth = (0.9 * SIZE * ratio) / scale;
      context.fill(this.world.land);
      context.stroke(this.world.land);
      context.strokeStyle = this.colours["line"]!;
      context.stroke(this.world.borders);
      flush();
      yield;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    const dx = width / 2 - view.x * scale;
    const dy = height / 2 - view.y * scale;
    const all = regions.value;
    for (let first = 0; first < all.length; first += AT_ONCE) {
      if (!this.paintSome(context, all.slice(first, first + AT_ONCE), scale, dx, dy, width, height, ratio)) continue;
      flush();
      yield;
    }
    this.shown = { canvas, view };
    this.isMoved = true;
  }

  private paintSome(context: CanvasRenderingContext2D, some: Region[], scale: number, dx: number, dy: number, width: number, height: number, ratio: number): boolean {
    const areas = new Path2D();
    const outsides = new Path2D();
    let isAny = false;
    for (const one of some) {
      if (one.right * scale + dx < 0 || one.left * scale + dx > width || one.lower * scale + dy < 0 || one.upper * scale + dy > height) continue;
      trace(one.isNot ? outsides : areas, one, scale, dx, dy, ratio);
      isAny = true;
    }
    if (!isAny) return false;
    context.fillStyle = context.strokeStyle = this.colours["ring-line"]!;
    context.lineWidth = ratio;
    context.globalAlpha = 0.1;
    context.fill(areas);
    context.globalAlpha = 0.55;
    context.stroke(areas);
    context.setLineDash([4 * ratio, 4 * ratio]);
    context.stroke(outsides);
    context.setLineDash([]);
    context.globalAlpha = 1;
    return true;
  }

  /** Regions that were matched a moment ago, and the chosen one. */
  private drawGlow(): void {
    const now = Date.now();
    const { front } = this;
    front.lineWidth = 1.6;
    front.strokeStyle = front.fillStyle = this.colours["ring-line"]!;
    const [dx, dy] = [this.width / 2 - this.view.x * this.view.scale, this.height / 2 - this.view.y * this.view.scale];
    const paths = Array.from({ length: SHADES }, () => new Path2D());
    const light = (id: string, shade: number) => {
      for (const one of byId.value.get(id) ?? []) {
        const [left, upper] = this.pixelOf(one.left, one.upper);
        const [right, lower] = this.pixelOf(one.right, one.lower);
        if (right > 0 && lower > 0 && left < this.width && upper < this.height) trace(paths[shade]!, one, this.view.scale, dx, dy, 1);
      }
    };
    let left = 150; // more of them would not be told apart, and would take too long
    for (const [id, time] of glowing) {
      const strength = 1 - (now - time) / FADE_MS;
      if (strength > 0 && left-- > 0) light(id, Math.min(SHADES - 1, Math.floor(strength * SHADES)));
    }
    if (this.chosen) light(this.chosen, SHADES - 1);
    paths.forEach((path, shade) => {
      const strength = (shade + 1) / SHADES;
      front.globalAlpha = 0.22 * strength;
      front.fill(path);
      front.globalAlpha = strength;
      front.stroke(path);
    });
    front.globalAlpha = 1;
  }

  /** The trails of all objects, as one path. */
  private drawTrails(): void {
    const path = new Path2D();
    for (const one of objects.values()) {
      const [x, y] = this.pixelOf(one.x, one.y);
      if (one.trail.length === 0 || x < -200 || y < -200 || x > this.width + 200 || y > this.height + 200) continue;
      path.moveTo(x, y);
      for (let at = one.trail.length - 2; at >= 0; at -= 2) path.lineTo(...this.pixelOf(one.trail[at]!, one.trail[at + 1]!));
    }
    this.front.strokeStyle = this.colours["event"]!;
    this.front.globalAlpha = 0.35;
    this.front.stroke(path);
  }

  private drawObjects(): void {
    const { front } = this;
    const now = Date.now();
    front.lineWidth = 1.2;
    this.drawTrails();
    const named: [number, number, string][] = [];
    let count = 0;
    for (const one of objects.values()) {
      const [x, y] = this.pixelOf(one.x, one.y);
      if (x < -20 || y < -20 || x > this.width + 20 || y > this.height + 20) continue;
      if (x >= 0 && y >= 0 && x <= this.width && y <= this.height) count += 1;
      if (named.length < MOST_LABELS * 4) named.push([x, y, one.name]);
      const age = now - one.moved;
      const fade = Math.max(0.25, 1 - age / 60_000);
      const isIn = one.inside.size + one.matched.size + one.fenced.size > 0;
      front.strokeStyle = front.fillStyle = isIn ? this.colours["ring"]! : this.colours["event"]!;
      if (age < 900 && !this.isStill) {
        front.globalAlpha = 0.6 * (1 - age / 900);
        front.beginPath();
        front.arc(x, y, 3 + (age / 900) * 9, 0, 7);
        front.stroke();
      }
      front.globalAlpha = fade;
      front.beginPath();
      front.arc(x, y, isIn ? 3.4 : 2.6, 0, 7);
      front.fill();
    }
    front.globalAlpha = 1;
    const labels = this.drawLabels(named);
    if (inView.value.objects !== count || inView.value.labels !== labels) inView.value = { objects: count, labels };
  }

  /** The names of objects beside them, as many as have room. Returns how many. */
  private drawLabels(named: [number, number, string][]): number {
    const { front } = this;
    const taken: [number, number, number, number][] = [];
    front.font = LABEL;
    front.textBaseline = "middle";
    front.lineWidth = 3;
    front.lineJoin = "round";
    for (const [x, y, name] of named) {
      if (taken.length >= MOST_LABELS) break;
      const text = name.length > 24 ? `${name.slice(0, 23)}…` : name;
      const width = front.measureText(text).width;
      const left = x + 8 + width > this.width ? x - 8 - width : x + 8;
      const box: [number, number, number, number] = [left - 2, y - 8, left + width + 2, y + 8];
      if (taken.some((one) => one[0] < box[2] && box[0] < one[2] && one[1] < box[3] && box[1] < one[3])) continue;
      taken.push(box);
      front.strokeStyle = this.colours["card"]!;
      front.strokeText(text, left, y);
      front.fillStyle = this.colours["ink"]!;
      front.fillText(text, left, y);
    }
    return taken.length;
  }
}

/** Add a region to a path. What is tiny on the screen gets fewer corners, or is a dot. */
function trace(path: Path2D, one: Region, scale: number, dx: number, dy: number, ratio: number): void {
  const extent = Math.max(one.right - one.left, one.lower - one.upper) * scale;
  if (extent < 3 * ratio) {
    path.rect(one.left * scale + dx - ratio, one.upper * scale + dy - ratio, Math.max(extent, 2.5 * ratio), Math.max(extent, 2.5 * ratio));
    return;
  }
  const step = extent < 14 * ratio ? 8 : extent < 40 * ratio ? 4 : 2;
  for (const line of one.lines) {
    path.moveTo(line[0]! * scale + dx, line[1]! * scale + dy);
    for (let at = step; at < line.length; at += step) path.lineTo(line[at]! * scale + dx, line[at + 1]! * scale + dy);
    if (one.isArea) path.closePath();
  }
}

function startView(): View {
  const [x, y] = projected(10, 25);
  return { x, y, scale: 900 };
}
