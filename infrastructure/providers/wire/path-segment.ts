/**
 * Encodes any text as one segment of a path: slashes and percent signs are encoded, and so are the segments `.` and
 * `..`, which would change the path. Request signatures are computed over a path in exactly this encoding.
 */
export const pathSegment = (text: string): string =>
  /^\.{1,2}$/.test(text)
    ? text.replaceAll('.', '%2E')
    : encodeURIComponent(text).replace(/[!'()*]/g, percent);

const percent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
