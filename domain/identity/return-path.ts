/** No page of the gateway has a longer path. */
const maxReturnPathChars = 2048;

/** A path that begins with exactly one slash: two, or a slash and a backslash, would name another host. */
const ownPath = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;

/** Where a browser goes after signing in: always a path of this origin, and `/` when the given one is not. */
export const returnPath = (asked: string | undefined): string =>
  asked !== undefined && asked.length <= maxReturnPathChars && ownPath.test(asked) ? asked : '/';
