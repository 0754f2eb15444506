/** The content codings that are read. */
export const contentCodings = ['gzip', 'deflate', 'br', 'zstd'] as const;

export type ContentCoding = (typeof contentCodings)[number];

/**
 * The one coding that a `content-encoding` names, whatever its case; `identity` where there is none. Undefined: one that
 * is not read, or several in a row.
 */
export function contentCodingOf(header: string | undefined): ContentCoding | 'identity' | undefined {
  const [name, ...more] = (header ?? '')
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '' && each !== 'identity');
  if (name === undefined) return 'identity';
  if (more.length > 0) return undefined;
  return contentCodings.find((each) => each === name || `x-${each}` === name);
}
