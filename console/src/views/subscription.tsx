/** The panel of a subscription: edit, check while typing, dry-run, save. */
import { useEffect, useState } from "preact/hooks";
import { Failure, answer, call, may, part, post, told } from "../api";
import type { Subscription } from "../documents";
import { duration, moment, plural, whole } from "../format";
import { useShortcuts } from "../keys";
import { Badge, Button, Field, Note } from "../ui/basic";
import { Editor } from "../ui/editor";
import { Histogram } from "../ui/histogram";
import { JsonView } from "../ui/json";
import { say } from "../ui/toasts";
import { type Checked, conditionOf, useCheck } from "./checking";
import { StateInWords, WhyNothing } from "./diagnosis";
import { type Choices, type Draft, LANGUAGES, draftOf, recordOf } from "./draft";

interface DryRan {
  events: number;
  matches: number;
  whole: boolean;
  from?: string;
  to?: string;
  histogram?: { width_s: number; counts: number[] };
  examples: { sequence: number; published: string; event: unknown }[];
}

function Verdict({ checked, isCurrent, where, language }: { checked: Checked | null; isCurrent: boolean; where: string; language: string }) {
  if (!where.trim() && language) return <p class="dim">A rule as {LANGUAGES[language] ?? language} has it. It is checked while you type.</p>;
  if (!where.trim())
    return (
      <p class="dim">
        For example <code>price &lt;= 580 AND model IN ('iphone5s', 'ipad2')</code> or <code>S_INTERSECTS(location, BBOX(-75, 40, -73, 42))</code>
      </p>
    );
  if (!checked) return <p class="faint">Checking…</p>;
  if (!checked.valid) {
    const { problem } = checked;
    return (
      <div class={isCurrent ? "" : "stale"}>
        <Note tone="fail">
          {problem?.line && `Line ${problem.line}, column ${problem.column}: `}
          {problem?.reason ?? problem?.detail}
          {problem?.hint && <p>{problem.hint}</p>}
          {problem?.caret && <pre class="caret">{problem.caret}</pre>}
        </Note>
      </div>
    );
  }
  return (
    <div class={`grid ${isCurrent ? "" : "stale"}`}>
      <div class="row wrap">
        <Badge tone="well">understood</Badge>
        {checked.attributes?.slice(0, 12).map((one) => (
          <span class="badge mono" key={one}>
            {one}
          </span>
        ))}
      </div>
      {checked.warnings?.map((one) => (
        <Note tone="wait" key={one.condition}>
          <code>{one.condition}</code>: {one.reason}
        </Note>
      ))}
    </div>
  );
}

function Dry({ run }: { run: DryRan }) {
  if (run.events === 0)
    return <Note>No events are kept yet, so there is nothing to try it on. Publish some, then run it again.</Note>;
  const share = (run.matches / run.events) * 100;
  const seconds = run.from && run.to ? (new Date(run.to).getTime() - new Date(run.from).getTime()) / 1000 : 0;
  return (
    <div class="grid" aria-label="The dry run">
      <p>
        <strong>{plural(run.matches, "match", "matches")}</strong>
        <span class="dim">
          {" "}
          in {run.whole ? "all" : "the last"} {plural(run.events, "event")} of {duration(seconds)} ({share < 10 ? share.toPrecision(2) : Math.round(share)} %)
        </span>
      </p>
      {run.histogram && <Histogram from={run.from!} to={run.to!} {...run.histogram} />}
      {run.examples.slice(0, 3).map((one) => (
        <details key={one.sequence}>
          <summary>
            Event {whole(one.sequence)} <span class="faint">{moment(one.published)}</span>
          </summary>
          <JsonView value={one.event} label={`Event ${one.sequence}`} />
        </details>
      ))}
    </div>
  );
}

/** All fields but the id and the condition. */
function Fields({ draft, set, choices }: { draft: Draft; set: (changes: Partial<Draft>) => void; choices: Choices }) {
  const field = (name: keyof Draft) => ({ value: draft[name], onInput: (event: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) => set({ [name]: event.currentTarget.value }) });
  const chosen = (name: keyof Draft) => ({ value: draft[name], onChange: (event: { currentTarget: HTMLSelectElement }) => set({ [name]: event.currentTarget.value }) });
  return (
    <>
      <div class="fields">
        <Field label="Destination">
          <select class="select" {...chosen("destination")}>
            <option value="">None: matches are only counted</option>
            {choices.destinations.map((target) => (
              <option key={target.id}>{target.id}</option>
            ))}
          </select>
        </Field>
        <Field label="Fence">
          <select class="select" {...chosen("fence")}>
            <option value="">None: each match is sent</option>
            {choices.fences.map((fence) => (
              <option key={fence.name}>{fence.name}</option>
            ))}
          </select>
        </Field>
        <Field label="Paused until">
          <input class="input num" type="datetime-local" step="1" {...field("paused_until")} />
        </Field>
        <Field label="Expires">
          <input class="input num" type="datetime-local" step="1" {...field("expires_at")} />
        </Field>
        <Field label="At most once in … seconds">
          <input class="input num" inputMode="decimal" placeholder="no limit" {...field("throttle_s")} />
        </Field>
        <Field label="Score">
          <input class="input num" inputMode="decimal" placeholder="1" {...field("score")} />
        </Field>
      </div>
      <Field label="Payload, as JSON">
        <textarea class="input area mono" rows={3} spellcheck={false} placeholder={'{"mail": "a@example.org"}'} {...field("payload")} />
      </Field>
      <Field label="Weights of attributes for rankings, as JSON">
        <textarea class="input area mono" rows={draft.weights ? 3 : 1} spellcheck={false} placeholder={'{"price": 2.5}'} {...field("weights")} />
      </Field>
    </>
  );
}

