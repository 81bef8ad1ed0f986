import { Code, ConnectError } from '@connectrpc/connect'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { ConfigError } from '#lib/base/config/config.ts'
import { currentRequest, type RequestContext, withRequest } from '#lib/base/context.ts'
import { isUuid } from '#lib/base/ids.ts'
import { clock } from '#lib/base/time.ts'
import { ERROR_TABLE, isErrorCode } from '#lib/contract/errors/error-table.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { eventually } from '../../test/support/eventually.ts'
import {
  clientBy,
  merchantService,
  recordingLog,
  rpcConfig,
  serveProcess,
  type TestClient,
  TRANSPORTS,
} from '../../test/support/rpc.ts'
import { createRpc } from './rpc.ts'
import type { CallerName } from './service.ts'
import { CALL_TIMEOUT_MAX_MS, CALL_TIMEOUT_MS } from './settings.ts'

type Lines = readonly Readonly<Record<string, unknown>>[]
type Methods = NonNullable<Parameters<typeof merchantService>[0]>

const ending: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (let end = ending.pop(); end !== undefined; end = ending.pop()) await end()
})

/** A process that serves `methods`, its client over one transport, and the log of the process. */
async function setUp(
  way: (typeof TRANSPORTS)[number],
  methods: Methods,
  caller: CallerName = 'gateway',
): Promise<{ merchants: TestClient['merchants']; lines: Lines }> {
  const { log, lines } = recordingLog()
  const served = await serveProcess([merchantService(methods)], { log })
  ending.push(() => served.close())
  const client = await clientBy(way, served, caller)
  ending.push(() => client.close())
  return { merchants: client.merchants, lines }
}

async function failureOf(call: Promise<unknown>): Promise<PublicError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof PublicError) return error
  throw new Error(`a PublicError was expected, not ${String(error)}`)
}

const statusBelow = ({ cause }: PublicError): string | undefined =>
  cause instanceof ConnectError ? Code[cause.code] : undefined

