/** The address parameter with which the gateway redirects a browser here: an error code. */
const refusalName = 'sign_in_error';

/** The requested page, kept in this tab while the browser is at the identity provider. */
const requestedAs = 'gateway.requested-page';

/** The address of the page without the refusal. */
export function here(): string {
  const { pathname, search, hash } = window.location;
  const filters = new URLSearchParams(search);
  filters.delete(refusalName);
  return `${pathname}${filters.size === 0 ? '' : `?${filters}`}${hash}`;
}

export const keepRequestedPage = (): void => sessionStorage.setItem(requestedAs, here());

/** A refusal leads to the overview. The address is then that of the requested page again (rule 51.31). */
export function restoreRequestedPage(): void {
  const code = new URLSearchParams(window.location.search).get(refusalName);
  const requested = sessionStorage.getItem(requestedAs);
  if (code === null || requested === null) return;
  sessionStorage.removeItem(requestedAs);
  const address = new URL(requested, window.location.origin);
  address.searchParams.set(refusalName, code);
  window.history.replaceState(null, '', address);
}

/** After a login the refusal is over: left in the address, it would be shown again at the end of the session. */
export function forgetRefusal(): void {
  const { pathname, search, hash } = window.location;
  if (here() !== `${pathname}${search}${hash}`) window.history.replaceState(window.history.state, '', here());
}

/** What a person can do about each error. Anybody can write the address, so none of its text is shown. */
const sentences: Readonly<Record<string, string>> = {
  invalid_credentials: 'Your organisation did not sign you in, or you have no access here. Ask your admin.',
  invalid_request:
    'That login took too long, was started in another browser, or was already completed. Start again.',
  not_supported: 'Login through your organisation is no longer set up.',
  overloaded: 'Too many logins are in progress. Try again in a few minutes.',
  sign_in_unavailable: 'Your organisation’s login cannot be reached at the moment. Try again soon.',
  store_unavailable: 'The gateway’s database cannot be reached at the moment. Try again soon.',
};
const otherwise = 'Login through your organisation failed. Try again.';

/** Why a login at the identity provider failed. */
export function RefusedSignIn() {
  const code = new URLSearchParams(window.location.search).get(refusalName);
  if (code === null) return null;
  return (
    <p className="error-text" role="alert">
      {(Object.hasOwn(sentences, code) ? sentences[code] : undefined) ?? otherwise}
    </p>
  );
}
