/** Overview: is everything well, what is behind, which subscriptions are busy and which are silent. */
import { useEffect } from "preact/hooks";
import { get, may } from "../api";
import { type Activity, type Destination, backlog, isSent } from "../documents";
import { ago, duration, plural, rate, short, since, whole } from "../format";
import { history, now, trouble, watch } from "../metrics";
import { usePolled } from "../polling";
import { address, go } from "../route";
import { Badge, Code, Empty, Head, Note } from "../ui/basic";
import { Chart, Spark } from "../ui/chart";
import { Table } from "../ui/table";

function Tile({ label, value, unit, tone, values }: { label: string; value: string; unit?: string; tone: string; values: (number | null)[] }) {
  return (
    <div class="card tile">
      <span class="label">
        <i class={`dot ${tone}`} />
        {label}
      </span>
      <strong>
        {value}
        {unit && <small>{unit}</small>}
      </strong>
      <Spark values={values} tone={`tone-${tone}`} />
    </div>
  );
}

function Tiles() {
  const { events, matches, most } = history.value;
  const last = now.value;
  const shown = (value: number | null | undefined, as: (one: number) => string) => (value == null ? "–" : as(value));
  return (
    <div class="tiles">
      <Tile label="Events" value={shown(last?.events, rate)} unit="/s" tone="event" values={events} />
      <Tile label="Matches" value={shown(last?.matches, rate)} unit="/s" tone="ring" values={matches} />
      <Tile label="Publishing, p99" value={shown(last?.most, duration)} tone="well" values={most} />
      <Tile label="Subscriptions" value={shown(last?.values.get("tocsin_subscriptions"), short)} tone="faint" values={[]} />
    </div>
  );
}

function Charts() {
  const { times, events, matches, half, most } = history.value;
  return (
    <div class="grid three">
      <section class="card">
        <header>
          <h2>Events a second</h2>
        </header>
        <Chart label={`Events a second, now ${rate(now.value?.events ?? 0)}`} times={times} columns={[events]} lines={[{ label: "Events/s", colour: "event", fill: true, show: rate }]} />
      </section>
      <section class="card">
        <header>
          <h2>Matches a second</h2>
        </header>
        <Chart label={`Matches a second, now ${rate(now.value?.matches ?? 0)}`} times={times} columns={[matches]} lines={[{ label: "Matches/s", colour: "ring-line", fill: true, show: rate }]} />
      </section>
      <section class="card">
        <header>
          <h2>Time to publish an event</h2>
        </header>
        <Chart
          label={`Time from an event to its durable answer, the p99 is now ${duration(now.value?.most ?? NaN)}`}
          times={times}
          columns={[half, most]}
          lines={[
            { label: "p50", colour: "well", fill: true, show: duration },
            { label: "p99", colour: "ink-3", show: duration },
          ]}
        />
      </section>
    </div>
  );
}

export function State({ one }: { one: Destination }) {
  if (one.state === "disabled") return <Badge tone="fail">disabled</Badge>;
  if (one.state === "failing") return <Badge tone="wait">failing</Badge>;
  if (one.paused_until && new Date(one.paused_until) > new Date()) return <Badge tone="wait">paused</Badge>;
  return isSent(one) ? <Badge tone="well">healthy</Badge> : <Badge>stream</Badge>;
}

function Backlog({ destinations }: { destinations: Destination[] }) {
  const most = Math.max(...destinations.map(backlog), 1);
  return (
    <Table
      label="Destinations by backlog"
      rows={destinations}
      id={(one) => one.id}
      sorted={{ by: "Lag", down: true }}
      pick={(one) => go("deliveries", { destination: one.id })}
      columns={[
        { name: "Destination", show: (one) => <a class="link" href={address("deliveries", { destination: one.id })}>{one.id}</a>, sort: (one) => one.id },
        { name: "State", show: (one) => <State one={one} />, sort: (one) => one.state ?? one.kind },
        { name: "Lag", show: (one) => whole(backlog(one)), sort: backlog, right: true },
        {
          name: "",
          wide: true,
          show: (one) => (
            <svg class={`bar ${one.state === "disabled" ? "fail" : ""}`} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
              <rect width={(backlog(one) / most) * 100} height="4" />
            </svg>
          ),
        },
        { name: "Newest", wide: true, show: (one) => whole(one.newest), sort: (one) => one.newest, right: true },
        { name: "Subscriptions", wide: true, show: (one) => whole(one.subscriptions), sort: (one) => one.subscriptions, right: true },
      ]}
    />
  );
}

