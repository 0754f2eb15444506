import { describe, expect, it } from '@jest/globals';
import { type TestGateway } from '../support/gateway.ts';
import { timed } from '../support/undisturbed.ts';
import { adminSessionScene, codeOf, email, logIn, minute, password, start } from './admin-session-scene.ts';
import { beginExchange } from './raw-http.ts';
import { eventually } from './traces.ts';

const { query, clock, replicas, plain } = adminSessionScene();

describe('guessing passwords', () => {
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const guess = (at: TestGateway, address: string, over = {}) =>
    logIn(at, { password: 'wrong', ...over }, from(address));

  /** Records login attempts without making them. */
  const tried = (email: string, address: string, attempts: number) =>
    query(
      `insert into login_attempts values (sha256(convert_to(lower($1), 'UTF8')), $2, $3, gateway_now())`,
      [email, address, attempts],
    );

  it('is 429 too_many_attempts per account and address, on every replica, until Retry-After has passed', async () => {
    for (const replica of replicas()) expect((await guess(replica, '198.51.100.1')).status).toBe(401);
    await query('update login_attempts set attempts = attempts + 8');
    await clock.standAt(new Date(start + 5 * minute));
    for (const over of [{}, { password }, { email: 'ROOT@example.com' }])
      for (const replica of replicas()) {
        const refused = await guess(replica, '198.51.100.1', over);
        expect([refused.status, codeOf(refused), refused.headers['retry-after']]).toEqual([
          429,
          'too_many_attempts',
          '600',
        ]);
        expect(refused.json['error']).toMatchObject({ type: 'rate_limit_error', param: null });
        expect(refused.headers['set-cookie']).toBeUndefined();
      }

    const { value, ms, allMs } = await timed(() => logIn(replicas()[0]!, {}, from('203.0.113.9')));
    expect(value.status).toBe(200);
    expect(allMs).toBeGreaterThan(1900);
    expect(ms).toBeLessThan(8000);
    expect((await guess(replicas()[0]!, '198.51.100.1', { email: 'other@example.com' })).status).toBe(401);

    await clock.standAt(new Date(start + 15 * minute));
    expect((await logIn(replicas()[1]!, {}, from('198.51.100.1'))).status).toBe(200);
    expect(await guess(replicas()[1]!, '198.51.100.1')).toMatchObject({ status: 401 });
    expect(await query('select attempts from login_attempts where attempts > 1')).toEqual([]);
  });

  it('login attempts with a time in the future do not lock the account', async () => {
    await tried('root@example.com', '198.51.100.7', 12);
    await query(`update login_attempts set first_at = first_at + interval '2 days' where attempts = 12`);
    expect((await logIn(replicas()[0]!, {}, from('198.51.100.7'))).status).toBe(200);
    await query('delete from login_attempts');
  });

  it('an unknown account is throttled in the same way', async () => {
    await tried('nobody@example.com', '198.51.100.2', 9);
    const over = { email: 'nobody@example.com' };
    const answers = [];
    for (let n = 0; n < 2; n += 1) answers.push(await guess(replicas()[0]!, '198.51.100.2', over));
    expect(answers.map(({ status }) => status)).toEqual([401, 429]);
  });

  it('of 24 concurrent guesses at two replicas ten are tried, and the others are 429', async () => {
    const at = (n: number) => guess(replicas()[n % 2]!, '198.51.100.3', { email: `many@example.com` });
    const answers = await Promise.all(Array.from({ length: 24 }, (_, n) => at(n)));
    const by = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect({ tried: by(401), refused: by(429) }).toEqual({ tried: 10, refused: 14 });
  });

  it('the address is taken from X-Forwarded-For of a trusted proxy only, and from its last entry', async () => {
    await tried('nobody@example.com', '127.0.0.1', 10);
    await tried('nobody@example.com', '198.51.100.4', 10);
    const over = { email: 'nobody@example.com' };
    expect((await guess(plain(), '203.0.113.77', over)).status).toBe(429);
    expect((await guess(replicas()[0]!, '203.0.113.77, 198.51.100.4', over)).status).toBe(429);
    expect((await guess(replicas()[0]!, '198.51.100.4, 203.0.113.77', over)).status).toBe(401);
  });

  it('200 concurrent guesses from 50 networks do not keep the admin from logging in from another address', async () => {
    const body = JSON.stringify({ email, password: 'wrong' });
    const guessers = Array.from({ length: 200 }, (_, n) =>
      beginExchange(replicas()[0]!.url, {
        path: '/api/v1/auth/login',
        headers: [
          ['content-type', 'application/json'],
          ['x-forwarded-for', `198.51.${n % 50}.${n}`],
        ],
        body,
      }),
    );
    await eventually(async () =>
      (await query('select from login_attempts')).length > 50 ? true : undefined,
    );
    const { value, ms } = await timed(() => logIn(replicas()[0]!, {}, from('203.0.113.10')));
    expect(value.status).toBe(200);
    // 2 s are the delay of the throttle; the rest is what a busy machine needs for a few hashes.
    expect(ms).toBeLessThan(20_000);
    for (const guesser of guessers) guesser.destroy();
  });

  it('concurrent logins with the right password all succeed', async () => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => logIn(replicas()[0]!, {}, from('198.51.100.5'))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 200));
  });
});
