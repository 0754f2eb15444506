import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withDatabase } from '../support/database.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { type ReplayUpstream, startReplayUpstream } from '../support/replay-upstream.ts';
import { config, answer, ask } from './telemetry-scene.ts';

const database = withDatabase();

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

describe('sampling', () => {
  const ratios = [0, 0.5, 1] as const;
  type Ratio = (typeof ratios)[number];
  const receivers = new Map<Ratio, OtlpReceiver>();
  const gateways = new Map<Ratio, TestGateway>();
  let upstream: ReplayUpstream;
  beforeAll(async () => {
    upstream = await startReplayUpstream(answer);
    for (const ratio of ratios) {
      const receiver = await startOtlpReceiver();
      const server = {
        otel_endpoint: receiver.url,
        otel_trace_sample_ratio: ratio,
        otel_export_interval_secs: 3600,
      };
      receivers.set(ratio, receiver);
      gateways.set(ratio, await startGateway(config(upstream.url, server), database.url()));
    }
  });
  afterAll(async () => {
    for (const ratio of ratios) await receivers.get(ratio)?.close();
    await upstream?.close();
  });
  const at = (ratio: Ratio): TestGateway => {
    const gateway = gateways.get(ratio);
    if (gateway === undefined) throw new Error(`there is no gateway with the ratio ${ratio}`);
    return gateway;
  };
  const sentUpstream = () => upstream.requests().at(-1)?.headers;
  const spansOf = (ratio: Ratio, traceId: string) =>
    receivers
      .get(ratio)
      ?.spans()
      .filter((span) => span.traceId === traceId) ?? [];

  interface Sent {
    readonly ratio: Ratio;
    readonly traceId: string;
    readonly parent: string;
    readonly traceparent: string;
    readonly upstream: string;
    readonly tracestate: string | undefined;
  }
  const withParent = async (ratio: Ratio, flags: string): Promise<Sent> => {
    const [traceId, parent] = [hex(16), hex(8)];
    const traceparent = `00-${traceId}-${parent}-${flags}`;
    await ask(at(ratio), 'chat_completions', { headers: { traceparent, tracestate: 'vendor=x' } });
    const sent = sentUpstream() ?? {};
    return {
      ratio,
      traceId,
      parent,
      traceparent,
      upstream: String(sent['traceparent']),
      tracestate: sent['tracestate']?.toString(),
    };
  };
  const sampled: Sent[] = [];
  const unsampled: Sent[] = [];
  const rootless = new Map<Ratio, readonly string[]>();

  beforeAll(async () => {
    for (const ratio of ratios) {
      sampled.push(await withParent(ratio, '01'), await withParent(ratio, '03'));
      unsampled.push(await withParent(ratio, '00'), await withParent(ratio, '02'));
      const seen: string[] = [];
      for (let request = 0; request < 30; request += 1) {
        await ask(at(ratio), 'embeddings');
        seen.push(String(sentUpstream()?.['traceparent']));
      }
      rootless.set(ratio, seen);
      await at(ratio).stop();
    }
  });

  it('follows a sampled parent at any ratio', () => {
    for (const { ratio, traceId, parent, traceparent, ...sent } of sampled) {
      const spans = spansOf(ratio, traceId);
      expect(spans).toHaveLength(4);
      expect(spans.find(({ kind }) => kind === 'server')?.parentSpanId).toBe(parent);
      const client = spans.find(({ kind }) => kind === 'client')?.spanId;
      expect(sent.upstream).toBe(`00-${traceId}-${client}-${traceparent.slice(-2)}`);
      expect(sent.tracestate).toBe('vendor=x');
    }
  });

  it('follows an unsampled parent at any ratio, and sends its context upstream unchanged', () => {
    for (const { ratio, traceId, traceparent, ...sent } of unsampled) {
      expect(sent).toMatchObject({ upstream: traceparent, tracestate: 'vendor=x' });
      expect(spansOf(ratio, traceId)).toEqual([]);
      expect(at(ratio).log.lines.some(({ fields }) => fields['trace_id'] === traceId)).toBe(true);
    }
  });

  it('of a request without a parent follows the ratio, and upstreams receive the decision', () => {
    const ways = new Map<Ratio, readonly string[]>();
    for (const ratio of ratios) {
      const flags = rootless.get(ratio)?.map((traceparent) => {
        const [, traceId = '', flag = ''] = /^00-(\w{32})-\w{16}-(\w\w)$/.exec(traceparent) ?? [];
        expect([traceparent, spansOf(ratio, traceId).length]).toEqual([traceparent, flag === '01' ? 4 : 0]);
        return flag;
      });
      ways.set(ratio, [...new Set(flags)].sort());
    }
    expect(Object.fromEntries(ways)).toEqual({ 0: ['00'], 0.5: ['00', '01'], 1: ['01'] });
  });

  it('does not apply to metrics', () => {
    for (const ratio of ratios) {
      const outcomes = receivers.get(ratio)?.metrics().get('gateway.request.outcomes')?.points ?? [];
      expect(outcomes.reduce((sum, { value }) => sum + value, 0)).toBe(34);
    }
  });
});
