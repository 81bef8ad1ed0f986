import { MerchantReferenceService } from '#gen/multihub/merchants/v1/merchant_reference_service_pb.ts'
import {
  answerReferences,
  type FindReferences,
  type Reference,
  referenceById,
} from '#lib/patterns/references.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Merchant } from '../domain/merchant.ts'
import { findMerchantsByName, type MerchantsStore } from '../store/merchants-store.ts'

/** Answers which merchants and applications a text names by their ids, and which merchants by the beginning of their name. */
export function createMerchantReferenceRpc({
  store,
}: {
  readonly store: Pick<MerchantsStore, 'merchants' | 'credentials'>
}): RpcService {
  const byName: FindReferences = async ({ text, merchant_id }, page) => {
    const { merchants, next_page_token } = await findMerchantsByName(store, { text, merchant_id }, page)
    return { items: merchants.map(merchantReference), next_page_token }
  }
  const answer = answerReferences([
    referenceById((id) => store.merchants.find(id), merchantReference),
    referenceById(
      (id) => store.credentials.find(id),
      ({ application_id, merchant_id, environment, status, created_at: time }) => ({
        kind: 'application',
        id: String(application_id),
        merchant_id,
        title: `${environment}: application, ${status}`,
        time,
      }),
    ),
    byName,
  ])
  return rpcService(MerchantReferenceService, {
    findReferences: by(['backoffice'], answer),
  })
}

function merchantReference({ merchant_id, name, created_at: time }: Merchant): Reference {
  return { kind: 'merchant', id: merchant_id, merchant_id, title: name, time }
}
