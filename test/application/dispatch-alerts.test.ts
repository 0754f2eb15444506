import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { type Dispatch, dispatchAlerts } from '../../application/budgets/dispatch-alerts.ts';
import type { AlertQueue, ClaimedDelivery, FailedDelivery } from '../../application/ports/budgets.ts';

const delivery = (deliveryId: string): ClaimedDelivery => ({
  deliveryId,
  recipient: `${deliveryId}@example.com`,
  alert: {
    ownerKind: 'user',
    ownerName: 'Ada',
    cadence: 'daily',
    window: { from: new Date(0), until: new Date(86_400_000) },
    amount: 10n,
    spent: 8n,
    hardLimit: false,
  },
});

const failure = (deliveryId: string, reason: string): FailedDelivery => ({
  deliveryId,
  budgetAlertId: 'alert',
  owner: { kind: 'team', teamId: 'platform' },
  reason,
});

/** A queue with `count` deliveries, and the result of each. */
function queueOf(count: number, over: Partial<AlertQueue> = {}) {
  const pending = Array.from({ length: count }, (_, index) => delivery(String(index)));
  const fates: string[] = [];
  const untold: FailedDelivery[] = [];
  const queue: AlertQueue = {
    claim: async () => pending.shift(),
    sent: async (id) => void fates.push(`${id} sent`),
    failed: async (id, reason) => {
      fates.push(`${id} failed: ${reason}`);
      untold.push(failure(id, reason));
    },
    takeFailures: async () => untold.splice(0),
    giveUpStuck: async () => {
      fates.push('looked for stuck ones');
      return 0;
    },
    ...over,
  };
  return { queue, fates, pending, untold };
}

const untold = { sent: () => undefined, failed: () => undefined };
const round = (
  queue: AlertQueue,
  send: Dispatch['mailer']['send'],
  batchSize: number,
  shouldContinue = () => true,
  telemetry: Dispatch['telemetry'] = untold,
) =>
  dispatchAlerts({ queue, mailer: { send }, whereToLook: () => 'there', telemetry })(
    batchSize,
    shouldContinue,
  );

const works = async () => E.right(undefined);

describe('one round of the dispatcher', () => {
  it('looks for stuck deliveries, then tries each pending one once', async () => {
    const { queue, fates } = queueOf(3);
    await round(queue, async (to) => (to.startsWith('1') ? E.left('no') : E.right(undefined)), 25);
    expect(fates[0]).toBe('looked for stuck ones');
    expect(fates.slice(1).toSorted()).toEqual(['0 sent', '1 failed: no', '2 sent']);
  });

  it('reports each sent mail and each failed delivery once, including failures of other replicas', async () => {
    const { queue, untold: failures } = queueOf(3);
    failures.push(failure('elsewhere', 'dispatcher_died'));
    const told: string[] = [];
    const telemetry = {
      sent: () => void told.push('sent'),
      failed: ({ deliveryId, reason }: FailedDelivery) => void told.push(`${deliveryId}: ${reason}`),
    };
    const send = async (to: string) => (to.startsWith('1') ? E.left('no') : E.right(undefined));
    await round(queue, send, 25, () => true, telemetry);
    expect(told.toSorted()).toEqual(['1: no', 'elsewhere: dispatcher_died', 'sent', 'sent']);
    await round(queue, send, 25, () => true, telemetry);
    expect(told).toHaveLength(4);
  });

  it('sends at most one batch, with at most five mails at once', async () => {
    const { queue, pending } = queueOf(30);
    let underWay = 0;
    let most = 0;
    await round(
      queue,
      async () => {
        underWay += 1;
        most = Math.max(most, underWay);
        await sleep(2);
        underWay -= 1;
        return E.right(undefined);
      },
      12,
    );
    expect(pending).toHaveLength(18);
    expect(most).toBe(5);
  });

  it('with a batch size of 0 only looks for stuck deliveries', async () => {
    const { queue, fates, pending } = queueOf(3);
    await round(queue, works, 0);
    expect(fates).toEqual(['looked for stuck ones']);
    expect(pending).toHaveLength(3);
  });

  it('claims no new delivery after a stop, and completes those already claimed', async () => {
    const { queue, fates, pending } = queueOf(30);
    let stopped = false;
    await round(
      queue,
      async () => {
        await sleep(2);
        stopped = true;
        await sleep(2);
        return E.right(undefined);
      },
      25,
      () => !stopped,
    );
    expect(pending).toHaveLength(25);
    expect(fates.filter((fate) => fate.endsWith('sent'))).toHaveLength(5);
  });

  it('ends only after every mail is sent, even if the result of one cannot be written', async () => {
    const { queue, fates } = queueOf(5, {
      sent: async (id) => {
        if (id === '0') throw new Error('the database is gone');
        fates.push(`${id} sent`);
      },
    });
    const send = async (to: string) => {
      if (!to.startsWith('0')) await sleep(30);
      return E.right(undefined);
    };
    await expect(round(queue, send, 25)).rejects.toThrow('the database is gone');
    expect(fates.slice(1).toSorted()).toEqual(['1 sent', '2 sent', '3 sent', '4 sent']);
  });
});
