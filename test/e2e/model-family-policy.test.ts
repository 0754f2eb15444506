import { describe, expect, it } from '@jest/globals';
import { type ModelTier, modelTiers } from '../../domain/reasoning/model-tier.ts';
import { onPlatformA, onPlatformB, type PlatformModel, platformRehearsal } from '../recordings/platforms.ts';
import type { Answer, RehearsedFamily } from '../recordings/rehearsal.ts';
import { type Cell, familyTable, type Sent } from './model-family-table.ts';

/** A model of each tier. */
const names: Readonly<Record<ModelTier, string>> = {
  latest: 'claude-opus-4-7',
  previous: 'claude-sonnet-4-6',
  preview: 'claude-mythos-preview',
  one_older: 'claude-opus-4-5-20251101',
  older: 'claude-sonnet-4-20250514',
};

const onA = (name: string): Omit<PlatformModel, 'id'> =>
  onPlatformA(`anthropic/${name}`, ['rawPredict', 'streamRawPredict']);
const onB = (style: 'runtime_messages' | 'endpointb_messages' | 'runtime_unified') => (name: string) =>
  onPlatformB(style, style === 'endpointb_messages' ? `anthropic.${name}` : `us.anthropic.${name}-v1:0`);

/** Each upstream style with each caller family whose body the policy builds. */
const doors = {
  'platform A, chat caller': { family: 'chat_completions', model: onA, expected: onRawPredict },
  'platform A, messages caller': { family: 'messages', model: onA, expected: onRawPredict },
  'runtime_messages, chat caller': {
    family: 'chat_completions',
    model: onB('runtime_messages'),
    expected: onInvoke,
  },
  'runtime_messages, messages caller': {
    family: 'messages',
    model: onB('runtime_messages'),
    expected: onInvoke,
  },
  'endpointb_messages, chat caller': {
    family: 'chat_completions',
    model: onB('endpointb_messages'),
    expected: onEndpointB,
  },
  'endpointb_messages, messages caller': {
    family: 'messages',
    model: onB('endpointb_messages'),
    expected: onEndpointB,
  },
  'runtime_unified, chat caller': {
    family: 'chat_completions',
    model: onB('runtime_unified'),
    expected: onUnified,
  },
} as const satisfies Record<
  string,
  {
    readonly family: RehearsedFamily;
    readonly model: (name: string) => Omit<PlatformModel, 'id'>;
    readonly expected: (sent: Sent, name: string) => Outbound;
  }
>;

type Door = keyof typeof doors;
const doorNames = Object.keys(doors) as Door[];

/** What the upstream must receive beside the conversation. */
interface Outbound {
  readonly body: object;
  readonly betaHeader: string | undefined;
}

const maxTokens = 4096;

function onRawPredict({ a }: Sent): Outbound {
  return {
    body: { max_tokens: maxTokens, anthropic_version: 'vertex-2023-10-16', ...a },
    betaHeader: undefined,
  };
}

function onInvoke({ b, betas }: Sent): Outbound {
  const body = { max_tokens: maxTokens, anthropic_version: 'bedrock-2023-05-31', ...b };
  return { body: betas.length === 0 ? body : { ...body, anthropic_beta: betas }, betaHeader: undefined };
}

function onEndpointB({ b, betas }: Sent, name: string): Outbound {
  return {
    body: { max_tokens: maxTokens, model: `anthropic.${name}`, ...b },
    betaHeader: betas.length === 0 ? undefined : betas.join(','),
  };
}

function onUnified({ fields, inference }: Sent): Outbound {
  const body = { inferenceConfig: { maxTokens, ...inference } };
  return {
    body: fields === undefined ? body : { ...body, additionalModelRequestFields: fields },
    betaHeader: undefined,
  };
}

const idOf = (door: Door, tier: ModelTier): string => `${door.replaceAll(/[ ,]+/g, '-')}-${tier}`;

const { ask } = platformRehearsal(
  doorNames.flatMap((door) =>
    modelTiers.map((tier) => ({ id: idOf(door, tier), ...doors[door].model(names[tier]) })),
  ),
);

const usage = { input_tokens: 1, output_tokens: 1 };
const answers = {
  messages: { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn', usage },
  converse: {
    output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  },
};

const request = (door: Door, tier: ModelTier, asked: object): Promise<Answer> =>
  ask(
    {
      body: JSON.stringify(answers[door.startsWith('runtime_unified') ? 'converse' : 'messages']),
      headers: { 'content-type': 'application/json' },
    },
    {
      model: idOf(door, tier),
      stream: false,
      family: doors[door].family,
      more: JSON.stringify({ max_tokens: maxTokens, ...asked }).slice(1, -1),
    },
  );

/** Everything of the body but the conversation, and the header. */
function outboundOf({ upstream }: Answer): Outbound {
  const { messages, ...body } = upstream!.body;
  expect(messages).toHaveLength(1);
  const header = upstream!.headers['anthropic-beta'];
  return { body, betaHeader: header?.toString() };
}

function expectCell(door: Door, tier: ModelTier, cell: Cell, answer: Answer): void {
  if ('a' in cell) {
    expect({ door, status: answer.status, ...outboundOf(answer) }).toEqual({
      door,
      status: 200,
      ...doors[door].expected(cell, names[tier]),
    });
    expect(answer.after.attempts).toHaveLength(1);
    return;
  }
  const { error } = JSON.parse(answer.bytes.toString()) as { readonly error: object };
  const { param, message } = cell;
  const expected =
    doors[door].family === 'messages'
      ? { type: 'invalid_request_error', message, details: { error_code: 'invalid_request' } }
      : { type: 'invalid_request_error', message, param, code: 'invalid_request' };
  expect({ door, status: answer.status, error }).toEqual({ door, status: 400, error: expected });
  expect(answer.upstream).toBeUndefined();
  expect(answer.after).toMatchObject({ attempts: [], ledger: [] });
}

const rows = Object.entries(familyTable).map(([name, { asked, ...cells }]) => ({ name, asked, cells }));

describe.each(modelTiers)('model-family request policy, %s', (tier) => {
  it.each(rows)('$name', async ({ asked, cells }) => {
    const results = await Promise.all(
      doorNames.map(async (door) => [door, await request(door, tier, asked)] as const),
    );
    for (const [door, answer] of results) expectCell(door, tier, cells[tier], answer);
  });
});
