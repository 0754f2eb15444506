import type { Charge, SettlementRecord } from '../../application/ports/ledger.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { recordRow } from '../../infrastructure/postgres/ledger-rows.ts';
import { ownersPlace } from '../support/citus-database.ts';
import { type Holder, holder, scopeOf } from './ledger-bench.ts';

interface Terms {
  readonly mailReady?: boolean;
  /** The time of a record that comes late. */
  readonly at?: Date | string | undefined;
  /** It may have been settled before, and its answer lost. */
  readonly again?: boolean;
}

/** A settlement by a statement of its own, beside any ledger, whose transaction stays open. */
export async function openSettlementOf(
  url: string,
  caller: Caller,
  row: object,
  { mailReady = false, at, again = false }: Terms = {},
): Promise<Holder> {
  const place = await ownersPlace(url, scopeOf(caller));
  const held = await holder(place.url);
  await held.query(`select from ${place.named('gateway_settle')}($1, '{}', false, $2, $3, $4)`, [
    JSON.stringify([row]),
    mailReady,
    at ?? null,
    again,
  ]);
  return held;
}

type Charged = SettlementRecord & { readonly charge: Charge };

/** The same of a record. */
export const openSettlement = (url: string, record: Charged, terms: Terms = {}): Promise<Holder> =>
  openSettlementOf(url, record.charge.caller, recordRow(record, 1), terms);

/** The same, and it ends. */
export const settleAlone = async (url: string, record: Charged, terms: Terms = {}): Promise<void> =>
  (await openSettlement(url, record, terms)).commit();
