/** The content codings that the gateway can decode. */
export const contentCodings = ['gzip', 'deflate', 'br', 'zstd'] as const;

export type ContentCoding = (typeof contentCodings)[number];

/** Not codings, but senders write them for a body without one: `none` keeps proxies from compressing a stream. */
const uncoded: readonly string[] = ['identity', 'none', 'utf-8', 'utf8'];

/**
 * The single coding of a `content-encoding` header, in any case; `identity` when it names none. `undefined` for a
 * coding that is not supported, or for several codings applied in sequence.
 */
export function contentCodingOf(header: string | undefined): ContentCoding | 'identity' | undefined {
  const [name, ...more] = (header ?? '')
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '' && !uncoded.includes(each));
  if (name === undefined) return 'identity';
  if (more.length > 0) return undefined;
  return contentCodings.find((each) => each === name || `x-${each}` === name);
}
