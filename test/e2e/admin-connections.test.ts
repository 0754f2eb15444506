import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { adminClient, makeAdmin } from '../support/admin.ts';
import { aKey, basicConfig } from '../support/gateway.ts';
import { simulatedScene } from './simulated-scene.ts';

const key = aKey();
const scene = simulatedScene((upstream) => basicConfig(upstream, key));

const chat = async (): Promise<number> => {
  const answer = await fetch(`${scene.gateway().url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"model":"fast","messages":[{"role":"user","content":"Hi"}]}',
  });
  await answer.arrayBuffer();
  return answer.status;
};

it('slow calls of the admin API leave connections to model requests, however many there are', async () => {
  await makeAdmin(scene.databaseUrl());
  const admin = await adminClient(scene.gateway().url);
  expect(await chat()).toBe(200);
  const lock = new Client(scene.databaseUrl());
  await lock.connect();
  await lock.query('begin; lock table admin_events in access exclusive mode');
  let ended = 0;
  const calls = Array.from({ length: 20 }, async () => {
    const { status } = await admin('GET', '/api/v1/admin/events');
    ended += 1;
    return status;
  });
  await sleep(500);
  expect(await chat()).toBe(200);
  expect(ended).toBe(0);
  await lock.query('rollback');
  await lock.end();
  expect(new Set(await Promise.all(calls))).toEqual(new Set([200]));
});
