/** The login: a token is shown once, and a cookie that no script can read stands for it from then on. */
import { useState } from "preact/hooks";
import { Failure, login, told } from "./api";
import { Button, Field, Note } from "./ui/basic";
import { Mark } from "./ui/icons";

export function Login() {
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await login(token.trim());
      setToken("");
    } catch (failure) {
      const isWrong = failure instanceof Failure && failure.status === 401;
      setError(isWrong ? "This token is not valid here. It may have expired, or have been revoked." : told(failure));
    }
    setBusy(false);
  };
  return (
    <main class="login">
      <form onSubmit={submit}>
        <div class="brand">
          <Mark />
          tocsin
        </div>
        <div>
          <h1>Log in</h1>
          <p class="dim">This server asks for a token. The page forgets it; a cookie of this browser stands for it until you log out.</p>
        </div>
        {error && <Note tone="fail">{error}</Note>}
        <Field label="Token">
          <input class="input mono" type="password" value={token} onInput={(event) => setToken(event.currentTarget.value)} placeholder="tocsin_…" autocomplete="current-password" autofocus required />
        </Field>
        <Button type="submit" kind="main" disabled={isBusy || !token.trim()}>
          Log in
        </Button>
        <p class="faint">
          To make one: <code>tocsin token create alerts/ --scope read,subscribe,publish</code>
        </p>
      </form>
    </main>
  );
}
