/** An explanation as a tree: which conditions hold, which fail, and what would make them hold. */
import { Icon } from "./icons";

export interface Explained {
  matches: boolean;
  truth: boolean | null;
  text: string;
}

const LINE = /^(\s*)(holds|fails|unknown)\s+(.*)$/;
const NEEDED = /^(.*?)(?:; needed: (.*))?$/s;

function Finding({ depth, mark, text }: { depth: number; mark: string; text: string }) {
  const [, about = text, needed] = NEEDED.exec(text) ?? [];
  const colon = about.lastIndexOf(": ");
  const [condition, came] = colon < 0 ? [about, ""] : [about.slice(0, colon), about.slice(colon + 2)];
  const icon = mark === "holds" ? "check" : mark === "fails" ? "close" : "explain";
  return (
    <li class={`finding ${mark}`} data-depth={Math.min(depth, 8)}>
      <Icon name={icon} size={14} />
      <div>
        <span class="hidden-text">{mark}: </span>
        <code>{condition}</code>
        {came && <code class="came">{came}</code>}
        {needed && (
          <p class="needed">
            would match if <code>{needed}</code>
          </p>
        )}
      </div>
    </li>
  );
}

/** The lines below the headline of the service's text, each with its depth. */
export function Tree({ text }: { text: string }) {
  const lines = text.split("\n").slice(1);
  return (
    <ul class="tree">
      {lines.map((line, place) => {
        const found = LINE.exec(line);
        const depth = Math.floor((line.length - line.trimStart().length) / 2);
        if (found) return <Finding key={place} depth={depth} mark={found[2]!} text={found[3]!} />;
        return (
          <li key={place} class="group" data-depth={Math.min(depth, 8)}>
            {line.trim()}
          </li>
        );
      })}
    </ul>
  );
}
