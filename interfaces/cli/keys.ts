import * as E from 'fp-ts/lib/Either.js';
import { createKey, type KeyPorts } from '../../application/admin/manage-keys.ts';
import type { OwnerRef } from '../../application/ports/accounts.ts';
import type { StoredKey } from '../../application/ports/keys.ts';
import { flags, type Terminal, UsageError } from './command.ts';

/** A parsed call, to be run once its ports are available. */
type KeysCall = (ports: KeyPorts, terminal: Terminal) => Promise<number>;

/**
 * `gateway keys create --owner user:EMAIL|team:ID|service_account:ID --name NAME [--model ID]…`, `keys list`, `keys
 * revoke ID`. The arguments are parsed before the database is opened.
 */
export const keysCommand =
  (withPorts: (run: (ports: KeyPorts) => Promise<number>) => Promise<number>, terminal: Terminal) =>
  async (args: readonly string[]): Promise<number> => {
    const call = readCall(args);
    return withPorts((ports) => call(ports, terminal));
  };

function readCall([verb = '', ...args]: readonly string[]): KeysCall {
  switch (verb) {
    case 'create':
      return create(args);
    case 'list':
      flags(args, {});
      return list;
    case 'revoke':
      return revoke(args);
    default:
      throw new UsageError('keys create|list|revoke');
  }
}

function create(args: readonly string[]): KeysCall {
  const { values } = flags(args, {
    owner: { type: 'string' },
    name: { type: 'string' },
    model: { type: 'string', multiple: true },
  });
  if (values.owner === undefined || values.name === undefined || values.name === '')
    throw new UsageError('keys create needs --owner and --name.');
  const input = {
    name: values.name,
    owner: parseOwner(values.owner),
    allowedModels: values.model ?? [],
    expiresAt: undefined,
  };
  return async (ports, { out, err }) => {
    const created = await createKey(ports)(input, undefined);
    if (E.isLeft(created)) {
      err(created.left.message);
      return 1;
    }
    const { stored, apiKey } = created.right;
    err(`Key ${stored.apiKeyId}. It is shown this once:`);
    out(apiKey);
    return 0;
  };
}

function parseOwner(text: string): OwnerRef {
  const colon = text.indexOf(':');
  const name = text.slice(colon + 1);
  if (colon > 0 && name !== '')
    switch (text.slice(0, colon)) {
      case 'user':
        return { kind: 'user', email: name };
      case 'team':
        return { kind: 'team', teamId: name };
      case 'service_account':
        return { kind: 'service_account', serviceAccountId: name };
    }
  throw new UsageError('--owner must be user:EMAIL, team:ID or service_account:ID.');
}

/** Keys per database query, because many thousands do not fit one answer. */
const keysAtOnce = 5000;

/** Oldest first, each once: a key that is created meanwhile moves the last one of a page to the next. */
async function list({ keys, clock }: KeyPorts, { out }: Terminal): Promise<number> {
  const everyKey = { ownerKind: undefined, ownerId: undefined, name: undefined, status: undefined };
  const listed = new Map<string, StoredKey>();
  let found: readonly StoredKey[] = [];
  for (let page = 1; page === 1 || found.length === keysAtOnce; page += 1) {
    found = (await keys.page(everyKey, { page, pageSize: keysAtOnce })).items;
    for (const key of found) listed.set(key.apiKeyId, key);
  }
  for (const key of [...listed.values()].toReversed()) {
    const models = key.allowedModels.length === 0 ? 'all models' : key.allowedModels.join(',');
    const state = stateOf(key, clock.now());
    out([key.apiKeyId, `gwk_${key.publicId}`, key.owner, key.name, models, state].join('\t'));
  }
  return 0;
}

function stateOf({ revokedAt, expiresAt, active }: StoredKey, now: number): string {
  if (revokedAt !== undefined) return `revoked ${revokedAt.toISOString()}`;
  if (expiresAt !== undefined && expiresAt.getTime() <= now) return `expired ${expiresAt.toISOString()}`;
  if (!active) return 'owner inactive';
  return expiresAt === undefined ? 'active' : `active until ${expiresAt.toISOString()}`;
}

function revoke(args: readonly string[]): KeysCall {
  const [id] = flags(args, {}, 1).positionals;
  if (id === undefined) throw new UsageError('keys revoke ID');
  return async ({ keys }, { out, err }) => {
    const revoked = await keys.revoke({ id, version: undefined, author: undefined });
    if (revoked.kind === 'done') {
      out(`Revoked ${id}; every replica refuses it within 5 seconds.`);
      return 0;
    }
    err(`There is no key with the id ${id}: \`npx gateway keys list\` prints ids in its first column.`);
    return 1;
  };
}
