import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { sharedText } from '../../application/ports/shared-text.ts';
import type { ModelAnswer } from '../../application/model-request.ts';
import { invalidRequest, type UpstreamLabels } from '../../domain/shared/gateway-error.ts';
import { redactionRules } from '../../domain/payload/redact.ts';
import { maxErrorMessageChars } from '../../domain/shared/limits.ts';
import { fails, says, type Script, streams } from '../support/fakes/scripted-upstream.ts';
import { aBudget, answer, cost, Pipeline, type PipelineOptions } from '../support/fakes/pipeline.ts';
import { chatText, failed, failedAsTold, responsesFailed } from '../support/fakes/stream-chunks.ts';

/** Texts that must always be redacted: a credential of the configuration, the caller's own secret, an API key, a URL. */
const secrets = [
  'upstream-credential-1',
  'callers-own-secret',
  'gwk_12345678.abcdefghijklmnopqrstuvwxyz0123456789',
  'https://u:p@h/path?token=abc',
];

const errorOf = (answer: ModelAnswer | undefined) => (answer?.kind === 'refused' ? answer.error : undefined);

const wordsOf = async (options: PipelineOptions): Promise<string> => {
  const pipeline = await new Pipeline(options).serve();
  return JSON.stringify([pipeline.answer, pipeline.sent, pipeline.log, pipeline.finished, pipeline.calls]);
};

describe('a whole answer', () => {
  it('is the upstream’s own text if it is not translated', async () => {
    const text = '{ "choices": [], "n": 9007199254740993 }';
    const script: Script = {
      answer: E.right({ kind: 'whole', status: 200, answer: { value: answer, text } }),
    };
    expect((await new Pipeline({ script }).serve()).answer).toEqual({ kind: 'whole', text });
  });

  it('is translated to the caller’s family if the upstream speaks another, with the requested model', async () => {
    const { answer: told } = await new Pipeline({ family: 'messages' }).serve();
    expect(told?.kind === 'whole' && JSON.parse(told.text.toString())).toMatchObject({
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      type: 'message',
      model: 'fast',
      content: [{ type: 'text', text: 'Hello.' }],
      usage: { input_tokens: 10, output_tokens: 20 },
    });
  });

  it('that cannot be translated is an upstream failure, and its usage is unbilled', async () => {
    const pipeline = await new Pipeline({
      family: 'messages',
      script: says({ ...answer, choices: 'none' }),
    }).serve();
    expect(pipeline.refusedWith).toBe('upstream_error');
    expect(pipeline.log).toMatchObject({ attempts: [{ status: 'provider_error', statusCode: 200 }] });
    expect(pipeline.finished).toMatchObject([{ unbilled: [{ reason: 'failed', cost }] }]);
    expect(pipeline.ledger.rows).toEqual([]);
  });

  it('in large parts is returned like a small one, with a ledger row', async () => {
    const parts = [{ text: sharedText([Buffer.from(JSON.stringify(answer))]), inputs: 1 }];
    const pipeline = await new Pipeline({
      script: { answer: E.right({ kind: 'large', status: 200, parts }) },
    }).serve();
    expect(pipeline.answer).toEqual({ kind: 'whole', text: JSON.stringify(answer) });
    expect(pipeline.ledger.rows).toHaveLength(1);
  });

  it('in large parts, of a call that failed in part, is that failure, and its usage is unbilled', async () => {
    const parts = [{ text: sharedText([Buffer.from(JSON.stringify(answer))]), inputs: 1 }];
    const fault = { kind: 'status', status: 429, message: 'Slow down.', headers: {} } as const;
    const pipeline = await new Pipeline({
      script: { answer: E.right({ kind: 'large', status: 200, parts, fault }) },
    }).serve();
    expect(pipeline.answer).toMatchObject({ kind: 'refused', error: { message: 'Slow down.' } });
    expect(pipeline.log).toMatchObject({ statusCode: 429, attempts: [{ statusCode: 429 }] });
    expect(pipeline.finished).toMatchObject([{ unbilled: [{ reason: 'failed', cost }] }]);
    expect(pipeline.ledger.rows).toEqual([]);
  });

  it('in large parts that cannot be parsed is a failure with the upstream’s status', async () => {
    const parts = [{ text: sharedText([Buffer.from('[')]), inputs: 1 }];
    const pipeline = await new Pipeline({
      script: { answer: E.right({ kind: 'large', status: 200, parts }) },
    }).serve();
    expect(pipeline.refusedWith).toBe('upstream_error');
    expect(pipeline.log).toMatchObject({ attempts: [{ status: 'provider_error', statusCode: 200 }] });
  });

  it.each([
    ['store_unavailable', 'lost'],
    ['internal_error', 'refuses'],
  ] as const)('is not returned if it cannot be recorded: %s', async (code, database) => {
    const script: Script = { ...says(answer), meanwhile: () => (pipeline.ledger.database = database) };
    const pipeline: Pipeline = new Pipeline({ script, budget: aBudget() });
    await pipeline.serve();
    expect(pipeline.answer).toMatchObject({ kind: 'refused', error: { code } });
    expect(pipeline.finished).toMatchObject([
      { errorCode: code, settled: 'lost', cost: undefined, unbilled: [{ reason: 'lost', cost }] },
    ]);
  });
});

