/** Small parts that all views share. */
import type { ComponentChildren, JSX } from "preact";
import { Icon, type IconName } from "./icons";

type Kind = "main" | "plain" | "danger" | "";

interface ButtonProps extends Omit<JSX.HTMLAttributes<HTMLButtonElement>, "icon"> {
  icon?: IconName;
  kind?: Kind;
  small?: boolean;
  label?: string;
  type?: "button" | "submit";
  disabled?: boolean;
}

/** A button; without children its `label` names it. */
export function Button({ icon, kind = "", small, label, children, type = "button", ...more }: ButtonProps) {
  const classes = ["button", kind, small ? "small" : "", children ? "" : "square"].filter(Boolean).join(" ");
  return (
    <button type={type} class={classes} aria-label={label} title={label} {...more}>
      {icon && <Icon name={icon} size={small ? 14 : 15} />}
      {children}
    </button>
  );
}

export function Head({ title, about, children }: { title: string; about?: ComponentChildren; children?: ComponentChildren }) {
  return (
    <header class="head">
      <div>
        <h1>{title}</h1>
        {about && <p>{about}</p>}
      </div>
      {children && <div class="actions">{children}</div>}
    </header>
  );
}

interface EmptyProps {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
}

/** What stands where there is nothing yet: what would be here, and how it comes. */
export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export type Tone = "" | "well" | "wait" | "fail" | "event" | "ring";

export function Badge({ tone = "", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Note({ tone = "", children }: { tone?: "" | "well" | "wait" | "fail"; children: ComponentChildren }) {
  const icon = tone === "well" ? "check" : tone === "" ? "explain" : "alert";
  return (
    <div class={`note ${tone}`} role={tone === "fail" ? "alert" : undefined}>
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}

export function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

export const Code = ({ children }: { children: string }) => <pre class="code" tabIndex={0}>{children}</pre>;
