import type { Charge, SettlementRecord } from '../../application/ports/ledger.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { recordRow } from '../../infrastructure/postgres/ledger-rows.ts';
import { ownersPlace } from '../support/citus-database.ts';
import { type Holder, holder, scopeOf } from './ledger-bench.ts';

interface Terms {
  readonly mailReady?: boolean;
  /** The time of a record that is settled late. */
  readonly at?: Date | string | undefined;
  /** Whether the record may have been settled before, with its answer lost. */
  readonly again?: boolean;
}

/** Settles a row by a single statement, without a ledger, in a transaction that stays open. */
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

/** Does the same with a record. */
export const openSettlement = (url: string, record: Charged, terms: Terms = {}): Promise<Holder> =>
  openSettlementOf(url, record.charge.caller, recordRow(record, 1), terms);

/** Does the same, and commits. */
export const settleAlone = async (url: string, record: Charged, terms: Terms = {}): Promise<void> =>
  (await openSettlement(url, record, terms)).commit();
