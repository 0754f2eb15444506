import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { capabilities, missingCapability } from '../../../domain/routing/capabilities.ts';
import { explainedCapabilities } from '../../../domain/routing/explained-capabilities.ts';
import { allBut, someCapabilities } from '../../support/arbitraries/routing.ts';

const why = (capability: string) => `The kind does not serve \`${capability}\`.`;

describe('explained capabilities', () => {
  it('are effective exactly if routing does not miss them, and have reasons otherwise', () => {
    fc.assert(
      fc.property(someCapabilities, someCapabilities, (route, can) => {
        const explained = explainedCapabilities(route, { can, why });
        for (const each of capabilities) {
          const { configured, effective, reason } = explained[each];
          expect(configured).toBe(route[each]);
          expect(effective).toBe(missingCapability([each], route, can) === undefined);
          expect(reason === undefined).toBe(effective);
          expect(reason?.includes('`capabilities`') ?? false).toBe(!route[each]);
          expect(reason?.includes(why(each)) ?? false).toBe(!can[each]);
        }
      }),
    );
  });

  it('have both reasons if the route and the provider kind lack the capability', () => {
    const explained = explainedCapabilities(allBut('tools'), { can: allBut('tools'), why });
    expect(explained.tools.reason).toBe(
      "The route's `capabilities` set `tools` to false. The kind does not serve `tools`.",
    );
  });
});
