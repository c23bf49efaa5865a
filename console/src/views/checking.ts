/** The service's opinion of a condition, asked while somebody types. */
import { useEffect, useState } from "preact/hooks";
import { post, told } from "../api";

export interface Checked {
  valid: boolean;
  text?: string;
  attributes?: string[];
  warnings?: { condition: string; reason: string }[];
  problem?: { detail: string; line?: number; column?: number; reason?: string; hint?: string | null; caret?: string | null };
}

const WAIT_MS = 140;

/** The last answer for `where`, and whether it is about the text as it is now. */
export function useCheck(where: string, language = ""): { checked: Checked | null; isCurrent: boolean; error: string } {
  const [found, setFound] = useState<{ where: string; language: string; checked: Checked } | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    if (!where.trim()) {
      setFound(null);
      return;
    }
    const abort = new AbortController();
    const timer = setTimeout(() => {
      post<Checked>("/v1/check", { where: conditionOf(where, language), ...(language && { language }) }, { signal: abort.signal }).then(
        (checked) => (setFound({ where, language, checked }), setError("")),
        (failure) => abort.signal.aborted || setError(told(failure)),
      );
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [where, language]);
  return { checked: found?.checked ?? null, isCurrent: found?.where === where && found.language === language, error };
}

/** A condition as the service takes it: CQL2 JSON is an object, all else is text, and rules of other languages are, too. */
export function conditionOf(text: string, language = ""): unknown {
  if (language || !text.trimStart().startsWith("{")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
