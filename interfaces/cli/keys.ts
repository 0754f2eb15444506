import type { Keys, OwnerRef } from '../../application/ports/accounts.ts';
import { formatKey, type PresentedKey } from '../../domain/identity/api-key.ts';
import { flags, type Terminal, UsageError } from './command.ts';

export interface KeysPorts {
  readonly keys: Keys;
  readonly newKey: () => PresentedKey;
  readonly digest: (secret: string) => Uint8Array;
}

/** `gateway keys create --owner user:EMAIL|team:ID|service_account:ID --name NAME`, `keys list`, `keys revoke ID`. */
export const keysCommand =
  (ports: KeysPorts, { out, err }: Terminal) =>
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

async function create(ports: KeysPorts, args: readonly string[], { out, err }: Terminal): Promise<number> {
  const { values } = flags(args, {
    owner: { type: 'string' },
    name: { type: 'string' },
    model: { type: 'string', multiple: true },
  });
  if (values.owner === undefined || values.name === undefined || values.name === '')
    throw new UsageError('keys create needs --owner and --name.');
  const key = ports.newKey();
  const created = await ports.keys.create({
    publicId: key.publicId,
    secretSha256: ports.digest(key.secret),
    name: values.name,
    owner: parseOwner(values.owner),
    allowedModels: values.model ?? [],
  });
  if (created === undefined) {
    err(`There is no owner ${values.owner}.`);
    return 1;
  }
  err(`Key ${created}. It is shown this once:`);
  out(formatKey(key));
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

async function list({ keys }: KeysPorts, out: Terminal['out']): Promise<number> {
  for (const key of await keys.list()) {
    const state = key.revokedAt === undefined ? 'active' : `revoked ${key.revokedAt.toISOString()}`;
    const models = key.allowedModels.length === 0 ? 'all models' : key.allowedModels.join(',');
    out([key.apiKeyId, `gwk_${key.publicId}`, key.owner, key.name, models, state].join('\t'));
  }
  return 0;
}

async function revoke({ keys }: KeysPorts, args: readonly string[], { out, err }: Terminal): Promise<number> {
  const { positionals } = flags(args, {});
  const [id] = positionals;
  if (id === undefined || positionals.length > 1) throw new UsageError('keys revoke ID');
  if (await keys.revoke(id)) {
    out(`Revoked ${id}; every replica refuses it within 5 seconds.`);
    return 0;
  }
  err(`There is no key ${id}.`);
  return 1;
}
