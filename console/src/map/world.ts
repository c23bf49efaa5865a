/** Outlines of land and of countries by Natural Earth, as paths in a world of 1024 pixels. */
import { geoMercator, geoPath } from "d3-geo";
import { feature, mesh } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import source from "world-atlas/countries-110m.json?url";

export const SIZE = 1024;

export interface World {
  land: Path2D;
  borders: Path2D;
}

export async function world(): Promise<World> {
  const atlas = (await (await fetch(source)).json()) as Topology<{ countries: GeometryCollection; land: GeometryCollection }>;
  const projection = geoMercator()
    .scale(SIZE / (2 * Math.PI))
    .translate([SIZE / 2, SIZE / 2])
    .precision(0.2);
  const drawn = (shape: Parameters<ReturnType<typeof geoPath>>[0]) => {
    const path = new Path2D();
    geoPath(projection, path as unknown as CanvasRenderingContext2D)(shape);
    return path;
  };
  return {
    land: drawn(feature(atlas, atlas.objects.land)),
    borders: drawn(mesh(atlas, atlas.objects.countries, (a, b) => a !== b)),
  };
}
