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

/** Who may use a configured server, and which of its tools. */
export interface ServerPolicy {
  readonly allowedOwners: readonly AllowedOwner[];
  /** Tool names, or prefixes followed by `*`; `undefined` allows every tool that is not denied. */
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

/** Whether callers who may use the server may use this tool of it. A denial wins over a permission. */
export const isOpenTool = ({ allowedTools, deniedTools }: ServerPolicy, tool: string): boolean =>
  !deniedTools.some((pattern) => matches(pattern, tool)) &&
  (allowedTools === undefined || allowedTools.some((pattern) => matches(pattern, tool)));

/**
 * The policy result that is recorded for a call. Without a caller, a known server or a named tool there is nothing to
 * judge.
 */
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

/** A `*` at the end of a pattern matches any rest of a name, including none. */
const matches = (pattern: string, tool: string): boolean =>
  pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : tool === pattern;