function Busiest({ activity }: { activity: Activity }) {
  if (activity.busiest.length === 0)
    return (
      <Empty icon="bell" title="Nothing has matched yet">
        <p>Counts begin when the server starts. Publish an event to see which subscriptions match.</p>
      </Empty>
    );
  return (
    <Table
      label="The busiest subscriptions"
      rows={activity.busiest}
      id={(one) => String(one.id)}
      sorted={{ by: "Matches", down: true }}
      columns={[
        { name: "Subscription", show: (one) => <a class="link mono" href={address("subscriptions", { id: String(one.id) })}>{String(one.id)}</a>, sort: (one) => String(one.id), clip: true },
        { name: "Matches", show: (one) => whole(one.matches), sort: (one) => one.matches, right: true },
        { name: "Last", show: (one) => ago(one.last), sort: (one) => one.last, right: true },
      ]}
    />
  );
}

function Silent({ activity }: { activity: Activity }) {
  if (activity.silent === 0)
    return (
      <Empty icon="check" title="No subscription is silent">
        <p>{activity.subscriptions ? "Each has matched at least one event since the server started." : "There are no subscriptions yet."}</p>
      </Empty>
    );
  return (
    <div class="pad grid">
      <p class="dim">
        {plural(activity.silent, "subscription")} of {whole(activity.subscriptions)} matched nothing in the {duration(since(activity.since))} since the server
        started. The first ones:
      </p>
      <div class="row wrap">
        {activity.first_silent.map((id) => (
          <a class="badge mono" key={id} href={address("subscriptions", { id: String(id) })}>
            {String(id)}
          </a>
        ))}
      </div>
    </div>
  );
}

export function Overview() {
  useEffect(watch, []);
  const isReader = may("read");
  const destinations = usePolled((signal) => get<{ destinations: Destination[] }>("/v1/destinations?limit=1000", signal), 2000);
  const activity = usePolled((signal) => (isReader ? get<Activity>("/v1/activity?limit=10", signal) : Promise.resolve(undefined)), 4000, [isReader]);
  const found = destinations.value?.destinations;
  return (
    <>
      <Head title="Overview" about="Rates and latencies since this page was opened, and which destinations are behind" />
      <div class="body grid">
        {trouble.value && <Note tone="fail">{trouble.value}</Note>}
        <Tiles />
        <Charts />
        <section class="card">
          <header>
            <h2>Backlog by destination</h2>
            <span class="push faint">{found && plural(found.length, "destination")}</span>
          </header>
          {destinations.error && <div class="pad"><Note tone="fail">{destinations.error}</Note></div>}
          {found && found.length > 0 && <Backlog destinations={found} />}
          {found?.length === 0 && (
            <Empty icon="deliveries" title="No destination yet">
              <p>A destination collects the matches of subscriptions. Make one in Deliveries, or so:</p>
              <Code>{`curl -X PUT ${location.origin}/v1/destinations/mobile --json '{"kind": "stream"}'`}</Code>
            </Empty>
          )}
        </section>
        {activity.error && <Note tone="fail">{activity.error}</Note>}
        {activity.value && (
          <div class="grid two">
            <section class="card">
              <header>
                <h2>Busiest subscriptions</h2>
              </header>
              <Busiest activity={activity.value} />
            </section>
            <section class="card">
              <header>
                <h2>Silent subscriptions</h2>
              </header>
              <Silent activity={activity.value} />
            </section>
          </div>
        )}
        {!isReader && <Note>The busiest subscriptions need a token with the scope read.</Note>}
      </div>
    </>
  );
}
