import { create } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import {
  AdjustRequestSchema,
  AdjustResponseSchema,
  BalanceService,
} from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { now } from '#lib/base/time.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { OPERATOR_RPCS } from '../domain/operator-rpcs.ts'
import { FIRST_PRINCIPAL } from '../door/authenticate.ts'
import { createActOfSignIn, createAuditedAct } from './audited-acts.ts'

/** An audit trail that cannot store intents. */
const deps = {
  audit: {
    begin: () => Promise.reject(new Unavailable('the store is away')),
    end: async () => {},
  },
  findAct: async () => undefined,
  findMerchant: async () => undefined,
  now_ms: () => now().getTime(),
}

// O4
test('neither a call nor a sign-in begins without its intent', async () => {
  let runs = 0
  const rpc = OPERATOR_RPCS.find(({ method }) => method === BalanceService.method.adjust)
  if (rpc === undefined) throw new Error('there is no row of Adjust')
  const call = { rpc, principal: FIRST_PRINCIPAL, request: create(AdjustRequestSchema), reason: undefined }
  const acted = createAuditedAct(deps)(call, async () => {
    runs += 1
    return create(AdjustResponseSchema)
  })
  await expect(acted).rejects.toThrow(Unavailable)
  const sign_in = { ...FIRST_PRINCIPAL, method: 'token', address: undefined } as const
  const signed_in = createActOfSignIn(deps)(sign_in, async () => {
    runs += 1
  })
  await expect(signed_in).rejects.toThrow(Unavailable)
  expect(runs).toBe(0)
})
