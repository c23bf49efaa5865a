/** Deliveries: destinations with their cursors, retries, and dead letters. */
import { useState } from "preact/hooks";
import { get, may } from "../api";
import { type Delivery, type Destination, backlog } from "../documents";
import { plural, whole } from "../format";
import { useShortcuts } from "../keys";
import { usePolled } from "../polling";
import { address, go, place } from "../route";
import { Button, Code, Empty, Head, Note } from "../ui/basic";
import { Table } from "../ui/table";
import { DeliveryPanel } from "./delivery";
import { DestinationPanel } from "./destination";
import { DestinationDialog } from "./destination-dialog";
import { State } from "./overview";

function Destinations({ rows, chosen }: { rows: Destination[]; chosen: string | null }) {
  return (
    <Table
      label="Destinations"
      rows={rows}
      id={(one) => one.id}
      sorted={{ by: "Lag", down: true }}
      chosen={chosen ?? ""}
      pick={(one) => go("deliveries", { destination: one.id })}
      columns={[
        { name: "Destination", show: (one) => <a class="link" href={address("deliveries", { destination: one.id })}>{one.id}</a>, sort: (one) => one.id },
        { name: "State", show: (one) => <State one={one} />, sort: (one) => one.state ?? one.kind },
        { name: "Lag", show: (one) => whole(backlog(one)), sort: backlog, right: true },
        { name: "Cursor", wide: true, show: (one) => whole(one.acknowledged), sort: (one) => one.acknowledged, right: true },
        { name: "Newest", wide: true, show: (one) => whole(one.newest), sort: (one) => one.newest, right: true },
        { name: "Subscriptions", wide: true, show: (one) => whole(one.subscriptions), sort: (one) => one.subscriptions, right: true },
      ]}
    />
  );
}

export function Deliveries() {
  const found = usePolled((signal) => get<{ destinations: Destination[]; next?: string }>("/v1/destinations?limit=1000", signal), 1500);
  const [isNew, setNew] = useState(false);
  const [delivery, setDelivery] = useState<Delivery | null>(null);
  const chosen = place.value.options.get("destination");
  const rows = found.value?.destinations;
  const one = rows?.find((other) => other.id === chosen);
  useShortcuts([
    { key: "Escape", about: "Close the panel", run: () => (delivery ? setDelivery(null) : go("deliveries")) },
    ...(may("subscribe") ? [{ key: "n", about: "New destination", run: () => setNew(true) }] : []),
  ]);
  return (
    <>
      <Head title="Deliveries" about={rows ? `${plural(rows.length, "destination")}, ${whole(rows.reduce((sum, other) => sum + backlog(other), 0))} deliveries behind` : "Cursors, retries and dead letters"}>
        {may("subscribe") && (
          <Button icon="plus" onClick={() => setNew(true)}>
            New destination
          </Button>
        )}
      </Head>
      <div class="body fixed">
        {found.error && <Note tone="fail">{found.error}</Note>}
        <div class="card split">
          <div class="main scrolls">
            {rows?.length === 0 && (
              <Empty icon="deliveries" title="No destination yet">
                <p>A destination collects the matches of the subscriptions that name it, numbered 1, 2, 3, so that none is missed.</p>
                <Code>{`curl -X PUT ${location.origin}/v1/destinations/mobile --json '{"kind": "stream"}'`}</Code>
              </Empty>
            )}
            {rows && rows.length > 0 && <Destinations rows={rows} chosen={chosen} />}
            {found.value?.next && <p class="more faint">The first 1,000 destinations are shown.</p>}
          </div>
          {delivery ? (
            <DeliveryPanel one={delivery} close={() => setDelivery(null)} />
          ) : (
            one && <DestinationPanel one={one} close={() => go("deliveries")} changed={found.again} pick={setDelivery} />
          )}
        </div>
      </div>
      {isNew && (
        <DestinationDialog
          close={() => setNew(false)}
          made={(id) => {
            found.again();
            go("deliveries", { destination: id });
          }}
        />
      )}
    </>
  );
}
