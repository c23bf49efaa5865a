/** A new destination of any kind that the server has. */
import { useEffect, useState } from "preact/hooks";
import { call, part, told } from "../api";
import type { Destination } from "../documents";
import { type Kind, type Member, kinds, valueOf } from "../kinds";
import { Button, Code, Field, Note } from "../ui/basic";
import { Dialog } from "../ui/dialog";

const STREAM: Kind = { name: "stream", about: "clients read it", required: [] };

export function DestinationDialog({ close, made }: { close: () => void; made: (id: string) => void }) {
  const [id, setId] = useState("");
  const [known, setKnown] = useState([STREAM]);
  const [name, setName] = useState(STREAM.name);
  const [texts, setTexts] = useState<{ [member: string]: string }>({});
  const [further, setFurther] = useState("");
  const [secret, setSecret] = useState("");
  const [error, setError] = useState("");
  useEffect(() => {
    const asking = new AbortController();
    kinds(asking.signal).then(setKnown, (failure) => asking.signal.aborted || setError(told(failure)));
    return () => asking.abort();
  }, []);
  const kind = known.find((one) => one.name === name) ?? STREAM;
  const isSent = kind.name !== STREAM.name;
  const members = [...kind.required, ...(kind.secret && !kind.required.includes(kind.secret) ? [kind.secret] : [])];
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      const given = members.filter((one) => texts[one.name]).map((one) => [one.name, valueOf(one, texts[one.name]!)]);
      const options: unknown = isSent && further.trim() ? JSON.parse(further) : {};
      const body = { kind: kind.name, ...Object.fromEntries(given), ...(options as object) };
      const found = await call<Destination & { secret?: string }>("PUT", `/v1/destinations/${part(id)}`, { body, headers: { "If-None-Match": "*" } });
      made(found.id);
      if (found.secret) setSecret(found.secret);
      else close();
    } catch (failure) {
      setError(failure instanceof SyntaxError ? `The further options are not JSON: ${failure.message}` : told(failure));
    }
  };
  if (secret)
    return (
      <Dialog label="The secret of the destination" close={close}>
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
          <select class="select" value={name} onChange={(event) => setName(event.currentTarget.value)}>
            {known.map((one) => (
              <option key={one.name} value={one.name}>
                {`${one.name}: ${one.about}`}
              </option>
            ))}
          </select>
        </Field>
        {members.map((one) => (
          <Field key={`${name}.${one.name}`} label={label(one)}>
            <Input member={one} isRequired={kind.required.includes(one)} text={texts[one.name] ?? ""} change={(text) => setTexts({ ...texts, [one.name]: text })} />
          </Field>
        ))}
        {isSent && (
          <Field label="Further options">
            <textarea class="input area mono" rows={2} spellcheck={false} placeholder={'{"order": "any"}'} value={further} onInput={(event) => setFurther(event.currentTarget.value)} />
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

const label = (one: Member): string => (one.name === "url" ? "URL" : one.name.charAt(0).toUpperCase() + one.name.slice(1));

function Input({ member, isRequired, text, change }: { member: Member; isRequired: boolean; text: string; change: (text: string) => void }) {
  const type = member.isSecret ? "password" : member.name === "url" ? "url" : "text";
  return (
    <input class="input mono" type={type} value={text} required={isRequired} placeholder={member.name === "url" ? "https://example.org/hook" : member.about} autocomplete="off" onInput={(event) => change(event.currentTarget.value)} />
  );
}
