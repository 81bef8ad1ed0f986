import { create, type Message } from '@bufbuild/protobuf'
import { Code, createContextValues } from '@connectrpc/connect'
import { expect, test } from '@jest/globals'
import {
  CallbackService,
  ListenToCallbacksRequestSchema,
} from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
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
import type { Right } from '../domain/rights.ts'
import { FIRST_PRINCIPAL } from './authenticate.ts'
import { createOperatorEndpoints } from './operator-endpoints.ts'
import type { StreamCaller } from './streams.ts'

const { adjust, getBalances } = BalanceService.method
const { listenToCallbacks } = CallbackService.method

/**
 * Calls an RPC as a principal. The owner answers when `end` is called; `signal` is what tells it that nobody waits. A stream checks its
 * caller with `checkAgain`.
 */
function call(method: ServedMethod, request: Message, fields: Partial<Principal> = {}) {
  let principal: Principal = { ...FIRST_PRINCIPAL, principal_id: 'one', ...fields }
  let stream_caller: StreamCaller | undefined
  let signal: AbortSignal | undefined
  let leave = (): void => {}
  const owner = Promise.withResolvers<Message>()
  const endpoints = createOperatorEndpoints({
    addressOf: () => undefined,
    authenticate: async () => principal,
    callOwner: (_method, _request, options) => {
      signal = options?.signal
      return owner.promise
    },
    cursor: testKeys().cursor,
    act: (_call, run) => run(() => ({})),
    refused: async () => {},
    secondPerson: (_call, send) => send(),
    countMerchantAct: () => {},
    streams: {
      async open(_rpc, _request, caller) {
        stream_caller = caller
        return { first: await owner.promise, messages: async function* () {} }
      },
    },
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
    checkAgain: (rights: readonly Right[]) => {
      principal = { ...principal, rights }
      return stream_caller?.checkAgain()
    },
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

// O3, O20
test('a stream goes on only while its principal has the right for it', async () => {
  const request = create(ListenToCallbacksRequestSchema, { merchantId: '7001' })
  const stream = call(listenToCallbacks, request, { rights: ['reveal'] })
  await settled()
  await stream.checkAgain(['reveal', 'read'])
  await expect(stream.checkAgain(['read'])).rejects.toMatchObject({ status: Code.PermissionDenied })
  stream.end()
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
