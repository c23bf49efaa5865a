/** Server-sent events over `fetch`: like EventSource, but a lost login is told, and the place can be given. */
export interface Sent {
  id: string;
  kind: string;
  data: string;
}

const SILENT_MS = 40_000; // the service sends something every 15 s

/** Read a response until it ends; calls `take` with the events of each piece that arrives. */
export async function readEvents(response: Response, take: (events: Sent[]) => void, abort: AbortController): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let timer = window.setTimeout(() => abort.abort(), SILENT_MS);
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = window.setTimeout(() => abort.abort(), SILENT_MS);
      rest += value;
      const end = rest.lastIndexOf("\n\n");
      if (end < 0) continue;
      const blocks = rest.slice(0, end).split("\n\n");
      rest = rest.slice(end + 2);
      const events = blocks.map(parsed).filter((one): one is Sent => one !== null);
      if (events.length > 0) take(events);
    }
  } finally {
    clearTimeout(timer);
  }
}

export function parsed(block: string): Sent | null {
  let id = "";
  let kind = "message";
  let data: string | null = null;
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(line.charAt(colon + 1) === " " ? colon + 2 : colon + 1);
    const name = line.slice(0, colon);
    if (name === "id") id = value;
    else if (name === "event") kind = value;
    else if (name === "data") data = data === null ? value : `${data}\n${value}`;
  }
  return data === null ? null : { id, kind, data };
}
