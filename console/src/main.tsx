import { render } from "preact";
import { enter, session } from "./api";
import { Frame } from "./frame";
import { Login } from "./login";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/overlays.css";
import "./styles/overview.css";
import "./styles/live.css";
import "./styles/map.css";
import "./styles/subscriptions.css";
import "./styles/deliveries.css";
import "./styles/narrow.css";

function Console() {
  if (session.value === undefined) return null;
  return session.value === null ? <Login /> : <Frame />;
}

void enter();
render(<Console />, document.getElementById("app")!);
