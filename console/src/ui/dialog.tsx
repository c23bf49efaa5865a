/** A dialog of the browser: it keeps the focus, and Escape closes it. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Dialog({ label, close, children }: { label: string; close: () => void; children: ComponentChildren }) {
  const own = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    own.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={own}
      aria-label={label}
      onClose={close}
      onMouseDown={(event) => {
        if (event.target === own.current) own.current?.close();
      }}
    >
      {children}
    </dialog>
  );
}
