/** Publishing by hand: an event as JSON, with what became of it. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { post, told } from "../api";
import type { Id } from "../documents";
import { plural, pretty, whole } from "../format";
import { kept } from "../stored";
import { Badge, Button, Note } from "../ui/basic";
import { Dialog } from "../ui/dialog";

export const isPublishing = signal(false);
const EXAMPLE = pretty({ model: "iphone5s", price: 550 });
/** The last event that was published from this browser. It is offered, and never filled in by itself. */
const last = kept("publish.last", "");

interface Published {
  sequence: number;
  matches: number;
  deliveries: number;
  suppressed?: number;
}

/** The event of a text, or why it is not one. */
export function eventOf(text: string): { event?: Record<string, unknown>; error: string } {
  try {
    const event: unknown = JSON.parse(text);
    if (typeof event !== "object" || event === null || Array.isArray(event)) return { error: 'An event is a JSON object, such as {"price": 550}.' };
    return { event: event as Record<string, unknown>, error: "" };
  } catch (error) {
    return { error: `This is not JSON: ${(error as Error).message}` };
  }
}

function Result({ one }: { one: Published }) {
  if (one.matches === 0) return <Note tone="wait">Event {whole(one.sequence)} is published. It matched no subscription; Explain shows which ones it missed narrowly.</Note>;
  const suppressed = one.suppressed ? `, ${whole(one.suppressed)} suppressed by a throttle or a pause` : "";
  return (
    <Note tone="well">
      Event {whole(one.sequence)} is published: {plural(one.matches, "match", "matches")}, {plural(one.deliveries, "delivery", "deliveries")}
      {suppressed}.
    </Note>
  );
}

export function PublishDialog() {
  const [result, setResult] = useState<Published | null>(null);
  const [found, setFound] = useState<Id[] | null>(null);
  const [error, setError] = useState("");
  const [text, setText] = useState("");
  const run = async (isTrial: boolean) => {
    const { event, error: wrong } = eventOf(text);
    setResult(null);
    setFound(null);
    setError(wrong);
    if (!event) return;
    try {
      if (isTrial) setFound((await post<{ matches: { id: Id }[] }>("/v1/match", event)).matches.map((one) => one.id));
      else {
        setResult(await post<Published>("/v1/events", event, { headers: { "Idempotency-Key": crypto.randomUUID?.() ?? String(Math.random()) } }));
        last.value = text;
      }
    } catch (failure) {
      setError(told(failure));
    }
  };
  return (
    <Dialog label="Publish an event" close={() => (isPublishing.value = false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(false);
        }}
      >
        <div>
          <h1>Publish an event</h1>
          <p class="dim">It is stored, matched and delivered like any other. “Only match” stores nothing.</p>
        </div>
        <textarea
          class="input area mono"
          aria-label="The event as JSON"
          rows={10}
          spellcheck={false}
          placeholder={EXAMPLE}
          value={text}
          autofocus
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && text.trim()) void run(false);
          }}
        />
        {error && <Note tone="fail">{error}</Note>}
        {result && <Result one={result} />}
        {found && (
          <div class="grid">
            <p class="dim">{found.length ? `It would match ${plural(found.length, "subscription")}:` : "It would match no subscription."}</p>
            <div class="row wrap">
              {found.slice(0, 30).map((id) => (
                <Badge tone="ring" key={id}>
                  {String(id)}
                </Badge>
              ))}
            </div>
          </div>
        )}
        <div class="ends">
          <span class="faint">
            <kbd>Ctrl</kbd> <kbd>Enter</kbd>
          </span>
          {last.value && !text && (
            <Button kind="plain" onClick={() => setText(last.value)}>
              Use the last one
            </Button>
          )}
          <span class="push" />
          <Button disabled={!text.trim()} onClick={() => void run(true)}>
            Only match
          </Button>
          <Button type="submit" kind="main" icon="publish" disabled={!text.trim()}>
            Publish
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
