import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { EffectService } from '#gen/multihub/support/v1/effect_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { StuckDocuments } from '../use-cases/stuck-effects.ts'

/** Serves the operator's retry of stuck effects. `by_name` has each kind of documents under its name in the metrics. */
export function createEffectRpc(by_name: ReadonlyMap<string, StuckDocuments>): RpcService {
  const find = (name: string): StuckDocuments => {
    const documents = by_name.get(requiredText(name, 'documents'))
    if (!documents) throw fieldError(9000, 'documents', `one of ${[...by_name.keys()].join(', ')}`)
    return documents
  }
  return rpcService(EffectService, {
    listStuckEffects: by(
      ['backoffice'],
      async ({ documents, pageSize: page_size, pageToken: page_token }) => {
        const page = await find(documents).list({ page_size, page_token })
        const effects = page.stuck.map(({ document: { merchant_id, stuck_at }, document_id, effect }) => ({
          effectId: effect.id,
          documentId: document_id,
          merchantId: merchant_id,
          kind: effect.kind,
          tries: effect.tries,
          failure: effect.failure ?? '',
          stuckTime: stuck_at && timestampFromDate(stuck_at),
        }))
        return { effects, nextPageToken: page.next_page_token }
      },
    ),
    retryEffect: by(['backoffice'], async ({ documents, documentId, effectId }) => {
      const document_id = requiredId(documentId, 'document_id')
      return { waiting: await find(documents).retry(document_id, requiredText(effectId, 'effect_id')) }
    }),
  })
}
