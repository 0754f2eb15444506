import { describe, expect, it } from '@jest/globals';
import type { Replay } from '../support/replay-upstream.ts';
import { choose } from './cut-short.ts';
import { expectChatStream, expectWholeChat } from './expect-chat.ts';
import { expectResponsesStream, expectWholeResponse } from './expect-responses.ts';
import { expectErrorEvent, expectStreamFailure } from './expectations.ts';
import { leftOut } from './left-out.ts';
import {
  type ChatFacts,
  chatRecordings,
  type ChatStreamFacts,
  type ErrorFacts,
  noRecordings,
  type Recording,
  responsesRecordings,
  named,
} from './library.ts';
import { expectCredentials, onPlatformB, type PlatformModel, platformRehearsal } from './platforms.ts';
import { readEvents, readStream } from './received.ts';
import { readResponses } from './received-responses.ts';
import type { Answer, RehearsedFamily } from './rehearsal.ts';
import { cutsFor, lengthsAround } from './cuts.ts';
import { type AskFor, describeRefusals } from './replaying.ts';

/** The styles that pass a family through without translation. */
const onResponses: PlatformModel = {
  id: 'on-responses',
  ...onPlatformB('endpointb_responses', 'openai.gpt-5.6-luna'),
};
const onChat: PlatformModel = { id: 'on-chat', ...onPlatformB('endpointb_chat', 'openai.gpt-oss-120b') };
const onRuntime: PlatformModel = {
  id: 'on-runtime',
  ...onPlatformB('runtime_chat', 'openai.gpt-oss-20b-1:0'),
};

const { ask } = platformRehearsal([onResponses, onChat, onRuntime]);

const familyOf = (model: PlatformModel): RehearsedFamily =>
  model === onResponses ? 'responses' : 'chat_completions';
const streamed = (body: Buffer, model: PlatformModel, more: Partial<Replay>): Promise<Answer> =>
  ask(
    { body, headers: { 'content-type': 'text/event-stream' }, ...more },
    { model: model.id, stream: true, family: familyOf(model) },
  );
const whole = (body: Buffer, model: PlatformModel, more: Partial<Replay> = {}): Promise<Answer> =>
  ask(
    { body, headers: { 'content-type': 'application/json' }, ...more },
    { model: model.id, stream: false, family: familyOf(model) },
  );

/** The upstream received the caller's body with its own model name, signed for the service of its host. */
function expectSent(answer: Answer, model: PlatformModel): void {
  expect(answer.upstream?.body).toEqual({
    ...(JSON.parse(answer.sent) as object),
    model: model.upstreamModel,
  });
  expectCredentials(answer, model);
}

const namespace = 'cloud_b_platform';

type ChatStream = Recording<ChatStreamFacts>;

const has =
  (feature: string) =>
  ({ features }: ChatStream): boolean =>
    features.includes(feature);

/** No chat recordings of this platform exist, so those of other upstreams are used, one of each kind. */
const wishes: readonly ((stream: ChatStream) => boolean)[] = [
  has('usage_only_final'),
  has('tools_parallel'),
  has('content_array'),
  has('reasoning:reasoning'),
  has('reasoning:reasoning_content'),
  has('comments'),
  ({ facts }) => facts.error !== undefined,
  ({ facts }) => facts.sse?.done === true && Object.values(facts.choices).every((c) => !c.finish_reason),
];

/** The shortest answers with these features, one each. */
const answersWith = (
  answers: readonly Recording<ChatFacts>[],
  features: readonly string[],
): readonly Recording<ChatFacts>[] =>
  features.flatMap(
    (feature) =>
      answers
        .filter((answer) => answer.features.some((each) => each.startsWith(feature)))
        .toSorted((a, b) => a.body.length - b.body.length)[0] ?? [],
  );

const premature = /before the answer was complete/;

