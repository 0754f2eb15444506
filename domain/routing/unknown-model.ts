import type { GatewayError } from '../shared/gateway-error.ts';
import { namedKey } from '../shared/named-key.ts';
import { nearestOf } from '../shared/nearest.ts';

/** Maximum number of names in one message. */
const maxNearest = 3;

/** The error names the unknown model, and the most similar ones of those that the key may use. */
export function unknownModel(name: string, usable: readonly string[]): GatewayError {
  const near = nearestOf(name, usable, maxNearest).map((each) => `\`${namedKey(each)}\``);
  const advice =
    near.length === 0
      ? 'There is none that this key may use.'
      : `The nearest that this key may use: ${near.join(', ')}.`;
  return {
    code: 'model_not_found',
    message: `There is no model \`${namedKey(name)}\`. ${advice}`,
    param: 'model',
  };
}
