/** Longer than any key of the configuration, and than what people call their headers. */
const maxShownChars = 64;

/**
 * A key of the file as a message shows it. Where a blank is missing, `token:sk-…` is a key as a whole, and `sk-…` is a
 * secret: what follows the first `:`, `=` or blank is not shown.
 */
export function shownKey(key: string): string {
  const shown = (/^[^:=\s]*/.exec(key)?.[0] ?? '').slice(0, maxShownChars);
  return shown === key ? key : `${shown}…`;
}
