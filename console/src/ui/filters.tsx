/** Saved filters: a name for what is set now, kept by this browser. */
import type { Signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Button } from "./basic";
import { say } from "./toasts";

export interface Saved<T> {
  name: string;
  filter: T;
}

interface Props<T> {
  saved: Signal<Saved<T>[]>;
  current: T;
  isSet: boolean;
  use: (filter: T) => void;
}

export function SavedFilters<T>({ saved, current, isSet, use }: Props<T>) {
  const [name, setName] = useState<string | null>(null);
  const same = (one: Saved<T>) => JSON.stringify(one.filter) === JSON.stringify(current);
  const save = (event: Event) => {
    event.preventDefault();
    const text = name?.trim();
    if (!text) return;
    saved.value = [...saved.value.filter((one) => one.name !== text), { name: text, filter: current }];
    setName(null);
    say(`The filter ${text} is saved in this browser.`);
  };
  return (
    <div class="row wrap">
      {saved.value.map((one) => (
        <span class={`chip ${same(one) ? "on" : ""}`} key={one.name}>
          <button type="button" onClick={() => use(one.filter)}>
            {one.name}
          </button>
          <button type="button" aria-label={`Forget the filter ${one.name}`} onClick={() => (saved.value = saved.value.filter((other) => other !== one))}>
            ×
          </button>
        </span>
      ))}
      {isSet && name === null && !saved.value.some(same) && (
        <Button small kind="plain" icon="bookmark" onClick={() => setName("")}>
          Save filter
        </Button>
      )}
      {name !== null && (
        <form class="row" onSubmit={save}>
          <input class="input" aria-label="Name of the filter" placeholder="Name of the filter" value={name} autofocus onInput={(event) => setName(event.currentTarget.value)} onKeyDown={(event) => event.key === "Escape" && setName(null)} />
          <Button small type="submit">
            Save
          </Button>
        </form>
      )}
    </div>
  );
}
