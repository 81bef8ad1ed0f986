import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { EffectService, type StuckEffectSchema } from '#gen/multihub/support/v1/effect_service_pb.ts'
import { fieldError } from '#lib/contract/errors/public-error.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { requiredText } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { StuckDocuments, StuckResourceEffect } from '../use-cases/stuck-effects.ts'

/** Serves the operator's retry of stuck effects. `by_name` has each kind of documents under its name in the metrics. */
export function createEffectRpc(by_name: ReadonlyMap<string, StuckDocuments>): RpcService {
  const find = (name: string): StuckDocuments => {
    const documents = by_name.get(requiredText(name, 'documents'))
    if (!documents) throw fieldError(9000, 'documents', `one of ${[...by_name.keys()].join(', ')}`)
    return documents
  }
  return rpcService(EffectService, {
    listStuckEffects: by(['operator'], async ({ documents, pageSize: page_size, pageToken: page_token }) => {
      const page = await find(documents).list({ page_size, page_token })
      return { effects: page.stuck.map(stuckEffectToProto), nextPageToken: page.next_page_token }
    }),
    retryEffect: by(['operator'], async ({ documents, documentId, effectId }) => {
      const document_id = requiredId(documentId, 'document_id')
      return { waiting: await find(documents).retry(document_id, requiredText(effectId, 'effect_id')) }
    }),
  })
}

function stuckEffectToProto({
  document,
  document_id,
  effect,
}: StuckResourceEffect): MessageInitShape<typeof StuckEffectSchema> {
  return {
    effectId: effect.id,
    documentId: document_id,
    merchantId: document.merchant_id,
    kind: effect.kind,
    tries: effect.tries,
    failure: effect.failure ?? '',
    ...(document.stuck_at ? { stuckTime: timestampFromDate(document.stuck_at) } : {}),
  }
}
