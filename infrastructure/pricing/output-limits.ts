import { readFileSync } from 'node:fs';
import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';

const rows = t.array(
  t.strict({
    /** The beginning of the model's id, without dates and other suffixes. */
    model: t.refinement(t.string, (text) => /^[a-z0-9]+(-[a-z0-9]+)*$/.test(text), 'name'),
    max_output_tokens: t.refinement(t.Integer, (count) => count > 0, 'limit'),
    source: t.string,
  }),
);

/** The maximum number of output tokens, by the upstream's name of the model; `undefined` when unknown. */
export type OutputLimits = (upstreamModel: string) => number | undefined;

/**
 * The output limits that ship with the gateway beside its prices. A name also matches inside a longer id
 * (`anthropic/…`, `us.anthropic.…-v1:0`, an ARN), as a limit belongs to the model, whoever serves it. The longest
 * matching name wins, so that `claude-opus-5` does not apply to `claude-opus-5-5`. A malformed file is a defect and
 * throws.
 */
export function bundledOutputLimits(): OutputLimits {
  const text = readFileSync(new URL('./output-limits.json', import.meta.url), 'utf8');
  const decoded = rows.decode(JSON.parse(text));
  if (E.isLeft(decoded)) throw new TypeError('output limits: malformed');
  const limits = decoded.right
    .toSorted((a, b) => b.model.length - a.model.length)
    .map(({ model, max_output_tokens: limit }) => ({ shape: shapeOf(model), limit }));
  return (upstreamModel) => {
    const id = upstreamModel.toLowerCase();
    return limits.find(({ shape }) => shape.test(id))?.limit;
  };
}

/** Some providers write the version with a dot: `claude-opus-5.5`. */
const shapeOf = (model: string): RegExp =>
  new RegExp(`(?:^|[^a-z0-9])${model.replaceAll(/(?<=\d)-(?=\d)/g, '[-.]')}(?![a-z0-9])`);