function replayed(): void {
  const responses = responsesRecordings();
  const isOwn = ({ name }: { readonly name: string }): boolean => name.startsWith('bedrock-mantle/');
  const streams = responses.streams.filter(isOwn);
  const answers = responses.answers.filter(isOwn);
  const chat = chatRecordings();
  const chatStreams = choose(chat.streams, wishes);
  const chatAnswers = answersWith(chat.answers, ['finish:tool_calls', 'finish:stop', 'reasoning:']);

  it('recordings of the platform’s responses, and chat recordings of other upstreams exist', () => {
    expect(streams.length).toBeGreaterThan(1);
    expect(answers.length).toBeGreaterThan(4);
    expect(chatStreams).toHaveLength(wishes.length);
    expect(chatAnswers).toHaveLength(3);
  });

  describe('a recorded responses stream reaches the caller event for event, however it is cut', () => {
    it.each(named(streams))('%s', async (_name, recording) => {
      const results = await Promise.all(
        cutsFor(recording.body).map((cuts) => streamed(recording.body, onResponses, { cuts })),
      );
      for (const answer of results) {
        expectResponsesStream(recording, answer);
        expectSent(answer, onResponses);
      }
    });
  });

  describe('a recorded whole response reaches the caller byte for byte', () => {
    it.each(named(answers))('%s', async (_name, recording) => {
      const answer = await whole(recording.body, onResponses, { cuts: { kind: 'random', seed: 5 } });
      expectWholeResponse(recording, answer);
      expectSent(answer, onResponses);
    });
  });

  describe('a responses stream that ends before its terminal event ends with one `error` event and no [DONE]', () => {
    it.each(named(streams))('%s', async (_name, { body }) => {
      const terminal = readEvents(body).at(-1)!.to;
      await Promise.all(
        lengthsAround(body, [terminal]).map(async (after) => {
          const answer = await streamed(body, onResponses, { ending: { kind: 'end', after } });
          const received = readResponses(answer.bytes);
          if (after < terminal) expectStreamFailure(answer, received, premature, 502, expectErrorEvent);
          else expect([received.dones, received.errors]).toEqual([1, []]);
        }),
      );
    });
  });

  for (const model of [onChat, onRuntime]) {
    describe(`a chat stream reaches the caller with its facts: ${model.style}`, () => {
      it.each(named(chatStreams))('%s', async (_name, recording) => {
        const results = await Promise.all(
          cutsFor(recording.body).map((cuts) => streamed(recording.body, model, { cuts })),
        );
        for (const answer of results) {
          expectChatStream(recording.facts, answer, namespace);
          expectSent(answer, model);
        }
      });

      it.each(named(chatStreams.slice(0, 2)))(
        '%s fails if it ends before its finish reason',
        async (_name, { body }) => {
          const events = readEvents(body);
          const finish = events.find(
            ({ data }) => data === '[DONE]' || /"finish_reason":\s*"./.test(data),
          )!.to;
          await Promise.all(
            lengthsAround(body, [finish]).map(async (after) => {
              const answer = await streamed(body, model, { ending: { kind: 'end', after } });
              const received = readStream(answer.bytes, namespace);
              if (after < finish) expectStreamFailure(answer, received, premature);
              else expect([received.dones, received.errors]).toEqual([1, []]);
            }),
          );
        },
      );
    });

    describe(`a whole chat completion reaches the caller with its facts: ${model.style}`, () => {
      it.each(named(chatAnswers))('%s', async (_name, recording) => {
        const answer = await whole(recording.body, model);
        expectWholeChat(recording, answer, namespace);
        expectSent(answer, model);
      });
    });
  }

  for (const [model, refusals] of [
    [onResponses, responses.refusals],
    [onChat, chat.refusals],
    [onRuntime, chat.refusals],
  ] as const)
    describe(`${model.style}`, () => {
      const askFor: AskFor = ({ body, ...recorded }, stream, { cuts, status, contentType } = {}) =>
        ask(
          {
            body,
            status: status ?? recorded.status ?? 200,
            headers: { 'content-type': contentType ?? recorded.contentType ?? 'application/json' },
            ...(cuts === undefined ? {} : { cuts }),
          },
          { model: model.id, stream, family: familyOf(model) },
        );
      const some: readonly Recording<ErrorFacts>[] = refusals.slice(0, 3);
      describeRefusals(some, askFor, [false, true]);
    });
}

if (noRecordings === undefined) replayed();
else leftOut(noRecordings);
