/**
 * A text as one segment of a path, whatever it holds: slashes, percent signs and dots that would lead elsewhere are
 * encoded too. Signatures are made over a path that is encoded exactly so.
 */
export const pathSegment = (text: string): string =>
  /^\.{1,2}$/.test(text)
    ? text.replaceAll('.', '%2E')
    : encodeURIComponent(text).replace(/[!'()*]/g, percent);

const percent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
