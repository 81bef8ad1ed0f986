import { LedgerReferenceService } from '#gen/multihub/balances/v1/ledger_reference_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import {
  amountInTitle,
  answerReferences,
  type FindReferences,
  type Reference,
} from '#lib/patterns/references.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { RecordedEntry } from '../domain/entry.ts'
import { environmentOfShard } from '../domain/shard.ts'
import type { Journal } from '../store/journal.ts'
import { findEntries } from '../use-cases/find-entries.ts'

/** Answers which ledger entries a text names by their id. */
export function createLedgerReferenceRpc(journal: Pick<Journal, 'findByEntryId'>): RpcService {
  const find: FindReferences = async ({ text, merchant_id }, { page_size, page_token }) => {
    const after = page_token === '' ? -1 : Number(page_token)
    if (!Number.isInteger(after)) throw fieldError(9000, 'page_token')
    const left = (await findEntries(journal, text, merchant_id)).filter(({ shard }) => shard > after)
    const shown = left.slice(0, page_size)
    return {
      items: shown.map(referenceOf),
      next_page_token: left.length > shown.length ? String(shown.at(-1)?.shard) : '',
    }
  }
  return rpcService(LedgerReferenceService, {
    findReferences: by(['backoffice'], answerReferences([find])),
  })
}

function referenceOf({ shard, time, entry }: RecordedEntry): Reference {
  const { id, merchant_id, kind, amount: minor, currency, refused_code } = entry
  const amount = minor === 0n ? '' : ` of ${amountInTitle({ minor, currency })}`
  const refusal = refused_code === undefined ? '' : `, refused with ${refused_code}`
  const title = `${environmentOfShard(shard)}: ${kind}${amount}${refusal}`
  return { kind: 'ledger_entry', id, merchant_id, title, time }
}
