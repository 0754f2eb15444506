import { describe, expect, it } from '@jest/globals';
import { chatMessages, faultOf, hello, png, text, user } from './told-in-chat.ts';

const assistant = (...content: readonly object[]) =>
  chatMessages([...hello, { role: 'assistant', content }, ...hello]);
const said = (content: string) => [...hello, { role: 'assistant', content }, ...hello];

const searched = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'snow' } };
const found = {
  type: 'web_search_tool_result',
  tool_use_id: 's1',
  content: [
    { type: 'web_search_result', title: 'Snow', url: 'https://example.com', encrypted_content: 'Zm9v' },
  ],
};

describe('blocks of hosted tools', () => {
  it('are paragraphs among the texts of the assistant', () => {
    expect(assistant(text('I loo'), text('k.'), searched, found, text('It snows'), text('.'))).toEqual(
      said(
        'I look.\n\n' +
          'The tool web_search was called with: {"query":"snow"}\n\n' +
          'The tool answered (web_search_tool_result): ' +
          '[{"type":"web_search_result","title":"Snow","url":"https://example.com"}]\n\n' +
          'It snows.',
      ),
    );
  });

  it.each<[string, object, string]>([
    [
      'advice',
      { type: 'advisor_tool_result', tool_use_id: 's1', content: { type: 'advisor_result', text: 'Wait.' } },
      'The tool answered (advisor_tool_result): {"type":"advisor_result","text":"Wait."}',
    ],
    [
      'a fetched file',
      {
        type: 'web_fetch_tool_result',
        tool_use_id: 's1',
        content: { type: 'web_fetch_result', content: { type: 'document', source: png } },
      },
      'The tool answered (web_fetch_tool_result): {"type":"web_fetch_result","content":{"type":"document","source":{"type":"base64","media_type":"image/png"}}}',
    ],
    [
      'a call of a hosted MCP server',
      { type: 'mcp_tool_use', id: 'm1', name: 'read', server_name: 'files', input: { path: 'a' } },
      'The tool read was called with: {"path":"a"}',
    ],
    [
      'its result',
      { type: 'mcp_tool_result', tool_use_id: 'm1', is_error: false, content: [text('A')] },
      'The tool answered (mcp_tool_result): [{"type":"text","text":"A"}]',
    ],
    ['a summary', { type: 'compaction', content: 'They met.', encrypted_content: 'Zm9v' }, 'They met.'],
  ])('%s', (_, block, words) => {
    expect(assistant(block, text('So.'))).toEqual(said(`${words}\n\nSo.`));
  });

  it('a change to another model is not mentioned', () => {
    expect(assistant({ type: 'fallback', from: { model: 'a' }, to: { model: 'b' } }, text('So.'))).toEqual(
      said('So.'),
    );
  });
});

describe('a search result', () => {
  const result = { type: 'search_result', source: 'https://a.example', title: 'A', content: [text('One.')] };

  it('becomes text below its title and source', () => {
    expect(chatMessages(user(result, text('What?')).messages)).toEqual([
      {
        role: 'user',
        content: [text('A\n\nhttps://a.example'), text('One.'), text('What?')],
      },
    ]);
  });

  it('in the result of a tool is part of its text', () => {
    const use = { type: 'tool_use', id: 'a', name: 'f', input: {} };
    const answer = { type: 'tool_result', tool_use_id: 'a', content: [result] };
    expect(
      chatMessages([...hello, { role: 'assistant', content: [use] }, { role: 'user', content: [answer] }]),
    ).toContainEqual({ role: 'tool', tool_call_id: 'a', content: 'A\n\nhttps://a.example\n\nOne.' });
  });

  it('that is to be cited is rejected', () => {
    expect(faultOf(user({ ...result, citations: { enabled: true } }))).toBe(
      'messages[0].content[0].citations',
    );
  });
});
