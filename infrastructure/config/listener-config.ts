import { filePath } from './formats.ts';
import { object, required, withDefault } from './object-codecs.ts';
import { choice, type TypeOf } from './scalar-codecs.ts';

export const tlsCodec = object({
  cert_file: required(
    filePath,
    'Certificate in PEM, followed by the chain to its issuer; reloaded when it changes.',
  ),
  key_file: required(filePath, 'Private key of the certificate in PEM, without a passphrase.'),
  min_version: withDefault(choice(['TLSv1.2', 'TLSv1.3']), 'TLSv1.2', 'Oldest accepted TLS version.'),
});

/** The certificate of a listener, and the oldest TLS version that it accepts. */
export interface TlsConfig {
  readonly certFile: string;
  readonly keyFile: string;
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
}

export const toTls = (wire: TypeOf<typeof tlsCodec>): TlsConfig => ({
  certFile: wire.cert_file,
  keyFile: wire.key_file,
  minVersion: wire.min_version,
});

export interface BindConfig {
  readonly host: string;
  readonly port: number;
}

export const toBind = (bind: string): BindConfig => {
  const colon = bind.lastIndexOf(':');
  return { host: bind.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(bind.slice(colon + 1)) };
};