describe.each(TRANSPORTS)('a call over %s', (way) => {
  test('returns a response, and neither side can change the messages of the other', async () => {
    const kept: Environment[][] = []
    const returned = { merchantId: '7', environments: [Environment.TEST, Environment.PRODUCTION] }
    const { merchants } = await setUp(way, {
      async createMerchant(request) {
        kept.push(request.environments)
        request.environments.push(Environment.PRODUCTION)
        return { merchant: returned }
      },
    })
    const request = { name: 'Müller & Söhne', environments: [Environment.TEST] }
    const { merchant } = await merchants.createMerchant(request)
    merchant?.environments.push(Environment.TEST)
    expect(request.environments).toEqual([Environment.TEST])
    expect(returned.environments).toHaveLength(2)
    expect(kept).toEqual([[Environment.TEST, Environment.PRODUCTION]])
    expect(merchant?.merchantId).toBe('7')
  })

  test('transports every error of the error table unchanged', async () => {
    const { merchants } = await setUp(way, {
      async getMerchant({ merchantId }) {
        const code = Number(merchantId)
        if (!isErrorCode(code)) throw new Error('not a code')
        throw new PublicError(code, {
          details: { 'ü "': [1] },
          context: { code },
          http: 503,
          cause: 'inside',
        })
      },
    })
    for (const code of Object.keys(ERROR_TABLE).map(Number)) {
      const error = await failureOf(merchants.getMerchant({ merchantId: String(code) }))
      expect(error).toMatchObject({ code, details: { 'ü "': [1] }, context: { code }, http: 503 })
      expect(error.cause).not.toBe('inside')
    }
  })

  test('returns 2001 without the text of a fault, which is logged once with its cause', async () => {
    const { merchants, lines } = await setUp(way, {
      async getMerchant() {
        throw new Error('the outer secret', { cause: new Error('the inner secret') })
      },
    })
    const error = await failureOf(merchants.getMerchant({}))
    expect(error.code).toBe(2001)
    expect(`${error.stack} ${String(error.cause)} ${JSON.stringify(error.details)}`).not.toContain('secret')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({
      level: 'error',
      role: 'merchants',
      rpc: 'multihub.merchants.v1.MerchantService/GetMerchant',
      caller: 'gateway',
      code: 2001,
      error: { message: 'the outer secret', cause: { message: 'the inner secret' } },
    })
  })

  test('returns 2001 when a handler rethrows the status of a nested call', async () => {
    const { merchants, lines } = await setUp(way, {
      async getMerchant() {
        throw new ConnectError('host 10.0.0.7 says no', Code.NotFound, { 'x-secret': '1' })
      },
    })
    const error = await failureOf(merchants.getMerchant({}))
    expect(error.code).toBe(2001)
    expect(String(error.cause)).not.toContain('10.0.0.7')
    expect(lines.map(({ level }) => level)).toEqual(['error'])
  })

  test('returns 2002 when a dependency is unavailable, and 2001 when the response cannot be encoded', async () => {
    const { merchants, lines } = await setUp(way, {
      async getMerchant() {
        throw new Unavailable('no primary')
      },
      createMerchant: async () => ({ merchant: { createTime: { seconds: 2n ** 70n } } }),
    })
    expect((await failureOf(merchants.getMerchant({}))).code).toBe(2002)
    expect((await failureOf(merchants.createMerchant({}))).code).toBe(2001)
    expect(lines.map(({ level }) => level)).toEqual(['warn', 'error'])
  })

  test('has no second line for the failure of another role that the handler has called', async () => {
    const { merchants, lines } = await setUp(way, {
      async getMerchant() {
        throw new Unavailable('no primary')
      },
      createMerchant: async () => ({ merchant: (await merchants.getMerchant({})).merchant }),
    })
    expect((await failureOf(merchants.createMerchant({}))).code).toBe(2002)
    expect(lines.map(({ level, rpc }) => [level, rpc])).toEqual([
      ['warn', 'multihub.merchants.v1.MerchantService/GetMerchant'],
      ['debug', 'multihub.merchants.v1.MerchantService/CreateMerchant'],
    ])
  })

  test('is refused to a caller that the method does not permit, and to all callers if it permits none', async () => {
    let calls = 0
    const count = async (): Promise<object> => {
      calls += 1
      return {}
    }
    const { merchants, lines } = await setUp(way, { getMerchant: count, updateMerchant: count }, 'backoffice')
    for (const call of [merchants.getMerchant({}), merchants.updateMerchant({})]) {
      const error = await failureOf(call)
      expect([error.code, statusBelow(error)]).toEqual([2001, 'PermissionDenied'])
    }
    expect(calls).toBe(0)
    expect(lines.map(({ level, caller }) => [level, caller])).toEqual([
      ['warn', 'backoffice'],
      ['warn', 'backoffice'],
    ])
    expect(JSON.stringify(lines)).not.toMatch(/stack|\.ts:/)
  })

  test('passes the request id, the trace and the name of the caller to the handler', async () => {
    const seen: (RequestContext | undefined)[] = []
    const { merchants } = await setUp(way, {
      async getMerchant() {
        seen.push(currentRequest())
        return {}
      },
    })
    const trace = { trace_id: '0af7651916cd43dd8448eb211c80319c', span_id: 'b7ad6b7169203331', sampled: true }
    await withRequest({ request_id: 'request-1', trace }, () => merchants.getMerchant({}))
    await merchants.getMerchant({})
    expect(seen[0]).toMatchObject({ request_id: 'request-1', caller: 'gateway' })
    expect(seen[0]?.trace).toEqual(trace)
    expect(isUuid(seen[1]?.request_id ?? '')).toBe(true)
    expect(seen[1]?.trace).toBeUndefined()
  })

  test('passes its deadline to the handler, which has two minutes at most', async () => {
    const left: number[] = []
    const { merchants } = await setUp(way, {
      async getMerchant(_request, context) {
        const of_context_ms = context.timeoutMs() ?? Infinity
        const of_request_ms = (currentRequest()?.deadline_ms ?? Infinity) - clock.monotonic_ms()
        left.push(Math.max(of_context_ms, of_request_ms))
        return {}
      },
    })
    for (const timeoutMs of [CALL_TIMEOUT_MS - 1_000, CALL_TIMEOUT_MAX_MS + 60_000])
      await merchants.getMerchant({}, { timeoutMs })
    expect(left[0]).toBeLessThanOrEqual(CALL_TIMEOUT_MS - 1_000)
    expect(left[1]).toBeLessThanOrEqual(CALL_TIMEOUT_MAX_MS)
  })

  test('ends at its deadline, and aborts the handler', async () => {
    let [begun, stopped] = [0, 0]
    const { merchants } = await setUp(way, {
      getMerchant(_request, { signal }) {
        begun += 1
        signal.addEventListener('abort', () => {
          stopped += 1
        })
        return new Promise(() => {})
      },
    })
    // On a slow machine a call can end before its handler begins.
    while (begun === 0) {
      const error = await failureOf(merchants.getMerchant({}, { timeoutMs: 100 }))
      expect([error.code, statusBelow(error)]).toEqual([2002, 'DeadlineExceeded'])
    }
    await eventually(
      async () => stopped,
      (count) => count === begun,
    )
  })

  test('ends when its caller cancels it, and aborts the handler', async () => {
    const stopped: unknown[] = []
    const given_up = new AbortController()
    const { merchants, lines } = await setUp(way, {
      getMerchant: (_request, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            stopped.push(signal.reason)
            reject(new Error('a fault after the end'))
          })
          given_up.abort()
        }),
    })
    const error = await failureOf(merchants.getMerchant({}, { signal: given_up.signal }))
    expect(error.code).toBe(2002)
    await eventually(
      async () => lines.filter(({ level }) => level === 'error').length,
      (count) => count === 1,
    )
    expect(stopped).toHaveLength(1)
    expect((await failureOf(merchants.listMerchants({}, { signal: given_up.signal }))).code).toBe(2002)
  })

  test('refuses requests and responses above 4 MiB', async () => {
    const large = 'x'.repeat(4 * 1024 * 1024)
    let calls = 0
    const { merchants } = await setUp(way, {
      async createMerchant() {
        calls += 1
        return {}
      },
      getMerchant: async () => ({ merchant: { name: large } }),
      listMerchants: async () => ({ nextPageToken: large.slice(1000) }),
    })
    expect((await failureOf(merchants.createMerchant({ name: large }))).code).toBe(2001)
    expect(calls).toBe(0)
    await merchants.createMerchant({ name: large.slice(1000) })
    expect(calls).toBe(1)
    expect((await failureOf(merchants.getMerchant({}))).code).toBe(2001)
    expect((await merchants.listMerchants({})).nextPageToken).toHaveLength(large.length - 1000)
  })
})

