import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { generationUsage } from '../../domain/ledger/usage.ts';
import { messagesUsage } from '../../domain/messages/messages-usage.ts';
import type { Compatibility } from '../../domain/routing/model.ts';
import { chatUsage as generatedUsage } from '../../infrastructure/providers/cloud-a/generate-content-usage.ts';
import { chatUsage as converseUsage } from '../../infrastructure/providers/cloud-b/unified-usage.ts';
import { chatUsage as messagesBodyUsage } from '../../infrastructure/providers/messages-body/usage.ts';
import { writtenChat } from '../support/written-chat.ts';

const mark = { cache_control: { type: 'ephemeral' } };
const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more });

const marked = {
  model: 'm',
  max_tokens: 9,
  system: [text('Be kind.', hour), text('Be brief.')],
  messages: [
    { role: 'user', content: [text('Hi', mark)] },
    {
      role: 'assistant',
      content: [text('Calling.', mark), { type: 'tool_use', id: 'toolu_1', name: 'f', input: {}, ...mark }],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [text('A book.', mark)] },
        text('Go on.'),
        { type: 'image', source: { type: 'url', url: 'https://h/i.png' }, ...mark },
      ],
    },
  ],
  tools: [
    { name: 'f', input_schema: {}, ...hour },
    { name: 'g', input_schema: {} },
  ],
  ...mark,
};

describe('messages calls on chat-style routes', () => {
  const kept = {
    cache_control: mark.cache_control,
    messages: [
      { role: 'system', content: [text('Be kind.', hour), text('Be brief.')] },
      { role: 'user', content: [text('Hi', mark)] },
      {
        role: 'assistant',
        content: [text('Calling.', mark)],
        tool_calls: [{ id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{}' }, ...mark }],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: [text('A book.', mark)] },
      {
        role: 'user',
        content: [text('Go on.'), { type: 'image_url', image_url: { url: 'https://h/i.png' }, ...mark }],
      },
    ],
    tools: [
      { type: 'function', function: { name: 'f', parameters: {} }, ...hour },
      { type: 'function', function: { name: 'g', parameters: {} } },
    ],
  };

  it('keep `cache_control` if the route has `compat.cache_control: true`', () => {
    expect(writtenChat(marked, { compatibility: { compat: { cache_control: true } } })).toMatchObject(kept);
  });

  it('have no empty part if they keep `cache_control`: upstreams reject it', () => {
    const system = [text('x-anthropic-billing-header: cc_version=2.1.329.136;'), text('Be kind.', mark)];
    const body = writtenChat({ ...marked, system }, { compatibility: { compat: { cache_control: true } } });
    expect(body['messages']).toMatchObject([
      { role: 'system', content: [text('Be kind.', mark)] },
      ...kept.messages.slice(1),
    ]);
  });

  it('keep `cache_control` in merged turns, which stay separate for a provider that translates chat', () => {
    const use = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
    const turns = [
      { role: 'assistant', content: [text('One.'), use('a')] },
      { role: 'assistant', content: [text('Two.', mark), use('b')] },
    ];
    const body = { model: 'm', max_tokens: 9, messages: turns };
    expect(
      writtenChat(body, { compatibility: { compat: { cache_control: true } } })['messages'],
    ).toMatchObject([
      { content: [text('One.'), text('Two.', mark)], tool_calls: [{ id: 'a' }, { id: 'b' }] },
    ]);
    expect(writtenChat(body, {}, 'translated')['messages']).toMatchObject([
      { content: 'One.', tool_calls: [{ id: 'a' }] },
      { content: [text('Two.', mark)], tool_calls: [{ id: 'b' }] },
    ]);
  });

  it('keep `cache_control` if the provider translates chat', () => {
    expect(writtenChat(marked, {}, 'translated')).toMatchObject(kept);
  });

  it.each<[string, Compatibility]>([
    ['without a block', {}],
    ['with `false`', { compat: { cache_control: false } }],
  ])('lose `cache_control` %s, and have plain string content', (_, compatibility) => {
    const body = writtenChat(marked, { compatibility });
    expect(JSON.stringify(body)).not.toContain('cache_control');
    expect(body['messages']).toMatchObject([
      { role: 'system', content: 'Be kind.\n\nBe brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Calling.' },
      { role: 'tool', content: 'A book.' },
      { role: 'user', content: [{ type: 'text' }, { type: 'image_url' }] },
    ]);
  });

  it('have the same body with and without the setting if they have no `cache_control`', () => {
    const plain = JSON.parse(
      JSON.stringify(marked, (key, value: unknown) => (key === 'cache_control' ? undefined : value)),
    ) as object;
    expect(writtenChat(plain, { compatibility: { compat: { cache_control: true } } })).toEqual(
      writtenChat(plain, {}),
    );
  });
});

const count = fc.nat(100_000);

describe('usage of caches', () => {
  it('of a messages body is returned unchanged to a messages caller, and the prompt is the sum', () => {
    const reported = fc.record({
      input_tokens: count,
      cache_read_input_tokens: count,
      cache_creation_input_tokens: count,
      output_tokens: count,
    });
    fc.assert(
      fc.property(reported, (usage) => {
        const chat = messagesBodyUsage(usage);
        expect(messagesUsage(chat)).toEqual(usage);
        expect(generationUsage(chat)?.promptTokens).toBe(
          usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
        );
      }),
      { seed: 71 },
    );
  });

  it('of converse has reads and writes for callers of both families', () => {
    const reported = fc.record({
      inputTokens: count,
      outputTokens: count,
      cacheReadInputTokens: count,
      cacheWriteInputTokens: count,
    });
    fc.assert(
      fc.property(reported, (usage) => {
        const chat = converseUsage(usage);
        expect(chat?.['prompt_tokens_details']).toEqual({
          cached_tokens: usage.cacheReadInputTokens,
          cache_write_tokens: usage.cacheWriteInputTokens,
        });
        expect(messagesUsage(chat)).toEqual({
          input_tokens: usage.inputTokens,
          cache_read_input_tokens: usage.cacheReadInputTokens,
          cache_creation_input_tokens: usage.cacheWriteInputTokens,
          output_tokens: usage.outputTokens,
        });
        expect(generationUsage(chat)?.promptTokens).toBe(
          usage.inputTokens + usage.cacheReadInputTokens + usage.cacheWriteInputTokens,
        );
      }),
      { seed: 72 },
    );
  });

  it('of generate-content has reads, which are part of its prompt', () => {
    const chat = generatedUsage({
      promptTokenCount: 9,
      candidatesTokenCount: 2,
      cachedContentTokenCount: 4,
    });
    expect(chat).toMatchObject({ prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 4 } });
    expect(messagesUsage(chat)).toMatchObject({ input_tokens: 5, cache_read_input_tokens: 4 });
  });

  it('of a router has writes under either of the two names that routers use', () => {
    for (const name of ['cache_write_tokens', 'cache_creation_tokens'])
      expect(
        messagesUsage({
          prompt_tokens: 10,
          completion_tokens: 1,
          prompt_tokens_details: { cached_tokens: 2, [name]: 3 },
        }),
      ).toMatchObject({ input_tokens: 5, cache_read_input_tokens: 2, cache_creation_input_tokens: 3 });
  });
});
