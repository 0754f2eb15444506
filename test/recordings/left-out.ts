import { it } from '@jest/globals';

/** A suite without recordings: it fails in CI, and is skipped with a message elsewhere. */
export function leftOut(reason: string): void {
  if (process.env['CI'] === 'true') {
    it('recordings exist in CI', () => {
      throw new Error(reason);
    });
    return;
  }
  process.stderr.write(`${reason}\n`);
  it.skip(`replays recorded upstream answers; ${reason}`, () => undefined);
}
