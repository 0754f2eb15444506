/** Paths longer than this are no page of anybody's. */
const maxReturnPathChars = 2048;

/** One slash first: two, or a slash and a backslash, would name another host. */
const ownPath = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;

/** Where a browser goes after signing in: a path of this origin and nothing else; `/` for whatever is none. */
export const returnPath = (asked: string | undefined): string =>
  asked !== undefined && asked.length <= maxReturnPathChars && ownPath.test(asked) ? asked : '/';
