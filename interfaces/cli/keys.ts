import * as E from 'fp-ts/lib/Either.js';
import { createKey, type KeyPorts } from '../../application/admin/manage-keys.ts';
import type { OwnerRef } from '../../application/ports/accounts.ts';
import type { StoredKey } from '../../application/ports/keys.ts';
import { flags, type Terminal, UsageError } from './command.ts';

/** `gateway keys create --owner user:EMAIL|team:ID|service_account:ID --name NAME`, `keys list`, `keys revoke ID`. */
export const keysCommand =
  (ports: KeyPorts, { out, err }: Terminal) =>
  async ([verb = '', ...args]: readonly string[]): Promise<number> => {
    switch (verb) {
      case 'create':
        return create(ports, args, { out, err });
      case 'list':
        return list(ports, out);
      case 'revoke':
        return revoke(ports, args, { out, err });
      default:
        throw new UsageError('keys create|list|revoke');
    }
  };

async function create(ports: KeyPorts, args: readonly string[], { out, err }: Terminal): Promise<number> {
  const { values } = flags(args, {
    owner: { type: 'string' },
    name: { type: 'string' },
    model: { type: 'string', multiple: true },
  });
  if (values.owner === undefined || values.name === undefined || values.name === '')
    throw new UsageError('keys create needs --owner and --name.');
  const wish = {
    name: values.name,
    owner: parseOwner(values.owner),
    allowedModels: values.model ?? [],
    expiresAt: undefined,
  };
  const created = await createKey(ports)(wish, undefined);
  if (E.isLeft(created)) {
    err(created.left.message);
    return 1;
  }
  const { stored, apiKey } = created.right;
  err(`Key ${stored.apiKeyId}. It is shown this once:`);
  out(apiKey);
  return 0;
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

/** Keys that are read at once: a list of many thousands is no one answer. */
const keysAtOnce = 5000;

/** The oldest first. */
async function list({ keys }: KeyPorts, out: Terminal['out']): Promise<number> {
  const everyKey = { ownerKind: undefined, ownerId: undefined, name: undefined, status: undefined };
  const listed: StoredKey[] = [];
  for (let page = 1; listed.length === (page - 1) * keysAtOnce; page += 1)
    listed.push(...(await keys.page(everyKey, { page, pageSize: keysAtOnce })).items);
  for (const key of listed.toReversed()) {
    const models = key.allowedModels.length === 0 ? 'all models' : key.allowedModels.join(',');
    out([key.apiKeyId, `gwk_${key.publicId}`, key.owner, key.name, models, stateOf(key)].join('\t'));
  }
  return 0;
}

function stateOf({ revokedAt, expiresAt }: StoredKey): string {
  if (revokedAt !== undefined) return `revoked ${revokedAt.toISOString()}`;
  return expiresAt === undefined ? 'active' : `active until ${expiresAt.toISOString()}`;
}

async function revoke({ keys }: KeyPorts, args: readonly string[], { out, err }: Terminal): Promise<number> {
  const { positionals } = flags(args, {});
  const [id] = positionals;
  if (id === undefined || positionals.length > 1) throw new UsageError('keys revoke ID');
  const revoked = await keys.revoke({ id, version: undefined, author: undefined });
  if (revoked.kind === 'done') {
    out(`Revoked ${id}; every replica refuses it within 5 seconds.`);
    return 0;
  }
  err(`There is no key ${id}.`);
  return 1;
}
