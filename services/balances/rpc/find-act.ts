import { fromJsonString } from '@bufbuild/protobuf'
import { BalanceService, SettleRequestSchema } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import type { FindAct } from '#lib/patterns/find-act.ts'
import { adjustmentId, settlementId } from '../domain/command.ts'
import { type Entry, findEntry } from '../domain/entry.ts'
import { shardOf } from '../domain/shard.ts'
import type { Journal } from '../store/journal.ts'
import { scopeOf } from './request-fields.ts'

const { adjust, settle } = BalanceService.method

/** The ids of the entries of the operator's acts, by RPC. */
const ENTRY_IDS = new Map([
  [`${BalanceService.typeName}/${adjust.name}`, adjustmentId],
  [`${BalanceService.typeName}/${settle.name}`, settlementId],
])

/**
 * Finds the entry that an act of the operator has made, by the `operation_id` of its request: the journal needs no index for it.
 * An entry of another act with the same operation is not found, nor one that records a refusal.
 */
export function createFindEntryOfAct(journal: Pick<Journal, 'findByEntryId'>): FindAct {
  return async (audit_id, { rpc, request }) => {
    const idOfEntry = ENTRY_IDS.get(rpc)
    if (idOfEntry === undefined) return undefined
    // Both requests have these fields.
    const fields = fromJsonString(SettleRequestSchema, request, { ignoreUnknownFields: true })
    if (fields.operationId === '') return undefined
    const { environment, merchant_id } = scopeOf(fields)
    const id = idOfEntry(merchant_id, fields.operationId)
    const [batch] = await journal.findByEntryId(shardOf(merchant_id, environment), id, 1)
    const entry = batch && findEntry(batch, id)?.entry
    if (entry?.audit_id !== audit_id || entry.refused_code !== undefined) return undefined
    return changeOf(entry)
  }
}

function changeOf({ currency, credit, amount, available, period }: Entry) {
  const show = (fields: object): string => JSON.stringify({ [`balance ${currency}`]: fields })
  if (period !== undefined) return { before: show({ period: period - 1 }), after: show({ period }) }
  const before = credit === 'available' ? available - amount : available + amount
  return { before: show({ available: String(before) }), after: show({ available: String(available) }) }
}
