import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { prepareResponses } from '../../../domain/responses/prepare-responses.ts';
import { readResponsesRequest, responsesWatched } from '../../../domain/responses/responses-request.ts';
import type { Compatibility } from '../../../domain/routing/model.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { deepMerge, type JsonObject } from '../../../domain/shared/json.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';
import { outboundText } from '../../../domain/shared/outbound-text.ts';
import { aJsonObject, exactJsonText, writtenOf } from '../../support/arbitraries/json-text.ts';
import { aRoute } from '../../support/arbitraries/routing.ts';

interface Over {
  readonly upstreamModel?: string;
  readonly extraBody?: JsonObject;
  readonly compatibility?: Compatibility;
}

/** A readable digest. */
const digest = (text: string): string => `<${text}>`;

const prepared = (text: string, over: Over = {}): E.Either<GatewayError, string> => {
  const document = parseDocument(text, responsesWatched);
  if (E.isLeft(document)) throw new Error(document.left.message);
  const request = readResponsesRequest(document.right);
  if (E.isLeft(request)) throw new Error(request.left.message);
  return E.map(outboundText)(
    prepareResponses(request.right, aRoute({ upstreamModel: 'fast', ...over }), digest),
  );
};

const outbound = (text: string, over?: Over): string => {
  const body = prepared(text, over);
  if (E.isLeft(body)) throw new Error(body.left.message);
  return body.right;
};

describe('the outbound responses body', () => {
  const agentTurn = `{ "model":"fast",\t"input" : [ {"type":"message","role":"developer","id":"msg_1f"},
    {"type":"vendor_item","n":9007199254740993,"x":{"y":1,"y":2}}, {"role":"user","content":"Hi \\u00fc"} ],
    "tools":[{"type":"namespace","tools":[]},{"type":"web_search"}], "store": false, "top_p": 0.10,
    "client_metadata":{"a":"b"}, "prompt_cache_key":"k", "include":["reasoning.encrypted_content"] }`;

  it('is the caller’s own text if no rule applies', () => {
    expect(outbound(agentTurn)).toBe(agentTurn);
  });

  it('has the upstream’s name of the model, and is otherwise the caller’s text', () => {
    expect(outbound(agentTurn, { upstreamModel: 'upstream "fast"' })).toBe(
      agentTurn.replace('"fast"', '"upstream \\"fast\\""'),
    );
  });

  it('is not changed by the compat rules for chat completions', () => {
    const text =
      '{"model":"fast","input":"Hi","stream":true,"store":true,"max_completion_tokens":5,"reasoning_effort":"low"}';
    const compatibility = {
      compat: {
        supports_store: false,
        max_tokens_field: 'max_tokens',
        developer_role: 'system',
        reasoning_effort: 'omit',
        supports_stream_usage: true,
      },
      router: { provider: { zdr: true } },
    };
    expect(outbound(text, { compatibility })).toBe(text);
    const developer = '{"model":"fast","input":[{"role":"developer","content":"Hi"}]}';
    expect(outbound(developer, { compatibility })).toBe(developer);
  });
});

