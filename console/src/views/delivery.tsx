/** The panel of a delivery: its event, who matched, and why. */
import { useEffect, useState } from "preact/hooks";
import { call, post, told } from "../api";
import type { Delivery, Id } from "../documents";
import { duration, moment, plural, whole } from "../format";
import { address } from "../route";
import { Badge, Button, Note } from "../ui/basic";
import { type Explained, Tree } from "../ui/explanation";
import { JsonView } from "../ui/json";

function Why({ id, event, isChange }: { id: Id; event: unknown; isChange: boolean }) {
  const [found, setFound] = useState<Explained | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    setFound(null);
    post<Explained>("/v1/explain", { id, event }, { signal: abort.signal }).then(setFound, (failure) => {
      if (!abort.signal.aborted) setError(told(failure));
    });
    return () => abort.abort();
  }, [id, event]);
  if (error) return <Note tone="fail">{error}</Note>;
  if (!found) return <p class="faint">Asking why…</p>;
  if (isChange) return <Tree text={found.text} />;
  return (
    <div class="grid">
      {!found.matches && <Note tone="wait">The subscription was changed since: as it is now, it does not match this event.</Note>}
      <Tree text={found.text} />
    </div>
  );
}

export function DeliveryPanel({ one, close }: { one: Delivery; close: () => void }) {
  const [chosen, setChosen] = useState<Id | undefined>(one.subscriptions[0]?.id);
  const [more, setMore] = useState<Delivery["subscriptions"]>([]);
  useEffect(() => {
    setChosen(one.subscriptions[0]?.id);
    setMore([]);
  }, [one.key]);
  const all = [...one.subscriptions, ...more];
  const match = all.find((other) => other.id === chosen);
  const count = one.count ?? one.subscriptions.length;
  return (
    <section class="panel" aria-label="The delivery">
      <header>
        <h2>{one.destination}</h2>
        <Badge>{`#${whole(one.sequence)}`}</Badge>
        <span class="faint">{moment(one.published)}</span>
        <span class="push" />
        <Button small kind="plain" icon="close" label="Close" onClick={close} />
      </header>
      <div class="scroll">
        <div class="grid">
          <div class="row">
            <h3>Event</h3>
            <a class="link push" href={address("explain", { event: JSON.stringify(one.event) })}>
              Explain it
            </a>
          </div>
          <JsonView value={one.event} label="The event" />
        </div>
        <div class="grid">
          <h3>{plural(count, "matching subscription")}</h3>
          <div class="row wrap picks">
            {all.slice(0, 200).map((other) => (
              <button key={other.id} type="button" class="badge ring mono" aria-pressed={other.id === chosen} onClick={() => setChosen(other.id)}>
                {String(other.id)}
              </button>
            ))}
            {one.more && more.length === 0 && (
              <Button small kind="plain" onClick={() => void call<{ subscriptions: Delivery["subscriptions"] }>("GET", one.more!).then((next) => setMore(next.subscriptions))}>
                More
              </Button>
            )}
          </div>
          {all.length > 200 && <p class="faint">The first 200 are shown.</p>}
        </div>
        {chosen !== undefined && match?.message === undefined && (
          <div class="grid">
            <div class="row">
              <h3>{match?.change === "exit" ? "Why it left" : "Why it matched"}</h3>
              <a class="link push" href={address("subscriptions", { id: String(chosen) })}>
                Open the subscription
              </a>
            </div>
            <Why id={chosen} event={one.event} isChange={match?.change !== undefined} />
          </div>
        )}
        {match?.change && (
          <Note>
            {match.fence ? `The fence ${match.fence}: ${String(match.object)} made the change “${match.change}”` : `The list of ${String(match.id)} changed: ${String(match.message)}, ${match.change}`}
            {match.seconds ? `, after ${duration(match.seconds)} inside.` : "."}
          </Note>
        )}
        {match?.left_out?.includes("payload") && (
          <Note>
            The delivery was too large for the payload. <a class="link" href={address("subscriptions", { id: String(match.id) })}>The subscription</a> has it.
          </Note>
        )}
        {match && match.payload !== null && (
          <div class="grid">
            <h3>Payload</h3>
            <JsonView value={match.payload} label="The payload" />
          </div>
        )}
        <p class="faint mono">{one.key}</p>
      </div>
    </section>
  );
}