describe('a refusal', () => {
  it('has the same error if it cannot be logged', async () => {
    const script: Script = {
      ...fails({ kind: 'transport' }),
      meanwhile: () => (pipeline.ledger.database = 'refuses'),
    };
    const pipeline: Pipeline = new Pipeline({ script });
    await pipeline.serve();
    expect(pipeline.refusedWith).toBe('upstream_error');
    expect(pipeline.finished).toMatchObject([{ outcome: 'upstream_error', settled: 'lost' }]);
  });

  it('by a budget has the end of the budget’s window', async () => {
    const { answer } = await new Pipeline({ budget: aBudget({ amount: 0n }) }).serve();
    expect(errorOf(answer)).toMatchObject({ budgetResetsAt: '2028-04-01T00:00:00.000Z' });
  });

  it('for an unknown model suggests a model that the key may use, and no other', async () => {
    const caller = {
      apiKeyId: 'k',
      keyOwner: { kind: 'team', teamId: 't' },
      allowedModels: ['none'],
    } as const;
    const { answer } = await new Pipeline({ asks: { model: 'fats' }, request: { caller } }).serve();
    expect(errorOf(answer)?.message).not.toContain('`fast`');
    const granted = await new Pipeline({ asks: { model: 'fats' } }).serve();
    expect(errorOf(granted.answer)?.message).toContain('`fast`');
  });
});

describe('the labels of an upstream error', () => {
  it('include the error type only if the upstream speaks the messages body', async () => {
    const labels = { code: 'c', messagesType: 'bad_request_error' };
    const script = fails({ kind: 'status', status: 400, message: 'No.', headers: {}, labels });
    const translated = await new Pipeline({ family: 'messages', script }).serve();
    expect(errorOf(translated.answer)?.upstream?.labels).toEqual({ code: 'c' });
    const provider: PipelineOptions['provider'] = { takes: () => 'as_written' };
    const native = await new Pipeline({ family: 'messages', script, provider }).serve();
    expect(errorOf(native.answer)?.upstream?.labels).toEqual(labels);
  });
});

