import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { keptPayload } from '../../application/keep-payload.ts';
import { requestRedaction } from '../../application/request-redaction.ts';
import { maxEventLoopBodyBytes } from '../../domain/shared/limits.ts';
import { aCaller, Pipeline } from '../support/fakes/pipeline.ts';

it('a payload whose request and answer both fail redaction fails once, without an unhandled rejection', async () => {
  const unheard: unknown[] = [];
  const hear = (error: unknown): void => void unheard.push(error);
  process.on('unhandledRejection', hear);
  const { policy } = new Pipeline({});
  const request = { caller: aCaller(), callerKey: [] };
  const failing = async (what: string, turns: number): Promise<never> => {
    for (let each = 0; each < turns; each += 1) await turn();
    throw new Error(what);
  };
  const kept = keptPayload(
    {
      request: request as unknown as Parameters<typeof keptPayload>[0]['request'],
      redaction: requestRedaction(request, () => policy),
      body: { redacted: () => failing('request', 1) } as unknown as Parameters<typeof keptPayload>[0]['body'],
    },
    {
      answer: { kind: 'whole', body: new Uint8Array(maxEventLoopBodyBytes + 1) },
      failure: undefined,
      usage: undefined,
    },
    policy,
    { redactedAnswer: () => failing('answer', 3) },
  );
  await expect(kept).rejects.toThrow('request');
  for (let each = 0; each < 10; each += 1) await turn();
  process.off('unhandledRejection', hear);
  expect(unheard).toEqual([]);
});
