/** The frame: navigation at the side, the view, and what lies above both. */
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { logout, may, reached, session } from "./api";
import { shortcuts, useShortcuts } from "./keys";
import { address, go, place } from "./route";
import { theme, turnTheme } from "./stored";
import { Button } from "./ui/basic";
import { Dialog } from "./ui/dialog";
import { Icon, type IconName, Mark } from "./ui/icons";
import { Toasts } from "./ui/toasts";
import { Deliveries } from "./views/deliveries";
import { Explain } from "./views/explain";
import { Live } from "./views/live";
import { MapView } from "./views/map";
import { Overview } from "./views/overview";
import { Subscriptions } from "./views/subscriptions";
import { Windows } from "./views/windows";
import { PublishDialog, isPublishing } from "./views/publish";

interface View {
  name: string;
  title: string;
  icon: IconName;
  show: ComponentType;
}

const VIEWS: View[] = [
  { name: "overview", title: "Overview", icon: "overview", show: Overview },
  { name: "live", title: "Live", icon: "live", show: Live },
  { name: "map", title: "Map", icon: "map", show: MapView },
  { name: "subscriptions", title: "Subscriptions", icon: "subscriptions", show: Subscriptions },
  { name: "explain", title: "Explain", icon: "explain", show: Explain },
  { name: "deliveries", title: "Deliveries", icon: "deliveries", show: Deliveries },
  { name: "windows", title: "Windows", icon: "windows", show: Windows },
];

const isHelping = signal(false);

function Help() {
  return (
    <Dialog label="Keyboard shortcuts" close={() => (isHelping.value = false)}>
      <div class="inside">
        <h1>Keyboard</h1>
        <ul class="keys">
          {shortcuts().map((one) => (
            <li key={one.key}>
              <span class="dim">{one.about}</span>
              <kbd>{one.key}</kbd>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}

function Who() {
  const who = session.value;
  if (!who) return null;
  if (!who.needs_token) return <div class="side-row"><span>Open on this machine</span></div>;
  const name = who.name || who.token || "";
  return (
    <div class="side-row">
      <Icon name="key" size={14} />
      <span title={`Scopes: ${who.scopes.join(", ")}`}>{who.tenant ? `${who.tenant} · ${name}` : name}</span>
      <span class="push" />
      <Button small kind="plain" icon="leave" label="Log out" onClick={() => void logout()} />
    </div>
  );
}

function Side({ current }: { current: string }) {
  const isUp = reached.value;
  return (
    <aside class="side">
      <div class="brand">
        <Mark />
        <span>tocsin</span>
      </div>
      <nav class="nav" aria-label="Views">
        {VIEWS.map((one, place) => (
          <a key={one.name} href={address(one.name)} aria-current={one.name === current ? "page" : undefined} aria-label={one.title} title={one.title}>
            <Icon name={one.icon} />
            <span>{one.title}</span>
            <kbd aria-hidden="true">{place + 1}</kbd>
          </a>
        ))}
      </nav>
      {may("publish") && (
        <Button icon="publish" label="Publish an event (p)" onClick={() => (isPublishing.value = true)}>
          <span class="wide">Publish an event</span>
        </Button>
      )}
      <div class="side-end">
        <Who />
        <div class="side-row">
          <i class={`dot ${isUp ? "well" : "fail"}`} />
          <span>{isUp ? "Connected" : "No connection"}</span>
          <span class="push" />
          <Button small kind="plain" icon="keyboard" label="Keyboard shortcuts" onClick={() => (isHelping.value = true)} />
          <Button small kind="plain" icon={theme.value === "light" ? "moon" : "sun"} label="Light or dark" onClick={turnTheme} />
        </div>
      </div>
    </aside>
  );
}

export function Frame() {
  const view = VIEWS.find((one) => one.name === place.value.view) ?? VIEWS[0]!;
  useShortcuts([
    ...VIEWS.map((one, at) => ({ key: String(at + 1), about: one.title, run: () => go(one.name) })),
    { key: "p", about: "Publish an event", run: () => (isPublishing.value = may("publish")) },
    { key: "t", about: "Light or dark", run: turnTheme },
    { key: "?", about: "This help", run: () => (isHelping.value = true) },
  ]);
  const Shown = view.show;
  document.title = `${view.title} · tocsin`;
  return (
    <div class="frame">
      <Side current={view.name} />
      <main class="view">
        {!reached.value && (
          <div class="banner" role="status">
            <Icon name="alert" />
            The service does not answer. The console tries again by itself; nothing that is on this page is lost.
          </div>
        )}
        <Shown />
      </main>
      {isHelping.value && <Help />}
      {isPublishing.value && <PublishDialog />}
      <Toasts />
    </div>
  );
}
