import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import {
  capabilities,
  type Capability,
  missingCapability,
  permissive,
} from '../../../domain/routing/capabilities.ts';
import type { Route, RoutingProvider } from '../../../domain/routing/model.ts';
import { resolveRoute } from '../../../domain/routing/resolve-route.ts';
import {
  aModel,
  allBut,
  aProvider,
  aRoute,
  someCapabilities,
  someNeeds,
} from '../../support/arbitraries/routing.ts';

const chat: readonly Capability[] = ['chat_completions'];
const providers = new Map<string, RoutingProvider>([
  ['up', aProvider('up')],
  ['other', aProvider('other')],
  ['plain', aProvider('plain', allBut('stream', 'tools'))],
]);

const resolve = (routes: readonly Route[], needs: readonly Capability[] = chat) =>
  resolveRoute(aModel(routes), needs, (id) => providers.get(id));

const chosen = (routes: readonly Route[], needs?: readonly Capability[]): string => {
  const resolved = resolve(routes, needs);
  return E.isRight(resolved) ? resolved.right.route.routeId : resolved.left.code;
};

const route = (routeId: string, over: Partial<Route> = {}): Route => aRoute({ routeId, ...over });

describe('enabled routes in ascending priority, ties in file order', () => {
  it.each<[string, readonly Route[], string]>([
    ['the only one', [route('a')], 'a'],
    [
      'the lower priority number, wherever it is',
      [route('a', { priority: 200 }), route('b', { priority: 100 })],
      'b',
    ],
    ['a negative priority before 0', [route('a', { priority: 0 }), route('b', { priority: -1 })], 'b'],
    [
      'a priority of 9 before 10: numbers, not text',
      [route('a', { priority: 10 }), route('b', { priority: 9 })],
      'b',
    ],
    ['the first of a tie', [route('a'), route('b'), route('c')], 'a'],
    [
      'the first of a tie after a higher priority number',
      [route('a', { priority: 2 }), route('b', { priority: 1 }), route('c', { priority: 1 })],
      'b',
    ],
    ['not a disabled one', [route('a', { enabled: false }), route('b')], 'b'],
    ['not one whose provider is missing', [route('a', { provider: 'gone' }), route('b')], 'b'],
    [
      'not one that lacks a capability',
      [route('a', { capabilities: allBut('chat_completions') }), route('b')],
      'b',
    ],
    [
      'not one whose provider lacks it',
      [route('a', { provider: 'plain' }), route('b', { provider: 'other' })],
      'b',
    ],
  ])('%s', (_, routes, id) => {
    expect(chosen(routes, ['chat_completions', 'stream'])).toBe(id);
  });

  it('the provider is returned with the route', () => {
    const resolved = resolve([route('a', { provider: 'other' })]);
    expect(E.isRight(resolved) && resolved.right.provider).toBe(providers.get('other'));
  });

  const someRoutes = fc
    .array(
      fc.record({
        priority: fc.integer({ min: 0, max: 3 }),
        enabled: fc.boolean(),
        provider: fc.constantFrom('up', 'other', 'plain', 'gone'),
        capabilities: someCapabilities,
      }),
      { maxLength: 6 },
    )
    .map((routes) => routes.map((each, index) => route(String(index), each)));

  const suffices = (each: Route, needs: readonly Capability[]): boolean => {
    const provider = providers.get(each.provider);
    return (
      each.enabled &&
      provider !== undefined &&
      needs.every((need) => each.capabilities[need] && provider.supports(each)[need])
    );
  };

  it('the chosen route is always the first one whose effective capabilities suffice', () => {
    fc.assert(
      fc.property(someRoutes, someNeeds, (routes, needs) => {
        const usable = routes.filter((each) => suffices(each, needs));
        const first = usable.toSorted(
          (a, b) => a.priority - b.priority || Number(a.routeId) - Number(b.routeId),
        )[0];
        const resolved = resolve(routes, needs);
        expect(E.isRight(resolved) ? resolved.right.route : undefined).toEqual(first);
      }),
      { numRuns: 500 },
    );
  });

  it('the order of the model’s own routes is not changed', () => {
    const routes = [route('a', { priority: 3 }), route('b', { priority: 1 })];
    resolve(routes);
    expect(routes.map(({ routeId }) => routeId)).toEqual(['a', 'b']);
  });

  it('without a usable route, the error is invalid_request if one lacks a capability, else no_routes_available', () => {
    fc.assert(
      fc.property(someRoutes, someNeeds, (routes, needs) => {
        const resolved = resolve(routes, needs);
        if (E.isRight(resolved)) return;
        const present = routes.some((each) => each.enabled && providers.has(each.provider));
        expect(resolved.left.code).toBe(present ? 'invalid_request' : 'no_routes_available');
      }),
      { numRuns: 500 },
    );
  });
});

