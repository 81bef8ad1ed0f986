import type { MessageInitShape } from '@bufbuild/protobuf'
import type { MerchantSchema } from '#gen/multihub/merchants/v1/merchant_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { ENVIRONMENTS, environmentToProto } from '#lib/contract/environment.ts'
import { timesToProto } from '#lib/contract/proto-fields.ts'
import { type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { Merchant } from '../domain/merchant.ts'
import type { MerchantsDeps } from '../use-cases/deps.ts'
import { createMerchant, getMerchant, listMerchants, updateMerchant } from '../use-cases/merchants.ts'

/** The callers that each RPC permits. */
const PERMISSIONS = {
  createMerchant: ['operator'],
  getMerchant: ['operator', 'internal'],
  listMerchants: ['operator', 'internal'],
  updateMerchant: ['operator'],
} as const

/** Serves the operator's RPCs for merchants. */
export function createMerchantRpc(deps: MerchantsDeps): RpcService {
  return rpcService(MerchantService, PERMISSIONS, {
    async createMerchant({ name, timezone, environments }) {
      const input = { name, timezone, environments: ENVIRONMENTS.requiredEach(environments, 'environments') }
      return { merchant: merchantToProto(await createMerchant(deps, input)) }
    },
    async getMerchant({ merchantId }) {
      return { merchant: merchantToProto(await getMerchant(deps, merchantId)) }
    },
    async listMerchants({ pageSize, pageToken }) {
      const page = await listMerchants(deps, { page_size: pageSize, page_token: pageToken })
      return { merchants: page.items.map(merchantToProto), nextPageToken: page.next_page_token }
    },
    async updateMerchant({ merchantId, name, timezone, environments }) {
      const changes = {
        ...(name !== undefined && { name }),
        ...(timezone !== undefined && { timezone }),
        ...(environments.length > 0 && {
          environments: ENVIRONMENTS.requiredEach(environments, 'environments'),
        }),
      }
      return { merchant: merchantToProto(await updateMerchant(deps, merchantId, changes)) }
    },
  })
}

function merchantToProto(merchant: Merchant): MessageInitShape<typeof MerchantSchema> {
  return {
    merchantId: merchant.merchant_id,
    name: merchant.name,
    timezone: merchant.timezone,
    environments: merchant.environments.map(environmentToProto),
    ...timesToProto(merchant),
  }
}