interface Props {
  one: Subscription | null;
  fresh?: Partial<Draft>;
  choices: Choices;
  close: () => void;
  changed: (id: string | null) => void;
}

export function SubscriptionPanel({ one, fresh = {}, choices, close, changed }: Props) {
  const [draft, setDraft] = useState(() => draftOf(one, fresh));
  const [ran, setRan] = useState<DryRan | null>(null);
  const [isBusy, setBusy] = useState("");
  const [error, setError] = useState("");
  const [isSure, setSure] = useState(false);
  const { checked, isCurrent, error: unchecked } = useCheck(draft.where, draft.language);
  useEffect(() => setRan(null), [draft.where, draft.language]);
  const set = (changes: Partial<Draft>) => setDraft((before) => ({ ...before, ...changes }));
  const field = (name: keyof Draft) => ({ value: draft[name], onInput: (event: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) => set({ [name]: event.currentTarget.value }) });
  const isReady = draft.id.trim() !== "" && checked?.valid === true && isCurrent;
  const attempt = async (what: string, run: () => Promise<void>) => {
    setBusy(what);
    setError("");
    try {
      await run();
    } catch (failure) {
      const isOld = failure instanceof Failure && failure.status === 412;
      setError(isOld ? (one ? "Somebody changed it meanwhile. Close the panel and open it again; your text is still here to copy." : "A subscription with this id exists already. Choose another id.") : failure instanceof SyntaxError ? failure.message : told(failure));
    }
    setBusy("");
  };
  const dryRun = () => attempt("dry", async () => setRan(await post<DryRan>("/v1/dry-run", { where: conditionOf(draft.where, draft.language), ...(draft.language && { language: draft.language }) })));
  const save = () =>
    attempt("save", async () => {
      const headers: Record<string, string> = one ? { "If-Match": `"${one.sequence}"` } : { "If-None-Match": "*" };
      await call("PUT", `/v1/subscriptions/${part(draft.id)}`, { body: recordOf(draft, one), headers });
      say(`The subscription ${draft.id} is saved.`);
      changed(draft.id);
    });
  const remove = () =>
    attempt("remove", async () => {
      await answer("DELETE", `/v1/subscriptions/${part(draft.id)}`, { headers: { "If-Match": `"${one!.sequence}"` } });
      say(`The subscription ${draft.id} is deleted.`);
      changed(null);
    });
  useShortcuts([
    { key: "Ctrl s", about: "Save the subscription", always: true, run: () => void (isReady && save()) },
    { key: "Escape", about: "Close the panel", run: close },
  ]);
  const mistake = isCurrent && checked?.problem?.line ? { line: checked.problem.line, column: checked.problem.column ?? 1 } : undefined;
  return (
    <section class="panel wide" aria-label="The subscription">
      <header>
        <h2>{one ? String(one.id) : "New subscription"}</h2>
        {one && <Badge>{`change ${whole(one.sequence)}`}</Badge>}
        <span class="push" />
        {one && may("subscribe") && (isSure ? (
          <Button small kind="danger" icon="trash" onClick={() => void remove()} onBlur={() => setSure(false)} autofocus>
            Delete it
          </Button>
        ) : (
          <Button small kind="plain" icon="trash" label="Delete" onClick={() => setSure(true)} />
        ))}
        <Button small kind="plain" icon="close" label="Close" onClick={close} />
      </header>
      <div class="scroll">
        {!one && (
          <Field label="Id">
            <input class="input mono" placeholder="cheap-phones" maxLength={256} {...field("id")} />
          </Field>
        )}
        {one && <StateInWords one={one} />}
        <div class="field">
          <div class="row wrap">
            <span class="label">Condition</span>
            <select class="select small push" aria-label="Language of the condition" value={draft.language} onChange={(event) => set({ language: event.currentTarget.value })}>
              {Object.entries(LANGUAGES).map(([name, title]) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
          </div>
          <Editor label="Condition" value={draft.where} change={(where) => set({ where })} mistake={mistake} describedBy="verdict" submit={() => void dryRun()} />
          <div id="verdict" aria-live="polite">
            {unchecked ? <Note tone="fail">{unchecked}</Note> : <Verdict checked={checked} isCurrent={isCurrent} where={draft.where} language={draft.language} />}
          </div>
        </div>
        <Fields draft={draft} set={set} choices={choices} />
        {ran && <Dry run={ran} />}
        {one && <WhyNothing one={one} where={draft.where} language={draft.language} />}
        {error && <Note tone="fail">{error}</Note>}
      </div>
      <footer>
        <Button disabled={!checked?.valid || !isCurrent || isBusy !== ""} icon="overview" onClick={() => void dryRun()}>
          {isBusy === "dry" ? "Trying…" : "Dry-run"}
        </Button>
        <span class="faint">on the events that are kept</span>
        <span class="push" />
        {may("subscribe") ? (
          <Button kind="main" disabled={!isReady || isBusy !== ""} onClick={() => void save()}>
            Save
          </Button>
        ) : (
          <span class="faint">Saving needs the scope subscribe</span>
        )}
      </footer>
    </section>
  );
}
