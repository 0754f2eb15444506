import { grouped } from '../../ui/amounts.ts';

/** The effects of deactivating an owner, as the API reports them; `null` for any other change. */
export type Effects = {
  readonly keys_refused: number;
  readonly sessions_ended: number;
  readonly tokens_revoked: number;
  readonly budget: 'kept' | 'none';
} | null;

/** The same in a sentence. */
export function effectsText(effects: Effects): string {
  if (effects === null) return '';
  const { keys_refused: keys, sessions_ended: sessions, tokens_revoked: tokens, budget } = effects;
  const parts = [
    keys === 1 ? '1 key is refused' : `${grouped(keys)} keys are refused`,
    ...(sessions === 0 ? [] : [sessions === 1 ? '1 session ended' : `${grouped(sessions)} sessions ended`]),
    ...(tokens === 0
      ? []
      : [tokens === 1 ? '1 API token was revoked' : `${grouped(tokens)} API tokens were revoked`]),
    budget === 'kept' ? 'the budget was kept' : 'there was no budget',
  ];
  return ` ${parts.join(', ')}.`;
}
