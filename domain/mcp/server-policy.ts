import type { Caller } from '../identity/caller.ts';
import type { PolicyResult } from './invocation.ts';

/** Whose keys may use a server. */
export type AllowedOwner =
  | { readonly kind: 'everyone' }
  /** In lower case. */
  | { readonly kind: 'user'; readonly email: string }
  /** The team's own keys, those of its service accounts, and those of its members. */
  | { readonly kind: 'team'; readonly id: string }
  | { readonly kind: 'service_account'; readonly id: string };

/** What a configured server is open to. */
export interface ServerPolicy {
  readonly allowedOwners: readonly AllowedOwner[];
  /** Names of tools, or beginnings with `*` behind them; undefined: every tool that is not denied. */
  readonly allowedTools: readonly string[] | undefined;
  readonly deniedTools: readonly string[];
}

export const mayUseServer = (caller: Caller, { allowedOwners }: ServerPolicy): boolean =>
  allowedOwners.some((allowed) => includes(allowed, caller));

function includes(allowed: AllowedOwner, { keyOwner, person }: Caller): boolean {
  switch (allowed.kind) {
    case 'everyone':
      return true;
    case 'user':
      return keyOwner.kind === 'user' && person?.email === allowed.email;
    case 'team':
      return keyOwner.kind === 'user'
        ? person?.teamIds.includes(allowed.id) === true
        : keyOwner.teamId === allowed.id;
    case 'service_account':
      return keyOwner.kind === 'service_account' && keyOwner.serviceAccountId === allowed.id;
  }
}

/** Whether whoever may use the server may use this tool of it: a denial wins over a permission. */
export const isOpenTool = ({ allowedTools, deniedTools }: ServerPolicy, tool: string): boolean =>
  !deniedTools.some((pattern) => matches(pattern, tool)) &&
  (allowedTools === undefined || allowedTools.some((pattern) => matches(pattern, tool)));

/** What is recorded of a call: without a caller, a known server or a named tool there is nothing to judge. */
export function policyResultOf(
  caller: Caller | undefined,
  policy: ServerPolicy | undefined,
  tool: string | undefined,
): PolicyResult {
  if (caller === undefined || policy === undefined) return 'not_evaluated';
  if (!mayUseServer(caller, policy)) return 'denied';
  if (tool === undefined) return 'not_evaluated';
  return isOpenTool(policy, tool) ? 'allowed' : 'denied';
}

/** `*` at the end of a pattern stands for any rest of a name, none too. */
const matches = (pattern: string, tool: string): boolean =>
  pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : tool === pattern;
