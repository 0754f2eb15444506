import { isArray, isString } from '../../../domain/shared/json.ts';
import type { Compatibility } from '../../../domain/routing/model.ts';

/** Buckets that callers of a route may refer to; `undefined` for all that the gateway's own identity may read. */
export type ReadableBuckets = ReadonlySet<string> | undefined;

/** `compatibility.cloud_a.gs_buckets`, which was validated with the configuration. */
export function readableBuckets({ cloud_a: block }: Compatibility): ReadableBuckets {
  const named = block?.['gs_buckets'];
  return named === undefined ? undefined : new Set(isArray(named) ? named.filter(isString) : []);
}

const scheme = 'gs://';

/** Whether callers may refer to a URL: the platform reads `gs://` as the gateway, and everything else anonymously. */
export function mayRead(buckets: ReadableBuckets, url: string): boolean {
  if (buckets === undefined || !url.startsWith(scheme)) return true;
  const [bucket = ''] = url.slice(scheme.length).split('/');
  return buckets.has(bucket);
}