describe.each(['memory', 'grpc'] as const)('a nested call over %s', (way) => {
  test('has the deadline of the request that it serves, and is not sent after that deadline', async () => {
    const left: (number | undefined)[] = []
    const { merchants } = await setUp(way, {
      async getMerchant(_request, context) {
        left.push(context.timeoutMs())
        return {}
      },
    })
    const call = (left_ms: number): Promise<unknown> =>
      withRequest({ request_id: 'r', deadline_ms: clock.monotonic_ms() + left_ms }, () =>
        merchants.getMerchant({}),
      )
    await call(2000)
    expect(left[0]).toBeLessThanOrEqual(2000)
    expect((await failureOf(call(-1))).code).toBe(2002)
    expect(left).toHaveLength(1)
  })

  test('has ten seconds when neither its caller nor the request sets a deadline', async () => {
    let left_ms: number | undefined
    const { merchants } = await setUp(way, {
      async getMerchant(_request, context) {
        left_ms = context.timeoutMs()
        return {}
      },
    })
    await merchants.getMerchant({})
    expect(left_ms).toBeLessThanOrEqual(CALL_TIMEOUT_MS)
  })

  test('carries the headers of the caller, but no other identity', async () => {
    const seen: (string | null)[] = []
    const { merchants } = await setUp(way, {
      async getMerchant(_request, { requestHeader }) {
        seen.push(requestHeader.get('x-own'), currentRequest()?.caller ?? null)
        return {}
      },
    })
    await merchants.getMerchant({}, { headers: { 'x-own': '1', authorization: 'Bearer token-of-operator' } })
    expect(seen).toEqual(['1', 'gateway'])
  })
})

