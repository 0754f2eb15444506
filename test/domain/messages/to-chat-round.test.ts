import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { aConversation } from '../../support/arbitraries/messages.ts';
import { text, translate } from './told-in-chat.ts';

describe('messages → chat → messages', () => {
  interface Block {
    readonly type: string;
    readonly text?: string;
    readonly is_error?: boolean;
    readonly input?: unknown;
  }
  interface Message {
    readonly role: string;
    readonly content: string | readonly Block[];
  }
  interface ChatMessage {
    readonly role: string;
    readonly content: string | null | readonly (Block & { readonly image_url?: { readonly url: string } })[];
    readonly tool_call_id?: string;
    readonly tool_calls?: readonly {
      readonly id: string;
      readonly function: { readonly name: string; readonly arguments: string };
    }[];
  }

  /** Translates chat messages back to content blocks. */
  const blocksBack = ({ content, ...message }: ChatMessage): readonly object[] => {
    if (message.role === 'tool' && typeof content === 'string') {
      const failed = content.startsWith('Error: ');
      const words = failed ? content.slice('Error: '.length) : content;
      return [{ type: 'tool_result', tool_use_id: message.tool_call_id, content: words, failed }];
    }
    const parts = typeof content === 'string' ? [text(content)] : (content ?? []);
    return [
      ...parts.map((part) => ('image_url' in part ? imageBack(part.image_url?.url ?? '') : part)),
      ...(message.tool_calls ?? []).map(({ id, function: { name, arguments: input } }) => ({
        type: 'tool_use',
        id,
        name,
        input,
      })),
    ];
  };
  const imageBack = (url: string): object => {
    const data = /^data:(.*?);base64,(.*)$/.exec(url);
    const source =
      data === null ? { type: 'url', url } : { type: 'base64', media_type: data[1], data: data[2] };
    return { type: 'image', source };
  };

  /** The blocks of a message in the order of a chat message; call inputs as text, to keep every digit. */
  const saidBy = ({ role, content }: Message): readonly (readonly [string, object])[] => {
    const blocks: readonly Block[] = typeof content === 'string' ? [text(content)] : content;
    const of = (...types: readonly string[]) => blocks.filter(({ type }) => types.includes(type));
    if (role !== 'assistant')
      return [
        ...of('tool_result').map(
          ({ is_error, ...block }) => ['tool', { ...block, failed: is_error === true }] as const,
        ),
        ...of('text', 'image').map((block) => [role, block] as const),
      ];
    const texts = of('text').map(({ text }) => text);
    return [
      ...(texts.length === 0 ? [] : [['assistant', text(texts.join(''))] as const]),
      ...of('tool_use').map(
        (block) => ['assistant', { ...block, input: JSON.stringify(block.input) }] as const,
      ),
    ];
  };

  type Said = ReturnType<typeof saidBy>;
  const isCall = ([, block]: Said[number]): boolean => 'input' in block;

  /** Joins an assistant message that follows calls to the message with these calls. */
  const callsTogether = (said: readonly Said[], next: Said): readonly Said[] => {
    const last = said.at(-1) ?? [];
    if (next[0]?.[0] !== 'assistant' || !last.some(isCall)) return [...said, next];
    const both = [...last, ...next];
    const texts = both.flatMap(([, block]) => ('text' in block ? [block.text] : []));
    const words = texts.length === 0 ? [] : [['assistant', text(texts.join('\n\n'))] as const];
    return [...said.slice(0, -1), [...words, ...both.filter(isCall)]];
  };

  /** Behind calls, results come before whatever else is said until the assistant's next turn. */
  const inOrder = ([first, ...rest]: readonly Said[]): Said => {
    if (first === undefined) return [];
    if (!first.some(isCall)) return [...first, ...inOrder(rest)];
    const next = rest.findIndex((each) => each[0]?.[0] === 'assistant');
    const end = next < 0 ? rest.length : next;
    const behind = rest.slice(0, end).flat();
    const [results, others] = [true, false].map((is) => behind.filter(([by]) => (by === 'tool') === is));
    return [...first, ...(results ?? []), ...(others ?? []), ...inOrder(rest.slice(end))];
  };

  it('keeps every block that both formats can express, in order', () => {
    fc.assert(
      fc.property(aConversation, (messages) => {
        const turns = messages
          .map((message) => saidBy(message as unknown as Message))
          .filter((each) => each.length > 0)
          .reduce<readonly Said[]>(callsTogether, []);
        const said = inOrder(turns);
        const body = translate({ messages });
        if (E.isLeft(body)) {
          expect(said).toEqual([]);
          return;
        }
        const chat = JSON.parse(JSON.stringify(body.right['messages'])) as readonly ChatMessage[];
        expect(
          chat.flatMap((message) => blocksBack(message).map((block) => [message['role'], block])),
        ).toEqual(said);
      }),
      { numRuns: 400 },
    );
  });
});
