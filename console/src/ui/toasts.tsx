/** Short messages about what was done. They go by themselves; failures stay longer. */
import { signal } from "@preact/signals";
import { Button } from "./basic";
import { Icon } from "./icons";

interface Toast {
  number: number;
  text: string;
  tone: "well" | "fail";
}

const shown = signal<Toast[]>([]);
let last = 0;

export function say(text: string, tone: "well" | "fail" = "well"): void {
  const one = { number: ++last, text, tone };
  shown.value = [...shown.value.slice(-2), one];
  setTimeout(() => drop(one.number), tone === "fail" ? 12_000 : 5000);
}

const drop = (number: number) => {
  shown.value = shown.value.filter((one) => one.number !== number);
};

export function Toasts() {
  return (
    <div class="toasts" aria-live="polite">
      {shown.value.map((one) => (
        <div class="toast" key={one.number}>
          <span class={one.tone}>
            <Icon name={one.tone === "well" ? "check" : "alert"} />
          </span>
          <div>{one.text}</div>
          <span class="push">
            <Button small kind="plain" icon="close" label="Dismiss" onClick={() => drop(one.number)} />
          </span>
        </div>
      ))}
    </div>
  );
}
