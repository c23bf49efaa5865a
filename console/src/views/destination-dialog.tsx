/** A new destination: a stream that clients read, or a webhook that the service posts to. */
import { useState } from "preact/hooks";
import { call, part, told } from "../api";
import type { Destination } from "../documents";
import { Button, Code, Field, Note } from "../ui/basic";
import { Dialog } from "../ui/dialog";

export function DestinationDialog({ close, made }: { close: () => void; made: (id: string) => void }) {
  const [id, setId] = useState("");
  const [kind, setKind] = useState("stream");
  const [url, setUrl] = useState("");
  const [secret, setSecret] = useState("");
  const [error, setError] = useState("");
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      const body = kind === "webhook" ? { kind, url } : { kind };
      const found = await call<Destination & { secret?: string }>("PUT", `/v1/destinations/${part(id)}`, { body, headers: { "If-None-Match": "*" } });
      made(found.id);
      if (found.secret) setSecret(found.secret);
      else close();
    } catch (failure) {
      setError(told(failure));
    }
  };
  if (secret)
    return (
      <Dialog label="The secret of the webhook" close={close}>
        <div class="inside">
          <h1>The secret of {id}</h1>
          <p class="dim">The receiver verifies each request with it. It is shown this once.</p>
          <Code>{secret}</Code>
          <div class="ends">
            <Button kind="main" onClick={close}>
              I have stored it
            </Button>
          </div>
        </div>
      </Dialog>
    );
  return (
    <Dialog label="New destination" close={close}>
      <form onSubmit={save}>
        <div>
          <h1>New destination</h1>
          <p class="dim">It collects the matches of the subscriptions that name it.</p>
        </div>
        <Field label="Id">
          <input class="input mono" value={id} placeholder="mobile" required maxLength={256} onInput={(event) => setId(event.currentTarget.value)} autofocus />
        </Field>
        <Field label="Kind">
          <select class="select" value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
            <option value="stream">stream: clients read it</option>
            <option value="webhook">webhook: the service posts to a URL</option>
          </select>
        </Field>
        {kind === "webhook" && (
          <Field label="URL">
            <input class="input mono" type="url" placeholder="https://example.org/hook" value={url} required onInput={(event) => setUrl(event.currentTarget.value)} />
          </Field>
        )}
        {error && <Note tone="fail">{error}</Note>}
        <div class="ends">
          <Button type="submit" kind="main" disabled={!id.trim()}>
            Make it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
