import { httpUrl } from './formats.ts';
import { object, optional, withDefault } from './object-codecs.ts';
import { type CloudBAuth, cloudBAuthCodec, toCloudBAuth } from './provider-auth.ts';
import { boolean, text, type TypeOf } from './scalar-codecs.ts';

export const exportCodec = object({
  endpoint: optional(httpUrl, 'URL of an S3-compatible storage; Amazon S3 in the region unless set.'),
  region: withDefault(
    text({ what: 'a region', maxLength: 64, pattern: /^[a-z0-9-]+$/ }),
    'us-east-1',
    'Region for which requests are signed.',
  ),
  path_style: withDefault(
    boolean,
    false,
    'Whether the bucket is the first part of the path instead of the host name.',
  ),
  auth: withDefault(cloudBAuthCodec, { mode: 'default_chain' }, 'Where the signing credentials come from.'),
});

/** The object storage that `gateway export` writes to. */
export interface ExportConfig {
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly pathStyle: boolean;
  readonly auth: CloudBAuth;
}

export const toExport = (wire: TypeOf<typeof exportCodec>): ExportConfig => ({
  endpoint: wire.endpoint,
  region: wire.region,
  pathStyle: wire.path_style,
  auth: toCloudBAuth(wire.auth),
});
