/** Tables whose headings sort. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "./icons";

export interface Column<Row> {
  name: string;
  show: (row: Row) => ComponentChildren;
  /** The value to sort by; without one the column does not sort. */
  sort?: (row: Row) => number | string;
  right?: boolean;
  clip?: boolean;
  /** Left out where the page is narrow. */
  wide?: boolean;
}

interface Props<Row> {
  label: string;
  rows: Row[];
  columns: Column<Row>[];
  id: (row: Row) => string;
  sorted?: { by: string; down: boolean };
  chosen?: string;
  pick?: (row: Row) => void;
}

const classes = <Row,>(one: Column<Row>) => [one.right && "right", one.clip && "clip", one.wide && "wide-only"].filter(Boolean).join(" ");

function compared(one: number | string, other: number | string): number {
  return typeof one === "string" && typeof other === "string" ? one.localeCompare(other) : Number(one) - Number(other);
}

export function Table<Row>({ label, rows, columns, id, sorted, chosen, pick }: Props<Row>) {
  const [order, setOrder] = useState(sorted);
  const by = columns.find((one) => one.name === order?.by)?.sort;
  const shown = by && order ? rows.toSorted((a, b) => compared(by(a), by(b)) * (order.down ? -1 : 1)) : rows;
  const turn = (column: Column<Row>) =>
    setOrder((now) => ({ by: column.name, down: now?.by === column.name ? !now.down : column.right === true }));
  return (
    <table class="table" aria-label={label}>
      <thead>
        <tr>
          {columns.map((one) => {
            const is = order?.by === one.name;
            return (
              <th key={one.name} class={classes(one)} aria-sort={is ? (order.down ? "descending" : "ascending") : undefined}>
                {one.sort ? (
                  <button type="button" onClick={() => turn(one)}>
                    {one.name}
                    {is && <Icon name={order.down ? "down" : "up"} size={12} />}
                  </button>
                ) : (
                  one.name
                )}
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody>
        {shown.map((row) => (
          <tr key={id(row)} class={pick ? "pick" : ""} aria-selected={chosen === undefined ? undefined : chosen === id(row)} onClick={pick && (() => pick(row))}>
            {columns.map((one) => (
              <td key={one.name} class={classes(one)}>
                {one.show(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
