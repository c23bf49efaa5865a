/** Subscriptions: search, read, edit. */
import { useEffect, useState } from "preact/hooks";
import { get, may, part, told } from "../api";
import type { Destination, Subscription } from "../documents";
import { whole } from "../format";
import { useShortcuts } from "../keys";
import { usePolled } from "../polling";
import { address, go, place } from "../route";
import { kept } from "../stored";
import { now, watch } from "../metrics";
import { Button, Code, Empty, Head, Note } from "../ui/basic";
import { type Saved, SavedFilters } from "../ui/filters";
import { Table } from "../ui/table";
import { StateBadge } from "./diagnosis";
import type { Fence } from "./draft";
import { SubscriptionPanel } from "./subscription";

interface Filter {
  search: string;
  destination: string;
}
interface Page {
  subscriptions: Subscription[];
  next?: string;
}

const PAGE = 100;
const MOST_EMPTY = 40; // pages that may find nothing, before somebody is asked whether to go on
const saved = kept<Saved<Filter>[]>("subscriptions.filters", []);

function pathOf(filter: Filter, after?: string): string {
  const query = new URLSearchParams({ limit: String(PAGE) });
  if (filter.search) query.set("search", filter.search);
  if (filter.destination) query.set("destination", filter.destination);
  if (after !== undefined) query.set("after", after);
  return `/v1/subscriptions?${query}`;
}

/** Pages until one shows something new: a page of a search may be empty although there are more. */
async function pages(filter: Filter, after: string | undefined, signal: AbortSignal): Promise<Page> {
  for (let turn = 0; ; turn++) {
    const page = await get<Page>(pathOf(filter, after), signal);
    if (page.subscriptions.length > 0 || page.next === undefined || turn >= MOST_EMPTY) return page;
    after = page.next;
  }
}

function useSubscriptions(filter: Filter, turn: number) {
  const [found, setFound] = useState<Page | null>(null);
  const [error, setError] = useState("");
  const load = (before: Page | null, signal: AbortSignal) =>
    pages(filter, before?.next, signal).then(
      (page) => {
        setFound({ ...page, subscriptions: [...(before?.subscriptions ?? []), ...page.subscriptions] });
        setError("");
      },
      (failure) => signal.aborted || setError(told(failure)),
    );
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => void load(null, abort.signal), filter.search ? 180 : 0);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [filter.search, filter.destination, turn]);
  return { found, error, more: () => found && void load(found, new AbortController().signal) };
}

function Nothing({ filter, add }: { filter: Filter; add: () => void }) {
  if (filter.search || filter.destination)
    return (
      <Empty icon="search" title="No subscription has that">
        <p>The search looks at ids, conditions and payloads. Letters from A to Z are found in either case.</p>
      </Empty>
    );
  return (
    <Empty icon="subscriptions" title="No subscription yet">
      <p>A subscription is a condition that waits for events. Write the first one here, or so:</p>
      <Code>{`curl -X PUT ${location.origin}/v1/subscriptions/s1 --json '{"where": "price <= 580"}'`}</Code>
      {may("subscribe") && (
        <Button kind="main" icon="plus" onClick={add}>
          New subscription
        </Button>
      )}
    </Empty>
  );
}

export function Subscriptions() {
  useEffect(watch, []);
  const [filter, setFilter] = useState<Filter>({ search: "", destination: place.value.options.get("destination") ?? "" });
  const [turn, setTurn] = useState(0);
  const [open, setOpen] = useState<{ one: Subscription | null; number: number } | null>(null);
  const [missing, setMissing] = useState("");
  const { found, error, more } = useSubscriptions(filter, turn);
  const destinations = usePolled((signal) => get<{ destinations: Destination[] }>("/v1/destinations?limit=1000", signal), 0, [turn]);
  const fences = usePolled((signal) => get<{ fences: Fence[] }>("/v1/fences?limit=1000", signal), 0, [turn]);
  const id = place.value.options.get("id");
  const isNew = place.value.options.has("new");
  const show = (one: Subscription | null) => setOpen((before) => ({ one, number: (before?.number ?? 0) + 1 }));
  useEffect(() => {
    setMissing("");
    if (isNew) show(null);
    else if (id === null) setOpen(null);
    else get<Subscription>(`/v1/subscriptions/${part(id)}`).then(show, (failure) => (setOpen(null), setMissing(told(failure))));
  }, [id, isNew, turn]);
  const add = () => go("subscriptions", { new: "1" });
  useShortcuts([
    { key: "/", about: "Search", run: () => document.getElementById("search")?.focus() },
    ...(may("subscribe") ? [{ key: "n", about: "New subscription", run: add }] : []),
  ]);
  const total = now.value?.values.get("tocsin_subscriptions");
  const rows = found?.subscriptions ?? [];
  return (
    <>
      <Head title="Subscriptions" about={total === undefined ? "Conditions that wait for events" : `${whole(total)} conditions wait for events`}>
        {may("subscribe") && (
          <Button kind="main" icon="plus" onClick={add}>
            New subscription
          </Button>
        )}
      </Head>
      <div class="body fixed">
        <div class="tools">
          <input class="input search" id="search" type="search" aria-label="Search in ids, conditions and payloads" placeholder="Search ids, conditions, payloads  /" value={filter.search} onInput={(event) => setFilter({ ...filter, search: event.currentTarget.value })} />
          <select class="select" aria-label="Destination" value={filter.destination} onChange={(event) => setFilter({ ...filter, destination: event.currentTarget.value })}>
            <option value="">All destinations</option>
            {destinations.value?.destinations.map((one) => (
              <option key={one.id}>{one.id}</option>
            ))}
          </select>
          <SavedFilters saved={saved} current={filter} isSet={Boolean(filter.search || filter.destination)} use={setFilter} />
        </div>
        {(error || missing) && <Note tone="fail">{error || missing}</Note>}
        <div class="card split">
          <div class="main scrolls">
            {found && rows.length === 0 && !error && <Nothing filter={filter} add={add} />}
            {rows.length > 0 && (
              <Table
                label="Subscriptions"
                rows={rows}
                id={(one) => String(one.id)}
                chosen={id ?? ""}
                pick={(one) => go("subscriptions", { id: String(one.id) })}
                columns={[
                  { name: "Id", show: (one) => <a class="link mono" href={address("subscriptions", { id: String(one.id) })}>{String(one.id)}</a> },
                  { name: "Condition", show: (one) => <code class="dim">{typeof one.where === "string" ? one.where : JSON.stringify(one.where)}</code>, clip: true },
                  { name: "State", show: (one) => <StateBadge one={one} />, wide: true },
                  { name: "Destination", wide: true, show: (one) => (one.destination ? <span class="badge">{one.destination}</span> : <span class="faint">–</span>) },
                ]}
              />
            )}
            {found?.next !== undefined && (
              <div class="more">
                <Button onClick={more}>Show more</Button>
              </div>
            )}
          </div>
          {open && (
            <SubscriptionPanel
              key={`${open.one?.id ?? "new"}-${open.one?.sequence ?? 0}-${open.number}`}
              one={open.one}
              choices={{ destinations: destinations.value?.destinations ?? [], fences: fences.value?.fences ?? [] }}
              close={() => go("subscriptions")}
              changed={(saved) => {
                go("subscriptions", saved === null ? {} : { id: saved });
                setTurn((before) => before + 1);
              }}
            />
          )}
        </div>
      </div>
    </>
  );
}
