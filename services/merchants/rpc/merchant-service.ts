import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type MerchantSchema,
  MerchantStatus as MerchantStatusProto,
} from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { ENVIRONMENTS } from '#lib/contract/environment.ts'
import { checkLine, requiredId } from '#lib/contract/operator-fields.ts'
import { createEnumMap, timesToProto } from '#lib/contract/proto-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import { type Merchant, type MerchantStatus, statusOf } from '../domain/merchant.ts'
import { listMerchants } from '../store/merchants-store.ts'
import type { MerchantsDeps } from '../use-cases/deps.ts'
import { createMerchant, updateMerchant } from '../use-cases/merchants.ts'

/** The statuses of merchants. */
export const MERCHANT_STATUSES = createEnumMap<MerchantStatus, MerchantStatusProto>({
  active: MerchantStatusProto.ACTIVE,
  suspended: MerchantStatusProto.SUSPENDED,
  closed: MerchantStatusProto.CLOSED,
})

/** Serves the operator's RPCs for merchants. */
export function createMerchantRpc(deps: MerchantsDeps): RpcService {
  return rpcService(MerchantService, {
    createMerchant: by(['backoffice'], async ({ name, timezone, environments, operationId }) => {
      const operation_id = requiredId(operationId, 'operation_id')
      const input = { name, timezone, environments: ENVIRONMENTS.requiredEach(environments, 'environments') }
      return { merchant: merchantToProto(await createMerchant(deps, operation_id, input)) }
    }),
    getMerchant: by(['backoffice', 'internal'], async ({ merchantId }) => ({
      merchant: merchantToProto(await deps.store.merchants.get(merchantId)),
    })),
    listMerchants: by(['backoffice', 'internal'], async ({ pageSize, pageToken, ...given }) => {
      const filter = {
        status: MERCHANT_STATUSES.optional(given.status, 'status'),
        name_prefix: checkLine(given.namePrefix, 'name_prefix'),
      }
      const page = await listMerchants(deps.store, filter, { page_size: pageSize, page_token: pageToken })
      return { merchants: page.items.map(merchantToProto), nextPageToken: page.next_page_token }
    }),
    updateMerchant: by(['backoffice'], async ({ merchantId, name, timezone, environments, ...more }) => {
      const given =
        environments.length > 0 ? ENVIRONMENTS.requiredEach(environments, 'environments') : undefined
      const status = MERCHANT_STATUSES.optional(more.status, 'status')
      const changes = { name, timezone, environments: given, status }
      return { merchant: merchantToProto(await updateMerchant(deps, merchantId, changes)) }
    }),
  })
}

function merchantToProto(merchant: Merchant): MessageInitShape<typeof MerchantSchema> {
  return {
    merchantId: merchant.merchant_id,
    name: merchant.name,
    timezone: merchant.timezone,
    environments: merchant.environments.map(ENVIRONMENTS.toProto),
    status: MERCHANT_STATUSES.toProto(statusOf(merchant)),
    ...timesToProto(merchant),
  }
}
