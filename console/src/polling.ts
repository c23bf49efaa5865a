/** What a view asks for again and again, while the page is visible. */
import { useEffect, useRef, useState } from "preact/hooks";
import { told } from "./api";

export interface Polled<T> {
  value: T | undefined;
  error: string;
  again: () => void;
}

/** The last answer of `ask`, every `ms` milliseconds and whenever `inputs` change. Old answers stay while one is missing. */
export function usePolled<T>(ask: (signal: AbortSignal) => Promise<T>, ms: number, inputs: unknown[] = []): Polled<T> {
  const [value, setValue] = useState<T>();
  const [error, setError] = useState("");
  const [turn, setTurn] = useState(0);
  const current = useRef(ask);
  current.current = ask;
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const run = async () => {
      if (!document.hidden) {
        try {
          const found = await current.current(abort.signal);
          if (abort.signal.aborted) return;
          setValue(found);
          setError("");
        } catch (failure) {
          if (abort.signal.aborted) return;
          setError(told(failure));
        }
      }
      if (ms > 0) timer = window.setTimeout(run, ms);
    };
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [ms, turn, ...inputs]);
  return { value, error, again: () => setTurn((one) => one + 1) };
}