describe.each(['grpc', 'connect', 'grpc-web'] as const)('the token of a caller over %s', (way) => {
  let calls = 0
  beforeEach(() => {
    calls = 0
  })

  test.each([undefined, 'wrong', 'token-of-gateway-0123456789abcdeF', 'Bearer', 'x'.repeat(600)])(
    'is refused if it is %p',
    async (token) => {
      const { log, lines } = recordingLog()
      const getMerchant = async (): Promise<object> => {
        calls += 1
        return {}
      }
      const served = await serveProcess([merchantService({ getMerchant })], { log })
      ending.push(() => served.close())
      const client = await clientBy(way, served, 'gateway', token ?? '')
      ending.push(() => client.close())
      const error = await failureOf(client.merchants.getMerchant({}))
      expect([error.code, statusBelow(error)]).toEqual([2001, 'Unauthenticated'])
      expect(calls).toBe(0)
      expect(JSON.stringify(lines)).not.toContain('token-of-gateway')
      expect(lines).toEqual([
        expect.objectContaining({
          level: 'warn',
          caller: 'unknown',
          rpc: 'multihub.merchants.v1.MerchantService/GetMerchant',
          rpc_code: 'Unauthenticated',
          reason: 'the call has no known token or client certificate',
        }),
      ])
      expect(JSON.stringify(lines)).not.toMatch(/stack|\.ts:/)
    },
  )
})

describe('roles of one process', () => {
  test('call each other under their own names, with one request id and one deadline', async () => {
    const seen: (RequestContext | undefined)[] = []
    const served = await serveProcess([])
    ending.push(() => served.close())
    const { rpc } = served
    const as_payments = rpc.clientsOf('payments')(MerchantService)
    const as_gateway = rpc.clientsOf('gateway')(MerchantService)
    rpc.add([
      merchantService({
        async getMerchant() {
          seen.push(currentRequest())
          await as_payments.listMerchants({})
          return {}
        },
        async listMerchants() {
          seen.push(currentRequest())
          throw new PublicError(6004, { details: { from: 'below' } })
        },
      }),
    ])
    const error = await failureOf(as_gateway.getMerchant({}, { timeoutMs: CALL_TIMEOUT_MS - 1_000 }))
    expect(error).toMatchObject({ code: 6004, details: { from: 'below' } })
    const [outer, inner] = seen
    expect([outer?.caller, inner?.caller]).toEqual(['gateway', 'payments'])
    expect(inner?.request_id).toBe(outer?.request_id)
    // A deadline of its own would be later by a second at least.
    expect(inner?.deadline_ms).toBeLessThan((outer?.deadline_ms ?? 0) + 1_000)
  })

  test('fail at the start when a service that they call has no address', async () => {
    const rpc = await createRpc(rpcConfig())
    const merchants = rpc.clientsOf('gateway')(MerchantService)
    await expect(rpc.serve()).rejects.toThrow(/MULTIHUB_MERCHANTS_ADDRESS is missing/)
    await expect(merchants.getMerchant({})).rejects.toThrow(ConfigError)
    rpc.close()
  })
})
