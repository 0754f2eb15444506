import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Caller } from '../../../domain/identity/caller.ts';
import {
  type AllowedOwner,
  isOpenTool,
  mayUseServer,
  policyResultOf,
  type ServerPolicy,
} from '../../../domain/mcp/server-policy.ts';
import { withTools } from '../../../domain/mcp/server-message.ts';

const base = { apiKeyId: 'k', allowedModels: [] };
const callers = {
  'a person': {
    ...base,
    keyOwner: { kind: 'user', userId: 'u-1', requestLoggingEnabled: true },
    person: { email: 'a@example.com', teamIds: ['platform'] },
  },
  'a person of no team': {
    ...base,
    keyOwner: { kind: 'user', userId: 'u-2', requestLoggingEnabled: true },
    person: { email: 'b@example.com', teamIds: [] },
  },
  'a team': { ...base, keyOwner: { kind: 'team', teamId: 'platform' } },
  'a service account': {
    ...base,
    keyOwner: { kind: 'service_account', serviceAccountId: 'worker', teamId: 'platform' },
  },
  'another service account of the team': {
    ...base,
    keyOwner: { kind: 'service_account', serviceAccountId: 'user a', teamId: 'platform' },
  },
} as const satisfies Record<string, Caller>;

const owners = {
  everyone: { kind: 'everyone' },
  'user a': { kind: 'user', email: 'a@example.com' },
  platform: { kind: 'team', id: 'platform' },
  'another team': { kind: 'team', id: 'worker' },
  worker: { kind: 'service_account', id: 'worker' },
} as const satisfies Record<string, AllowedOwner>;

const open: Pick<ServerPolicy, 'allowedTools' | 'deniedTools'> = { allowedTools: undefined, deniedTools: [] };

const keysOf = <K extends string>(of: Readonly<Record<K, unknown>>): readonly K[] => Object.keys(of) as K[];

/** The callers that are admitted, by the one owner to whom the server is open. */
const letIn: Readonly<Record<keyof typeof owners, readonly (keyof typeof callers)[]>> = {
  everyone: keysOf(callers),
  'user a': ['a person'],
  platform: ['a person', 'a team', 'a service account', 'another service account of the team'],
  'another team': [],
  worker: ['a service account'],
};

describe('an MCP server', () => {
  it.each(keysOf(owners).flatMap((owner) => keysOf(callers).map((caller) => [owner, caller] as const)))(
    'that is open to %s admits exactly the keys of that owner: %s',
    (owner, caller) => {
      const policy = { ...open, allowedOwners: [owners[owner]] };
      expect(mayUseServer(callers[caller], policy)).toBe(letIn[owner].includes(caller));
      expect(mayUseServer(callers[caller], { ...open, allowedOwners: [] })).toBe(false);
    },
  );
});

describe('an MCP tool', () => {
  it.each<[readonly string[] | undefined, readonly string[], string, boolean]>([
    [undefined, [], 'read', true],
    [undefined, ['read'], 'read', false],
    [undefined, ['read'], 'read_all', true],
    [undefined, ['read*'], 'read_all', false],
    [undefined, ['*'], 'read', false],
    [[], [], 'read', false],
    [['read'], [], 'read', true],
    [['read'], [], 'Read', false],
    [['read_*'], [], 'read_all', true],
    [['read_*'], [], 'read_', true],
    [['read_*'], [], 'read', false],
    [['*'], ['drop'], 'drop', false],
    [['drop'], ['drop'], 'drop', false],
  ])(
    'with allowed_tools %j and denied_tools %j: %s is open: %s',
    (allowedTools, deniedTools, tool, isOpen) => {
      expect(isOpenTool({ allowedOwners: [], allowedTools, deniedTools }, tool)).toBe(isOpen);
    },
  );
});

describe('the recorded policy result is not_evaluated, denied or allowed', () => {
  const mine: ServerPolicy = { allowedOwners: [owners['user a']], allowedTools: ['read'], deniedTools: [] };
  const me = callers['a person'];
  it.each([
    ['no caller', undefined, mine, 'read', 'not_evaluated'],
    ['an unknown server', me, undefined, 'read', 'not_evaluated'],
    ['no tool', me, mine, undefined, 'not_evaluated'],
    ['a server closed to the caller', callers['a team'], mine, 'read', 'denied'],
    ['a server closed to the caller, no tool', callers['a team'], mine, undefined, 'denied'],
    ['a closed tool', me, mine, 'write', 'denied'],
    ['an open tool', me, mine, 'read', 'allowed'],
  ] as const)('%s', (_what, caller, policy, tool, result) => {
    expect(policyResultOf(caller, policy, tool)).toBe(result);
  });
});

const name = fc.constantFrom('a', 'ab', 'abc', 'b', 'bc', 'c', 'x-y', '');
const pattern = fc.tuple(name, fc.constantFrom('', '*')).map((parts) => parts.join(''));
const policies = fc.record({
  allowedOwners: fc.uniqueArray(fc.constantFrom(...Object.values(owners))),
  allowedTools: fc.option(fc.array(pattern, { maxLength: 3 }), { nil: undefined }),
  deniedTools: fc.array(pattern, { maxLength: 3 }),
});

describe('the list of tools and tool calls', () => {
  it('agree: a tool is listed exactly if it may be called', () => {
    fc.assert(
      fc.property(
        policies,
        fc.constantFrom(...Object.values(callers)),
        fc.array(name),
        (policy, caller, tools) => {
          const text = JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            result: { tools: tools.map((tool) => ({ name: tool })) },
          });
          const isOpen = (tool: string): boolean => mayUseServer(caller, policy) && isOpenTool(policy, tool);
          const listed = JSON.parse(withTools(text, isOpen)).result.tools.map(
            (tool: { readonly name: string }) => tool.name,
          );
          const callable = tools.filter((tool) => policyResultOf(caller, policy, tool) === 'allowed');
          expect(listed).toEqual(callable);
        },
      ),
    );
  });
});
