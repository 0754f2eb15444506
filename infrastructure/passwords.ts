import { argon2, createCipheriv, createDecipheriv, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Passwords } from '../application/ports/admin-access.ts';
import { isCommonPassword, typedPassword } from '../domain/identity/password.ts';

/** argon2id with 19 MiB and t = 2 (rule 39.6), p = 1: about 40 ms on one core. */
const memoryKib = 19 * 1024;
const passes = 2;
const parallelism = 1;
const saltBytes = 16;
const tagBytes = 32;

/** Concurrent hashes: 38 MiB, and two of the threads of libuv's pool, which also does file I/O. */
const maxHashes = 2;

const derive = promisify(argon2);

interface Kept {
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** `$argon2id$v=19$m=…,t=…,p=…$salt$tag`, in base64 without padding. */
const phcHead = `$argon2id$v=19$m=${memoryKib},t=${passes},p=${parallelism}$`;

const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

const phcText = ({ salt, tag }: Kept): string => `${phcHead}${base64(salt)}$${base64(tag)}`;

function parsePhc(text: string): Kept {
  const [salt = '', tag = ''] = text.startsWith(phcHead) ? text.slice(phcHead.length).split('$') : [];
  const kept = { salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') };
  if (phcText(kept) !== text || kept.tag.length !== tagBytes)
    throw new TypeError('a password hash that this service has not made');
  return kept;
}

const tagOf = (password: string, salt: Buffer): Promise<Buffer> =>
  derive('argon2id', {
    message: typedPassword(password),
    nonce: salt,
    parallelism,
    tagLength: tagBytes,
    memory: memoryKib,
    passes,
  });

/** Hashes and seals with argon2id. Hashing runs off the event loop, `maxHashes` at a time; others wait in order. */
export function argon2Passwords(): Passwords {
  const nobody: Kept = { salt: randomBytes(saltBytes), tag: randomBytes(tagBytes) };
  const inTurn = turns(maxHashes);
  return {
    hash: (password) =>
      inTurn(async () => {
        const salt = randomBytes(saltBytes);
        return phcText({ salt, tag: await tagOf(password, salt) });
      }),
    verify: (hash, password) =>
      inTurn(async () => {
        const { salt, tag } = hash === undefined ? nobody : parsePhc(hash);
        return timingSafeEqual(await tagOf(password, salt), tag) && hash !== undefined;
      }),
    isCommon: async (password) => {
      const { commonPasswords } = await import('./sign-in/common-passwords.ts');
      return isCommonPassword(password, commonPasswords);
    },
    seal: (password, secret) => inTurn(() => sealed(password, secret)),
    unseal: (password, bytes) => inTurn(() => unsealed(password, bytes)),
  };
}

/** AES-256-GCM. The key is the argon2id tag of the password with a salt of its own, which no password hash uses. */
const cipher = 'aes-256-gcm';
const ivBytes = 12;
const sealBytes = 16;

/** Returns salt, initialisation vector, authentication tag and ciphertext, in this order. */
async function sealed(password: string, secret: Uint8Array): Promise<Uint8Array> {
  const [salt, iv] = [randomBytes(saltBytes), randomBytes(ivBytes)];
  const sealing = createCipheriv(cipher, await tagOf(password, salt), iv, { authTagLength: sealBytes });
  const inCipher = [sealing.update(secret), sealing.final()];
  return Buffer.concat([salt, iv, sealing.getAuthTag(), ...inCipher]);
}

async function unsealed(password: string, bytes: Uint8Array): Promise<Uint8Array> {
  const [ivAt, sealAt, secretAt] = [saltBytes, saltBytes + ivBytes, saltBytes + ivBytes + sealBytes];
  const key = await tagOf(password, Buffer.from(bytes.subarray(0, ivAt)));
  const opening = createDecipheriv(cipher, key, bytes.subarray(ivAt, sealAt), { authTagLength: sealBytes });
  opening.setAuthTag(bytes.subarray(sealAt, secretAt));
  return Buffer.concat([opening.update(bytes.subarray(secretAt)), opening.final()]);
}

/** Runs at most `atOnce` pieces of work at a time; the others wait, first come first served. */
function turns(atOnce: number): <A>(work: () => Promise<A>) => Promise<A> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < atOnce) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
