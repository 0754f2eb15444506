import { gatewayNow } from '../../api/clock.ts';
import type { ApiKey } from '../../api/owners.ts';
import { grouped } from '../../ui/amounts.ts';
import { Badge } from '../../ui/values.tsx';

type KeyState = 'active' | 'revoked' | 'expired' | 'owner inactive';

/** Why a key is accepted or refused. */
export function keyState({ active, revoked_at: revokedAt, expires_at: expiresAt }: ApiKey): KeyState {
  if (revokedAt !== null) return 'revoked';
  if (active) return 'active';
  return expiresAt !== null && Date.parse(expiresAt) <= gatewayNow() ? 'expired' : 'owner inactive';
}

const tones = { active: 'good', revoked: 'bad', expired: 'warn', 'owner inactive': 'warn' } as const;

export function KeyBadge({ of }: { readonly of: ApiKey }) {
  const state = keyState(of);
  return <Badge tone={tones[state]}>{state}</Badge>;
}

/** The models that a key may use, in words. */
export const modelsText = (allowed: readonly string[]): string =>
  allowed.length === 0 ? 'all models' : allowed.join(', ');

const maxHinted = 20;

/** The same for a hint: a key may have thousands. */
export const modelsHint = (allowed: readonly string[]): string =>
  allowed.length <= maxHinted
    ? modelsText(allowed)
    : `${modelsText(allowed.slice(0, maxHinted))} and ${grouped(allowed.length - maxHinted)} more`;

/** An instant in words. */
export const instantText = (at: string | null): string =>
  at === null ? 'never' : `${at.slice(0, 16).replace('T', ' ')} UTC`;
