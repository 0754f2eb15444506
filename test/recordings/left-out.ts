import { it } from '@jest/globals';

/** A suite without recordings: in CI a failure, elsewhere a line that says so. */
export function leftOut(reason: string): void {
  if (process.env['CI'] === 'true') {
    it('has recordings to replay, because this is CI', () => {
      throw new Error(reason);
    });
    return;
  }
  process.stderr.write(`${reason}\n`);
  it.skip(`replays recorded upstream answers; ${reason}`, () => undefined);
}