describe('messages that contain a secret', () => {
  const withAll = secrets.join(' and ');
  /** An error names a field by a key of the caller's body, which may contain a credential, but no URL. */
  const keys = secrets.slice(0, 3).join();
  const refusing = (message: string, labels?: UpstreamLabels): Script =>
    fails({ kind: 'status', status: 400, message, headers: {}, ...(labels && { labels }) });

  it.each<[string, PipelineOptions]>([
    ['of the gateway', { request: { body: E.left(invalidRequest(withAll, keys)) } }],
    ['of a dialect', { script: { ...says(answer), refusal: invalidRequest(withAll, keys) } }],
    ['of an upstream that rejects the request', { script: refusing(withAll) }],
    [
      'of an upstream whose stream fails',
      { stream: true, script: streams([chatText('Hi')], failed(withAll)) },
    ],
    [
      'of an upstream that reports its failure in an event of its own',
      { family: 'responses', stream: true, script: streams([responsesFailed(withAll)], failedAsTold) },
    ],
  ])('%s are redacted for the caller, the log and the telemetry', async (_, options) => {
    const words = await wordsOf(options);
    for (const secret of secrets) expect(words).not.toContain(secret);
    expect(words).toContain('[REDACTED]');
  });

  it.each([
    ['by the gateway at its message limit', `${'x'.repeat(maxErrorMessageChars)} more`],
    ['by the upstream in the middle of a secret', 'Wrong key: callers-own-se…'],
  ])('do not keep the beginning of a secret when they are truncated: %s', async (_, words) => {
    const { answer } = await new Pipeline({ script: refusing(words) }).serve();
    expect(errorOf(answer)?.message.length).toBeLessThanOrEqual(maxErrorMessageChars);
    expect(errorOf(answer)?.message).not.toContain('callers-own');
  });

  it('lose labels that contain a secret, and keep the others', async () => {
    const labels = { code: 'context_length_exceeded', param: 'callers-own-secret' };
    const { answer } = await new Pipeline({ script: refusing('No.', labels) }).serve();
    expect(errorOf(answer)?.upstream?.labels).toEqual({ code: 'context_length_exceeded' });
  });

  it('are redacted with a token that was obtained during the call', async () => {
    const token = 'token-of-this-very-call';
    const script: Script = { ...refusing(`${token} is bad`), meanwhile: () => obtained() };
    const pipeline: Pipeline = new Pipeline({ script });
    const obtained = (): void => {
      const source = { redactionPaths: [], credentials: [token] };
      pipeline.policy = {
        ...pipeline.policy,
        redaction: redactionRules([], [token]),
        redactionSource: source,
      };
    };
    await pipeline.serve();
    const payload = await pipeline.payloads[0]?.make();
    expect(errorOf(pipeline.answer)?.message).toBe('[REDACTED] is bad');
    expect(JSON.stringify([pipeline.log, payload])).not.toContain(token);
  });

  it('are redacted with such a token even if the redaction rules were used before it was obtained', async () => {
    const token = 'token-of-this-very-call';
    const obtained = (): void => {
      pipeline.policy = { ...pipeline.policy, redaction: redactionRules([], [token]) };
    };
    const script = streams([responsesFailed('upstream-credential-1')], obtained, failed(token));
    const pipeline: Pipeline = new Pipeline({ family: 'responses', stream: true, script });
    await pipeline.serve();
    expect(pipeline.sent).toMatchObject([
      { chunk: { message: '[REDACTED]' } },
      { error: { message: '[REDACTED]' } },
    ]);
  });

  it('are not rebuilt if they contain no secret: the event is forwarded as is', async () => {
    const event = responsesFailed('It is too hot.');
    const pipeline = await new Pipeline({
      family: 'responses',
      stream: true,
      script: streams([event], failedAsTold),
    }).serve();
    expect(pipeline.sent[0]).toBe(event);
  });
});

describe('the id, model and time of a translated answer', () => {
  it('are the request log id, the requested model and the time of the request', async () => {
    const pipeline = await new Pipeline({
      request: { requestLogId: '0190-a', receivedAt: 1_234_567 },
    }).serve();
    expect(pipeline.upstream.calls).toMatchObject([
      { answer: { id: 'chatcmpl-0190a', model: 'fast', createdSecs: 1234 } },
    ]);
  });
});