describe('a capability mismatch', () => {
  it.each<[Capability, string]>([
    ['chat_completions', 'model'],
    ['responses', 'model'],
    ['embeddings', 'model'],
    ['stream', 'stream'],
    ['tools', 'tools'],
    ['vision', 'messages'],
    ['json_schema', 'response_format'],
  ])('is invalid_request that names `%s` and the field that needs it, `%s`', (missing, param) => {
    expect(resolve([route('a', { capabilities: allBut(missing) })], [missing])).toEqual(
      E.left({
        code: 'invalid_request',
        param,
        message: `The model \`fast\` has no route with the capability \`${missing}\`, which this request needs${
          param === 'model' ? '' : ` for \`${param}\``
        }.`,
      }),
    );
  });

  it('names the first need of the request that the first route lacks', () => {
    const routes = [
      route('b', { priority: 2, capabilities: allBut('vision') }),
      route('a', { priority: 1, capabilities: allBut('tools', 'stream') }),
    ];
    const resolved = resolve(routes, ['chat_completions', 'vision', 'stream', 'tools']);
    expect(resolved).toEqual(E.left(expect.objectContaining({ param: 'stream' })));
  });

  it('is found also if the provider lacks the capability, not only the route', () => {
    expect(resolve([route('a', { provider: 'plain' })], ['chat_completions', 'tools'])).toEqual(
      E.left(expect.objectContaining({ code: 'invalid_request', param: 'tools' })),
    );
  });
});

describe('no_routes_available', () => {
  it.each<[string, readonly Route[]]>([
    ['without routes', []],
    ['when every route is disabled', [route('a', { enabled: false }), route('b', { enabled: false })]],
    ['when no route has a provider', [route('a', { provider: 'gone' })]],
    [
      'when every route is disabled or has no provider',
      [
        route('a', { enabled: false, capabilities: allBut('chat_completions') }),
        route('b', { provider: 'gone' }),
      ],
    ],
  ])('%s', (_, routes) => {
    expect(resolve(routes)).toEqual(
      E.left({ code: 'no_routes_available', message: 'No route of the model `fast` is available.' }),
    );
  });
});

describe('effective capability', () => {
  it('is always the intersection of route capabilities and what the provider supports', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...capabilities),
        someCapabilities,
        someCapabilities,
        (need, own, supported) => {
          expect(missingCapability([need], own, supported) === undefined).toBe(own[need] && supported[need]);
        },
      ),
    );
  });

  it('has permissive defaults', () => {
    expect(Object.values(permissive).every(Boolean)).toBe(true);
    expect(Object.keys(permissive).toSorted()).toEqual([...capabilities].toSorted());
  });

  it('is reported missing for the first unmet need only', () => {
    fc.assert(
      fc.property(someNeeds, someCapabilities, someCapabilities, (needs, own, supported) => {
        const unmet = needs.filter((need) => !(own[need] && supported[need]));
        expect(missingCapability(needs, own, supported)).toBe(unmet[0]);
      }),
    );
  });
});
