import { describe, expect, it } from '@jest/globals';
import { expectResponsesStream, expectWholeResponse } from './expect-responses.ts';
import { leftOut } from './left-out.ts';
import { noRecordings, responsesRecordings, named } from './library.ts';
import { cutsFor } from './cuts.ts';
import { describeRefusals, replaying } from './replaying.ts';

const { streams, answers, refusals } = responsesRecordings();

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);

function replayed(): void {
  const askFor = replaying('responses', [...streams, ...answers, ...refusals]);

  it('recordings of streams, of whole answers and of errors exist', () => {
    expect([streams, answers, refusals].map(({ length }) => length > 0)).toEqual([true, true, true]);
  });

  describe('a recorded responses stream reaches the caller event for event, however it is cut', () => {
    it.each(named(streams))('%s', async (_name, recording) => {
      const results = await Promise.all(
        cutsFor(recording.body).map((cuts) => askFor(recording, true, { cuts })),
      );
      for (const result of results) expectResponsesStream(recording, result);
    });
  });

  describe('a recorded whole response reaches the caller byte for byte', () => {
    it.each(named(answers))('%s', async (_name, recording) => {
      const answer = await askFor(recording, false, { cuts: { kind: 'random', seed: 5 } });
      expectWholeResponse(recording, answer);
    });

    it('exactly one recording is a chat completion', () => {
      const chats = answers.filter(({ body }) => body.includes('"choices"'));
      expect(chats.map(({ name }) => name)).toEqual(['azure/responses/unary/azure-deepseek-reasoning-1']);
    });
  });

  describeRefusals(refusals, askFor, [false, true]);
}
