import { bearerToken, filePath, httpUrl, wholeSecret } from './formats.ts';
import { isFraming, isHeaderName, isHeaderValue } from './headers-codec.ts';
import { optional, required, tagged, withDefault } from './object-codecs.ts';
import { choice, text, type TypeOf } from './scalar-codecs.ts';

const token = required(bearerToken, 'The token, as ${NAME}.');
const credentialsPath = required(filePath, 'Mounted service-account JSON file.');

export const headerName = text({
  what: 'a header name',
  maxLength: 128,
  refuse: (name) =>
    isHeaderName(name) && !isFraming(name)
      ? undefined
      : 'must be a header name that the gateway does not set itself',
});

export const headerSecret = text({
  what: 'a header value',
  maxLength: 8192,
  refuse: (value) => (isHeaderValue(value) ? undefined : 'must be a valid header value'),
  secret: wholeSecret,
});

export const compatAuthCodec = tagged('mode', 'How the gateway authenticates itself.', {
  bearer: { token },
  header: {
    name: required(headerName, 'Header that carries the credential.'),
    value: required(headerSecret, 'Value of that header, as ${NAME}.'),
  },
  none: {},
});

const authHeader = withDefault(
  choice(['authorization', 'x_serverless_authorization']),
  'authorization',
  'Header that carries the ID token; x_serverless_authorization leaves Authorization to the application behind it.',
);
const audience = optional(httpUrl, 'Audience of the ID token; the HTTPS origin of base_url unless set.');

export const cloudRunAuthCodec = tagged('mode', 'Where the ID token comes from.', {
  adc: { audience, auth_header: authHeader },
  service_account: { credentials_path: credentialsPath, audience, auth_header: authHeader },
  bearer: { token, audience, auth_header: authHeader },
});

export const cloudAAuthCodec = tagged('mode', 'Where the access token comes from.', {
  adc: {},
  service_account: { credentials_path: credentialsPath },
  bearer: { token },
});

const awsSecret = text({
  what: 'a credential (printable ASCII without spaces)',
  maxLength: 8192,
  pattern: /^[\x21-\x7e]+$/,
  secret: wholeSecret,
});

export const cloudBAuthCodec = tagged('mode', 'Where the signing credentials come from.', {
  default_chain: {},
  static_credentials: {
    access_key_id: required(
      text({ what: 'an access key id', maxLength: 128, pattern: /^\w+$/ }),
      'Access key id.',
    ),
    secret_access_key: required(awsSecret, 'Secret access key, as ${NAME}.'),
    session_token: optional(awsSecret, 'Session token of a temporary credential, as ${NAME}.'),
  },
});

export type CompatAuth =
  | { readonly mode: 'bearer'; readonly token: string }
  | { readonly mode: 'header'; readonly name: string; readonly value: string }
  | { readonly mode: 'none' };

/**
 * The credentials of the metadata server, or of the file that this process's `GOOGLE_APPLICATION_CREDENTIALS` names.
 */
interface DefaultCredentials {
  readonly mode: 'adc';
  readonly credentialsPath?: string;
}

/** `header` is the request header for the token. */
export type CloudRunAuth = {
  readonly header: 'authorization' | 'x-serverless-authorization';
} & (
  | (DefaultCredentials & { readonly audience: string })
  | { readonly mode: 'service_account'; readonly audience: string; readonly credentialsPath: string }
  | { readonly mode: 'bearer'; readonly token: string }
);

export type CloudAAuth =
  | DefaultCredentials
  | { readonly mode: 'service_account'; readonly credentialsPath: string }
  | { readonly mode: 'bearer'; readonly token: string };

export type CloudBAuth =
  | { readonly mode: 'default_chain' }
  | {
      readonly mode: 'static_credentials';
      readonly accessKeyId: string;
      readonly secretAccessKey: string;
      readonly sessionToken: string | undefined;
    };

/** The audience of an ID token: the configured one, or else the HTTPS origin of the service's URL. */
export function audienceOf(
  auth: { readonly audience: string | undefined },
  baseUrl: string,
): string | undefined {
  if (auth.audience !== undefined) return auth.audience;
  const url = new URL(baseUrl);
  return url.protocol === 'https:' ? url.origin : undefined;
}

/** `audience` is known wherever it is used: the codec requires it where no HTTPS origin can replace it. */
export function toCloudRunAuth(wire: TypeOf<typeof cloudRunAuthCodec>, baseUrl: string): CloudRunAuth {
  const header = wire.auth_header === 'authorization' ? 'authorization' : 'x-serverless-authorization';
  const audience = audienceOf(wire, baseUrl) ?? baseUrl;
  switch (wire.mode) {
    case 'adc':
      return { mode: wire.mode, audience, header };
    case 'service_account':
      return { mode: wire.mode, audience, header, credentialsPath: wire.credentials_path };
    case 'bearer':
      return { mode: wire.mode, token: wire.token, header };
  }
}

export const toCloudAAuth = (wire: TypeOf<typeof cloudAAuthCodec>): CloudAAuth =>
  wire.mode === 'service_account' ? { mode: wire.mode, credentialsPath: wire.credentials_path } : wire;

export const toCloudBAuth = (wire: TypeOf<typeof cloudBAuthCodec>): CloudBAuth =>
  wire.mode === 'default_chain'
    ? wire
    : {
        mode: wire.mode,
        accessKeyId: wire.access_key_id,
        secretAccessKey: wire.secret_access_key,
        sessionToken: wire.session_token,
      };