describe('empty_tools', () => {
  const body = (more: string): string => `{"model":"fast",${more}"input":"Hi"}`;
  const history = (type: string): string =>
    `{"model":"fast","tools":[],"tool_choice":"required","input":[{"type":"${type}","call_id":"c"}]}`;
  const ruled = (rule: string): Over => ({ compatibility: { compat: { empty_tools: rule } } });

  it.each([
    ['"tools":[],', ''],
    ['"tools":[],"tool_choice":"auto",', ''],
    ['"tools":[],"tool_choice":"none",', ''],
    ['"tools":[],"tool_choice":null,', ''],
    ['"tool_choice":"required",', '"tool_choice":"required",'],
    ['"tools":[{"type":"web_search"}],', '"tools":[{"type":"web_search"}],'],
    ['"tools":null,', '"tools":null,'],
  ])('omit: %s becomes %s', (more, out) => {
    expect(outbound(body(more), ruled('omit'))).toBe(body(out));
    expect(outbound(body(more), ruled('preserve_with_tool_history'))).toBe(body(out));
    expect(outbound(body(more), ruled('preserve'))).toBe(body(more));
    expect(outbound(body(more))).toBe(body(more));
  });

  it.each(['"required"', '{"type":"function","name":"f"}', '{"type":"web_search"}'])(
    'a choice that needs a tool is rejected locally: %s',
    (choice) => {
      const text = body(`"tools":[],"tool_choice":${choice},`);
      const rejected = E.left(expect.objectContaining({ code: 'invalid_request', param: 'tool_choice' }));
      expect(prepared(text, ruled('omit'))).toEqual(rejected);
      expect(prepared(text, ruled('preserve_with_tool_history'))).toEqual(rejected);
      expect(outbound(text, ruled('preserve'))).toBe(text);
    },
  );

  it.each(['function_call', 'function_call_output'])(
    'preserve_with_tool_history keeps the array and tool_choice if the input has a %s',
    (type) => {
      const text = history(type);
      expect(outbound(text, ruled('preserve_with_tool_history'))).toBe(text);
      expect(E.isLeft(prepared(text, ruled('omit')))).toBe(true);
    },
  );

  it.each(['message', 'web_search_call', 'item_reference'])('a %s does not count as tool history', (type) => {
    expect(E.isLeft(prepared(history(type), ruled('preserve_with_tool_history')))).toBe(true);
  });
});

describe('replay identifiers', () => {
  it('change only in the input; the rest of the body is kept byte for byte', () => {
    const text = `{ "a": 9007199254740993, "input":[{"type":"message","id":"x y","n":1.50}] , "model":"fast","b":{"c":1,"c":2}}`;
    expect(outbound(text)).toBe(
      text.replace(
        '[{"type":"message","id":"x y","n":1.50}]',
        '[{"type":"message","id":"msg_<x y>","n":1.50}]',
      ),
    );
  });

  it('keep every digit in the input, whatever it contains', () => {
    fc.assert(
      fc.property(exactJsonText, exactJsonText, (inside, beside) => {
        fc.pre(!inside.includes('__proto__') && !beside.includes('__proto__'));
        const item = (id: string): string => `{"type":"message","id":"${id}","content":${inside}}`;
        const text = (id: string): string =>
          `{"model":"fast","x":${beside},"input":[{"type":"other","y":${inside}},${item(id)}]}`;
        expect(outbound(text('x y'))).toBe(text('msg_<x y>'));
      }),
      { numRuns: 300 },
    );
  });

  it('change together with the name of the model and empty tools', () => {
    const text =
      '{"model":"fast","tools":[],"input":[{"type":"function_call_output","call_id":"a|b","output":"1"}]}';
    const over = { upstreamModel: 'up', compatibility: { compat: { empty_tools: 'omit' } } };
    expect(outbound(text, over)).toBe(
      '{"model":"up","input":[{"type":"function_call_output","call_id":"call_<a|b>","output":"1"}]}',
    );
  });
});

describe('extra_body is merged into the upstream body last', () => {
  it('also over the changes of the rules', () => {
    const text =
      '{"model":"fast","tools":[],"input":[{"type":"message","id":"x y"}],"text":{"verbosity":"low"}}';
    const over = {
      upstreamModel: 'up',
      compatibility: { compat: { empty_tools: 'omit' } },
      extraBody: {
        model: 'raw',
        tools: [{ type: 'web_search' }],
        text: { format: { type: 'text' } },
        input: 'Hi',
      },
    };
    expect(JSON.parse(outbound(text, over))).toEqual({
      model: 'raw',
      tools: [{ type: 'web_search' }],
      input: 'Hi',
      text: { verbosity: 'low', format: { type: 'text' } },
    });
  });

  it('the result is always the deep merge of the body, with the upstream’s model, and extra_body', () => {
    const written = aJsonObject.chain((fields) => {
      const body = { ...fields, model: 'fast', input: 'Hi' };
      return fc.tuple(fc.constant(body), writtenOf(body));
    });
    fc.assert(
      fc.property(written, aJsonObject, ([body, text], extraBody) => {
        const expected = deepMerge({ ...body, model: 'up' }, extraBody);
        expect(JSON.parse(outbound(text, { upstreamModel: 'up', extraBody }))).toEqual(
          JSON.parse(JSON.stringify(expected)),
        );
      }),
    );
  });
});
