import { describe, expect, it } from '@jest/globals';
import { expectChatStream, expectWholeChat, isChatCompletion, isGlued } from './expect-chat.ts';
import { expectRefusal } from './expectations.ts';
import { leftOut } from './left-out.ts';
import { chatRecordings, noRecordings, named } from './library.ts';
import { cutsFor } from './cuts.ts';
import { describeRefusals, replaying } from './replaying.ts';

const { streams, answers, refusals } = chatRecordings();

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);

function replayed(): void {
  const askFor = replaying('chat_completions', [...streams, ...answers, ...refusals]);

  it('recordings of streams and of whole answers exist', () => {
    expect(streams.length).toBeGreaterThan(0);
    expect(answers.length).toBeGreaterThan(0);
  });

  describe('a recorded chat stream reaches the caller with its facts, however it is cut', () => {
    it.each(named(streams))('%s', async (_name, recording) => {
      const contentType = recording.contentType ?? 'text/event-stream';
      const results = await Promise.all(
        cutsFor(recording.body).map((cuts) => askFor(recording, true, { cuts, contentType })),
      );
      for (const result of results) {
        if (!isGlued(recording.body)) expectChatStream(recording.facts, result);
        expect(result.bytes.equals(results[0]!.bytes)).toBe(true);
      }
    });
  });

  describe('a recorded whole answer reaches the caller byte for byte, unless a rule changed it', () => {
    it.each(named(answers))('%s', async (_name, recording) => {
      const answer = await askFor(recording, false, { cuts: { kind: 'random', seed: 5 } });
      if (isChatCompletion(recording.body)) expectWholeChat(recording, answer);
      else expectRefusal(answer, { status: 502, attempt: 'provider_error' });
    });
  });

  describeRefusals(refusals, askFor, [false, true]);
}
