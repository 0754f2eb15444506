import { isDeepStrictEqual } from 'node:util';
import { priceUsage } from '../../../domain/ledger/price-usage.ts';
import { cutAt } from '../../support/arbitraries/bytes.ts';
import { type Replayed, replayStream } from '../../samples/replay.ts';
import type { CallerFamily, Sample, UpstreamName } from '../../samples/sample.ts';
import { streams } from '../../samples/samples.ts';
import { demand, roughly, type Probe, type Target } from '../target.ts';
import { reshapedFrames } from './event-frames.ts';
import { mayBeComplete } from './finished.ts';
import { passedOn } from './passed-on.ts';
import { placesIn } from './pieces.ts';
import { type Said, saidTo } from './said.ts';
import { jsonWords, sseWords, streamWords } from './words.ts';

/** The bound of bytes sent for bytes received: names and envelopes add to small pieces. */
const maxBytesOut = (bytesIn: number): number => 64 * 1024 + 64 * bytesIn;

/** Checks that usage consists of counts, and that its cost is not negative. */
export function demandSoundUsage({ observation: { usage, invokedToolCount } }: Replayed): void {
  demand(Number.isSafeInteger(invokedToolCount) && invokedToolCount >= 0, 'the number of tool calls is none');
  if (usage === undefined) return;
  demand(
    Object.values(usage).every((count) => Number.isSafeInteger(count) && count >= 0),
    'a count of tokens is negative, or no whole number',
  );
  demand(priceUsage(usage, { input: 3n, output: 15n }) >= 0n, 'a cost is negative');
}

/** Whether callers of the family get the bytes of this upstream unchanged. */
const isPassedOn = (upstream: UpstreamName, caller: CallerFamily): boolean =>
  upstream === 'compat' ? caller !== 'messages' : upstream.endsWith('messages') && caller === 'messages';

const pictureOf = (said: Said, { observation }: Replayed): string =>
  [
    said.error === undefined ? said.end : roughly(said.error),
    observation.usage === undefined ? (observation.usageUnusable ? 'unusable' : '') : 'usage',
    Math.min(3, observation.invokedToolCount),
    ...said.shapes.slice(0, 24),
  ].join(' ');

async function checkStream(
  sample: Sample,
  caller: CallerFamily,
  input: Buffer,
  probe: Probe,
): Promise<string> {
  const whole = await probe.step(() => replayStream(sample, caller, [input]));
  const pieces = cutAt(input, placesIn(input, probe.random));
  const cut = await probe.step(() => replayStream(sample, caller, pieces));
  demand(
    whole.bytes.equals(cut.bytes) && isDeepStrictEqual(whole.observation, cut.observation),
    'another cut of the bytes gives another answer',
  );
  demand(whole.bytes.length <= maxBytesOut(input.length), 'far more goes out than came in');
  demandSoundUsage(whole);
  const said = saidTo(caller, whole.bytes, !isPassedOn(sample.upstream, caller));
  demand(
    said.end !== 'complete' || mayBeComplete(sample, caller, input),
    'the answer looks complete, and nothing has said so',
  );
  if (isPassedOn(sample.upstream, caller)) passedOn(input, whole.bytes, said, caller === 'messages');
  return pictureOf(said, whole);
}

/** A target for each path of an answer from an upstream to a caller, by content type. */
export function streamTargets(recorded: readonly Sample[]): readonly Target[] {
  const groups = new Map<
    string,
    { readonly sample: Sample; readonly caller: CallerFamily; bodies: Buffer[] }
  >();
  for (const sample of [...streams, ...recorded])
    for (const caller of sample.callers) {
      const type = sample.contentType.split(';')[0]?.split(/[./]/).at(-1);
      const name = `stream: ${sample.upstream}, ${type}, to ${caller}`;
      const group = groups.get(name) ?? { sample, caller, bodies: [] };
      group.bodies.push(sample.body);
      groups.set(name, group);
    }
  return [...groups].map(([name, { sample, caller, bodies }]) => ({
    name,
    samples: bodies,
    words: [...streamWords, ...streamWords, ...sseWords, ...jsonWords],
    ...(sample.contentType.includes('amazon') ? { reshape: reshapedFrames } : {}),
    check: (input, probe) => checkStream(sample, caller, input, probe),
  }));
}
