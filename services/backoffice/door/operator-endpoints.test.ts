import { create, type Message } from '@bufbuild/protobuf'
import { createContextValues } from '@connectrpc/connect'
import { expect, test } from '@jest/globals'
import {
  AdjustRequestSchema,
  BalanceService,
  GetBalancesRequestSchema,
} from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { connection_caller_key } from '#lib/rpc/server/connect-listener.ts'
import type { ServedMethod } from '#lib/rpc/service.ts'
import { createLog } from '#lib/telemetry/log.ts'
import { settled } from '../../../test/support/manual-clock.ts'
import type { Principal } from '../domain/principal.ts'
import { FIRST_PRINCIPAL } from './authenticate.ts'
import { createOperatorEndpoints } from './operator-endpoints.ts'

const { adjust, getBalances } = BalanceService.method

/** Calls an RPC as a principal. The owner answers when `answer` is called; `signal` is what tells it that nobody waits. */
function call(method: ServedMethod, request: Message, fields: Partial<Principal> = {}) {
  let signal: AbortSignal | undefined
  let leave = (): void => {}
  const owner = Promise.withResolvers<Message>()
  const endpoints = createOperatorEndpoints({
    addressOf: () => undefined,
    authenticate: async () => ({ ...FIRST_PRINCIPAL, principal_id: 'one', ...fields }),
    callOwner: (_method, _request, options) => {
      signal = options?.signal
      return owner.promise
    },
    cursor: testKeys().cursor,
    act: (_call, run) => run({}),
    refused: async () => {},
    secondPerson: (_call, send) => send(),
    countMerchantAct: () => {},
    streams: {} as never,
    log: createLog('test'),
  })
  const values = createContextValues()
  const answer = endpoints
    .find((one) => one.method === method)
    ?.call({
      protocol: 'http',
      caller: { authorization: 'Bearer a', certificate: () => undefined },
      header: () => undefined,
      headers: () => new Headers(),
      timeout_ms: undefined,
      values,
      onCancelled: (listener) => {
        leave = listener
      },
      request: () => request,
    })
  answer?.catch(() => {})
  return {
    leave: () => leave(),
    end: () => owner.resolve(create(method.output)),
    signal: () => signal,
    caller: () => values.get(connection_caller_key),
  }
}

// O4: else the outcome of an act would be unknown whenever a browser is closed.
test('an act goes on when its caller has gone, and a read does not', async () => {
  const act = call(adjust, create(AdjustRequestSchema, { merchantId: '7001' }))
  const read = call(getBalances, create(GetBalancesRequestSchema, { merchantId: '7001' }))
  await settled()
  act.leave()
  read.leave()
  expect([act.signal()?.aborted ?? false, read.signal()?.aborted]).toEqual([false, true])
  act.end()
  read.end()
  await settled()
})

// O22
test('the connections of the principals of one merchant count together', async () => {
  const request = create(GetBalancesRequestSchema, { merchantId: '7001' })
  const own = call(getBalances, request)
  const merchants = ['two', 'three'].map((principal_id) =>
    call(getBalances, request, { principal_id, merchant_id: '7001' }),
  )
  await settled()
  expect([own, ...merchants].map(({ caller }) => caller())).toEqual(['one', '7001', '7001'])
  for (const { end } of [own, ...merchants]) end()
  await settled()
})
