import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const day = 24 * 60 * 60 * 1000;

/** DER: a type, the length of the content, the content. */
function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

const sequence = (...contents: readonly Buffer[]): Buffer => der(0x30, ...contents);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const utcTime = (at: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(at).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`));

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const commonName = (name: string): Buffer =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(name)))));

/** The names and addresses of `localhost`. */
const loopback = [der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1]))];

interface Pair {
  readonly key: string;
  readonly cert: string;
}

const newKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
type Keys = ReturnType<typeof newKeys>;

/** For an authority: it may sign others. */
const maySign = sequence(
  oid('551d13'),
  der(0x01, Buffer.from([0xff])),
  der(0x04, sequence(der(0x01, Buffer.from([0xff])))),
);

const namesOf = (names: readonly Buffer[]): Buffer => sequence(oid('551d11'), der(0x04, sequence(...names)));

/** A certificate of `subject`, valid for a day. */
function certificate(
  subject: string,
  keys: Keys,
  extension: Buffer,
  issuer: { readonly name: string; readonly keys: Keys },
): Pair {
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    commonName(issuer.name),
    sequence(utcTime(Date.now() - day), utcTime(Date.now() + day)),
    commonName(subject),
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  );
  const signature = sign('sha256', toBeSigned, issuer.keys.privateKey);
  const signed = sequence(
    toBeSigned,
    ecdsaWithSha256,
    der(0x03, Buffer.concat([Buffer.from([0]), signature])),
  );
  return {
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${signed.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
}

const dnsName = (name: string): Buffer => der(0x82, Buffer.from(name));

/** A certificate of `localhost`, or of another name, that is self-signed and valid for a day. */
export function selfSigned(otherName?: string): Pair {
  const keys = newKeys();
  const names = otherName === undefined ? loopback : [dnsName(otherName)];
  return certificate('localhost', keys, namesOf(names), { name: 'localhost', keys });
}

/** Another certificate of `localhost` for the same key, as after a renewal. */
export function renewedFor(key: string): Pair {
  const privateKey = createPrivateKey(key);
  const keys = { privateKey, publicKey: createPublicKey(privateKey) };
  return certificate('localhost', keys, namesOf(loopback), { name: 'localhost', keys });
}

/**
 * An authority, and a certificate that it has signed for a host: `localhost` with its addresses, or another
 * name.
 */
export function signedByAuthority(otherName?: string): Pair & { readonly authority: string } {
  const issuer = { name: `Authority ${randomBytes(4).toString('hex')}`, keys: newKeys() };
  const { cert: authority } = certificate(issuer.name, issuer.keys, maySign, issuer);
  const names = otherName === undefined ? loopback : [dnsName(otherName)];
  return { ...certificate(otherName ?? 'localhost', newKeys(), namesOf(names), issuer), authority };
}
