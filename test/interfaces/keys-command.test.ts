import { describe, expect, it } from '@jest/globals';
import type { KeyPorts } from '../../application/admin/manage-keys.ts';
import type { StoredKey } from '../../application/ports/keys.ts';
import { secrets } from '../../infrastructure/key-secrets.ts';
import { keysCommand } from '../../interfaces/cli/keys.ts';

const storedKey = (number: number): StoredKey => ({
  apiKeyId: `id-${number}`,
  publicId: 'p',
  name: 'n',
  ownerKind: 'team',
  ownerId: 'platform',
  ownerName: 'Platform',
  owner: 'team:platform',
  allowedModels: [],
  expiresAt: undefined,
  previousExpiresAt: undefined,
  revokedAt: undefined,
  revokedBy: undefined,
  lastUsedOn: undefined,
  fromConfig: false,
  createdAt: new Date(number),
  createdBy: undefined,
  version: 1,
  active: true,
});

const unused = async (): Promise<never> => {
  throw new Error('`keys list` only reads.');
};

describe('gateway keys list', () => {
  it('has each key once, oldest first, also if keys are created while it reads', async () => {
    const newestFirst = Array.from({ length: 5001 }, (_, index) => storedKey(5001 - index));
    const ports: KeyPorts = {
      keys: {
        create: unused,
        find: unused,
        change: unused,
        rotate: unused,
        revoke: unused,
        page: async (_, { page, pageSize }) => {
          const items = newestFirst.slice((page - 1) * pageSize, page * pageSize);
          newestFirst.unshift(storedKey(newestFirst.length + 1));
          return { items, total: newestFirst.length, totalIsLowerBound: false };
        },
      },
      secrets,
      clock: { now: () => 0 },
    };
    const ids: (string | undefined)[] = [];
    const terminal = { out: (line: string) => void ids.push(line.split('\t')[0]), err: () => undefined };
    expect(await keysCommand((run) => run(ports), terminal)(['list'])).toBe(0);
    expect(ids).toEqual(Array.from({ length: 5001 }, (_, index) => `id-${index + 1}`));
  });
});
