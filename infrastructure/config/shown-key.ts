/** Longer than any key of the configuration, and than usual names of headers. */
const maxShownChars = 64;

/**
 * A key of the file as messages show it. Without the blank after the colon, the whole of `token:sk-…` is a key, and
 * `sk-…` is a secret, so everything from the first `:`, `=` or blank on is hidden.
 */
export function shownKey(key: string): string {
  const shown = (/^[^:=\s]*/.exec(key)?.[0] ?? '').slice(0, maxShownChars);
  return shown === key ? key : `${shown}…`;
}
