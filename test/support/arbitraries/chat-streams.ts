import * as fc from 'fast-check';
import { aLineEnding } from './event-streams.ts';
import { exactJsonText } from './json-text.ts';

/** One event of a chat stream as an upstream may send it, and what it means. */
export interface ChatItem {
  readonly means: 'chunk' | 'terminal' | 'done' | 'failed' | 'nothing';
  readonly text: string;
}

const chunk = (choice: string, more = ''): string => `data: {"id":"c1","choices":[${choice}]${more}}`;
const usage = '"usage":{"prompt_tokens":3,"completion_tokens":5}';

const finishReasons = fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter', 'eos');

/** Events of every kind; a stream of them is well-formed more often than not. */
const aChatItem: fc.Arbitrary<ChatItem> = fc.oneof<fc.WeightedArbitrary<ChatItem>[]>(
  {
    weight: 6,
    arbitrary: fc.constantFrom<ChatItem>(
      {
        means: 'chunk',
        text: chunk('{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}'),
      },
      { means: 'chunk', text: chunk('{"index":0,"delta":{"content":"Grüße 😀"}}') },
      { means: 'chunk', text: chunk('{"index":0,"delta":{"content":"a"},"finish_reason":""}') },
      { means: 'chunk', text: chunk('{"index":0,"delta":{"reasoning_content":"hm"}}') },
      { means: 'chunk', text: chunk('{"index":0,"delta":{"reasoning_text":"hm"},"n":0.10}') },
      { means: 'chunk', text: chunk('{"index":0,"delta":{"content":"a"},' + usage + '}') },
      { means: 'chunk', text: chunk('{"index":1,"delta":{"content":"b"}}') },
      { means: 'chunk', text: chunk('', `,${usage}`) },
      { means: 'chunk', text: 'data: {}' },
    ),
  },
  {
    weight: 2,
    arbitrary: finishReasons.map((reason) => ({
      means: 'terminal',
      text: chunk(`{"index":0,"delta":{},"finish_reason":"${reason}"}`),
    })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<ChatItem>(
      { means: 'done', text: 'data: [DONE]' },
      { means: 'done', text: 'data:[DONE] ' },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<ChatItem>(
      { means: 'nothing', text: ': ping' },
      { means: 'nothing', text: 'event: ping' },
      { means: 'nothing', text: 'data:' },
      { means: 'nothing', text: 'id: 7' },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<ChatItem>(
      { means: 'failed', text: 'data: {"choices":[' },
      { means: 'failed', text: 'data: <html>' },
      { means: 'failed', text: 'data: [1]' },
      { means: 'failed', text: 'data: null' },
      { means: 'failed', text: 'data: {"error":{"message":"overloaded","code":529}}' },
      {
        means: 'failed',
        text: chunk('{"index":0,"delta":{},"finish_reason":"error"}', ',"error":{"message":"m"}'),
      },
      { means: 'failed', text: chunk('{"index":1,"finish_reason":"error","error":{"message":"m"}}') },
      { means: 'failed', text: chunk('', ',"x_groq":{"error":"over_capacity"}') },
      { means: 'failed', text: 'event: error\ndata: {"message":"m"}' },
    ),
  },
);

export interface ChatScript {
  readonly items: readonly ChatItem[];
  readonly bytes: Buffer;
}

/** A whole stream of such events. */
export const aChatScript: fc.Arbitrary<ChatScript> = fc
  .tuple(fc.array(aChatItem, { maxLength: 12, size: 'max' }), aLineEnding)
  .map(([items, eol]) => ({
    items,
    bytes: Buffer.from(items.map(({ text }) => `${text.replaceAll('\n', eol)}${eol}${eol}`).join('')),
  }));

/** JSON text with an edit to make, and more of it around. */
export const anEditedChunkText: fc.Arbitrary<string> = fc
  .tuple(exactJsonText, exactJsonText)
  .map(
    ([inside, beside]) =>
      `{"id":"c1","choices":[{"index":0,"delta":{"reasoning_content":"hm","x":${inside}}}],"y":${beside}}`,
  );
