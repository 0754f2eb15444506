/** The address parameter with which the gateway redirects a browser here: an error code. */
export const refusalName = 'sign_in_error';

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
