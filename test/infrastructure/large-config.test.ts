import { expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { stringify } from 'yaml';
import { isTimeZone } from '../../infrastructure/config/formats.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { resolver } from '../../infrastructure/config/resolver.ts';
import { type ServedConfig, servedOf } from '../../infrastructure/config/served-config.ts';
import { aKey, basicConfig } from '../support/gateway.ts';

/** Milliseconds of CPU time, which do not depend on the load of the machine. */
function spentOn(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

it('the time zones of ten thousand budgets are looked up in less than 400 ms of CPU time', () => {
  const zones = ['UTC', 'Europe/Paris'];
  let found = 0;
  const spentMs = spentOn(() => {
    for (let index = 0; index < 10_000; index += 1) if (isTimeZone(zones[index % 2]!)) found += 1;
  });
  expect(found).toBe(10_000);
  expect(spentMs).toBeLessThan(400);
});

it('the routes of ten thousand stored models are resolved in less than 400 ms of CPU time', () => {
  const loaded = parseConfig(stringify(basicConfig('http://127.0.0.1:9/v1', aKey())), {});
  if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
  const resolve = resolver(withModels(servedOf(loaded.right), 10_000), {});
  const stored = loaded.right.persistable.models[0]?.routes[0] ?? null;
  let found = 0;
  const spentMs = spentOn(() => {
    for (let index = 0; index < 10_000; index += 1)
      if (E.isRight(resolve.route(`model-${index}`, 0, stored))) found += 1;
  });
  expect(found).toBe(10_000);
  expect(spentMs).toBeLessThan(400);
});

/** The only model of a file, repeated `count` times. */
function withModels({ config, persistable, ...rest }: ServedConfig, count: number): ServedConfig {
  const named = <A extends { readonly id: string }>([only]: readonly A[]): readonly A[] =>
    Array.from({ length: count }, (_, index) => ({ ...only!, id: `model-${index}` }));
  return {
    ...rest,
    config: { ...config, models: named(config.models) },
    persistable: { ...persistable, models: named(persistable.models) },
  };
}
