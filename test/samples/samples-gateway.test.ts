import { describe, expect, it } from '@jest/globals';
import { expectFailedStream, expectSuccessRows } from '../recordings/expectations.ts';
import { onPlatformA, onPlatformB, platformConfig, type PlatformModel } from '../recordings/platforms.ts';
import { isLoose, listOf, type Loose } from '../recordings/received.ts';
import { type Answer, type Ask, rehearsal, replayConfig } from '../recordings/rehearsal.ts';
import type { ConfigFile } from '../support/gateway.ts';
import type { Cuts } from '../support/replay-upstream.ts';
import { embeddingsAnswers } from './number-samples.ts';
import type { CallerFamily, Sample, UpstreamName, UsageFacts } from './sample.ts';
import { answers, type Replay, rowsOf, streams } from './samples.ts';
import { expectedOf, readers } from './told.ts';
import { upstreams } from './upstreams.ts';

const chatStyle = 'compat';

/** How the gateway reaches each upstream; undefined: its samples are only replayed without a gateway. */
const reached: Readonly<Record<UpstreamName, Omit<PlatformModel, 'id'> | typeof chatStyle | undefined>> = {
  compat: chatStyle,
  'platform A, generation': onPlatformA('google/gemini-2.5-pro', [
    'generateContent',
    'streamGenerateContent?alt=sse',
  ]),
  'platform A, messages': onPlatformA('anthropic/claude-opus-4-6', ['rawPredict', 'streamRawPredict']),
  'platform B, converse': onPlatformB('runtime_unified', 'anthropic.claude-opus-4-6-v1:0'),
  'platform A, predict': undefined,
  'platform A, embed content': undefined,
  'platform B, messages': onPlatformB('endpointb_messages', 'anthropic.claude-opus-4-6'),
  'platform B, invoke': undefined,
};

const idOf = (upstream: UpstreamName): string => upstream.replaceAll(/[ ,]+/g, '-');

const models: readonly PlatformModel[] = streams
  .map(({ upstream }) => upstream)
  .filter((upstream, at, all) => all.indexOf(upstream) === at)
  .flatMap((upstream) => {
    const model = reached[upstream];
    return model === undefined || model === chatStyle ? [] : [{ id: idOf(upstream), ...model }];
  });

/** The platforms and a chat-style upstream behind one gateway. */
function config(upstreamUrl: string, key: string): ConfigFile {
  const platforms = platformConfig(upstreamUrl, key, models);
  const own = replayConfig(upstreamUrl, key, [chatStyle]);
  const both = (member: string): readonly Loose[] => [...listOf(platforms[member]), ...listOf(own[member])];
  const pricesOf = ({ pricing }: ConfigFile): readonly Loose[] =>
    isLoose(pricing) ? listOf(pricing['overrides']) : [];
  return {
    ...own,
    providers: both('providers'),
    models: both('models'),
    pricing: { overrides: [...pricesOf(platforms), ...pricesOf(own)] },
  };
}

/** The path of a chat-style upstream; it does not support messages. */
const chatStylePaths: Readonly<Partial<Record<CallerFamily, string>>> = {
  chat_completions: '/v1/chat/completions',
  messages: '/v1/chat/completions',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
};

function pathOf({ model, stream, family = 'chat_completions' }: Ask): string {
  const paths = models.find(({ id }) => id === model)?.paths;
  if (paths === undefined) return chatStylePaths[family] ?? '';
  return stream ? paths[1] : paths[0];
}

const { ask } = rehearsal(config, pathOf);

const cuts: Cuts = { kind: 'random', seed: 7 };

function replayed(sample: Sample<unknown>, caller: CallerFamily, stream: boolean): Promise<Answer> {
  if (caller === 'count_tokens') throw new Error('a count has no ledger row');
  const { upstream, body, contentType } = sample;
  return ask(
    { body, headers: { 'content-type': contentType }, cuts },
    { model: idOf(upstream), stream, family: caller },
  );
}

const rowUsage = (usage: UsageFacts | undefined) =>
  usage && {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: usage.total,
  };

function expectTold(answer: Answer, { sample, caller }: Row, how: 'stream' | 'whole'): void {
  if (caller === 'embeddings' || caller === 'count_tokens') throw new Error(`${caller} says no text`);
  const told = readers[caller][how](answer.bytes, upstreams[sample.upstream].namespace);
  expect(told).toEqual(expectedOf(sample.facts, caller));
  if (told.error === undefined) expectSuccessRows(answer, rowUsage(sample.facts.usage));
  else expectFailedStream(answer);
}

type Row = Replay<Sample>;

/** One row per upstream and caller: a few are enough, because all samples are replayed without a socket. */
const firstOfEach = (rows: readonly Row[]): readonly Row[] =>
  rows.filter(
    ({ upstream, caller }, at) =>
      rows.findIndex((row) => row.upstream === upstream && row.caller === caller) === at,
  );

/** Excludes tool calls with generated ids: these contain the id of the answer, which is another one here. */
const named = ({ sample }: Row): boolean =>
  (sample.facts.calls ?? []).every(({ id }) => !id.startsWith('call_1_'));

const isReached = ({ sample }: Row): boolean => reached[sample.upstream] !== undefined;

const streamRows = rowsOf(streams).filter((row) => named(row) && isReached(row));
const succeeds = ({ sample }: Row): boolean => sample.facts.error === undefined;

const answerRows = rowsOf(answers).filter((row) => named(row) && isReached(row));

describe('a sample replayed through a gateway', () => {
  it.each(firstOfEach(streamRows.filter(succeeds)))(
    '$upstream: a caller of $caller gets, as a stream, $name, and the ledger has its usage',
    async (row) => {
      expectTold(await replayed(row.sample, row.caller, true), row, 'stream');
    },
  );

  it.each(firstOfEach(streamRows.filter((row) => !succeeds(row))))(
    '$upstream: a caller of $caller gets, as a failed stream, $name, and the ledger has no row',
    async (row) => {
      expectTold(await replayed(row.sample, row.caller, true), row, 'stream');
    },
  );

  it.each(firstOfEach(answerRows))(
    '$upstream: a caller of $caller gets, in one response, $name, and the ledger has its usage',
    async (row) => {
      expectTold(await replayed(row.sample, row.caller, false), row, 'whole');
    },
  );

  it('embeddings are passed through byte for byte, and the ledger has their usage', async () => {
    const [sample] = embeddingsAnswers;
    if (sample === undefined) throw new Error('there is no sample');
    const answer = await replayed(sample, 'embeddings', false);
    expect(answer.bytes.equals(sample.body)).toBe(true);
    expectSuccessRows(answer, rowUsage(sample.facts.usage));
  });
});
