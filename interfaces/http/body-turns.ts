import { maxTurnBodyBytes } from '../../domain/shared/limits.ts';

/** Called when a body has been read; `undefined`: its request goes on at once. */
export type BodyTurns = (bytes: number) => Promise<void> | undefined;

interface Waiting {
  readonly bytes: number;
  readonly begin: () => void;
}

/**
 * Requests whose bodies arrive at one instant are begun in turns, in their order: after each `maxTurnBodyBytes`,
 * whatever else waits in the event loop goes first (rule 27.16). Hundreds of them, parsed in one turn, would hold it up
 * for half a second. Small bodies have no bytes here: they wait only behind others.
 */
export function bodyTurns(): BodyTurns {
  const waiting: Waiting[] = [];
  let begunBytes = 0;
  const nextTurn = (): void => {
    begunBytes = 0;
    let begun = 0;
    for (const { bytes, begin } of waiting) {
      if (begunBytes >= maxTurnBodyBytes) break;
      begunBytes += bytes;
      begun += 1;
      begin();
    }
    waiting.splice(0, begun);
    if (begunBytes > 0) setImmediate(nextTurn);
  };
  return (bytes) => {
    if (waiting.length > 0 || begunBytes >= maxTurnBodyBytes)
      return new Promise((resolve) => waiting.push({ bytes, begin: resolve }));
    if (bytes > 0 && begunBytes === 0) setImmediate(nextTurn);
    begunBytes += bytes;
    return undefined;
  };
}
