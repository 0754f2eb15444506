import { isArray, isString } from '../../../domain/shared/json.ts';
import type { Compatibility } from '../../../domain/routing/model.ts';

/** Buckets that callers of a route may refer to; undefined: whatever the gateway's own identity may read. */
export type ReadableBuckets = ReadonlySet<string> | undefined;

/** `compatibility.cloud_a.gs_buckets`; the configuration has checked it. */
export function readableBuckets({ cloud_a: block }: Compatibility): ReadableBuckets {
  const named = block?.['gs_buckets'];
  return named === undefined ? undefined : new Set(isArray(named) ? named.filter(isString) : []);
}

const scheme = 'gs://';

/** Whether a route may refer to this: the platform reads `gs://` as the gateway, and all else as anybody. */
export function mayRead(buckets: ReadableBuckets, url: string): boolean {
  if (buckets === undefined || !url.startsWith(scheme)) return true;
  const [bucket = ''] = url.slice(scheme.length).split('/');
  return buckets.has(bucket);
}
