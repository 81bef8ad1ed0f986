import { create, createFileRegistry, type DescService } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { Code, createClient } from '@connectrpc/connect'
import { describe, expect, test } from '@jest/globals'
import {
  CreateMerchantRequestSchema,
  MerchantService,
} from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import { log } from '#lib/telemetry/log.ts'
import { metricsText } from '#lib/telemetry/metrics.ts'
import { merchantService, recordingLog } from '../../../test/support/rpc.ts'
import { createMemoryTransport } from '../client/memory-transport.ts'
import { by, type RpcService } from '../service.ts'
import { CALLS_MAX } from '../settings.ts'
import { createDispatcher } from './dispatch.ts'

const dispatch = createDispatcher(() => undefined, log)

function clientOf(service: RpcService) {
  const endpoints = new Map(dispatch(service).map((endpoint) => [endpoint.method.name, endpoint]))
  return createClient(
    MerchantService,
    createMemoryTransport('gateway', ({ name }) => endpoints.get(name)),
  )
}

/** A service whose only RPC returns a stream. */
function streamingService(): DescService {
  const file = {
    name: 'multihub/test/v1/test.proto',
    package: 'multihub.test.v1',
    syntax: 'proto3',
    messageType: [{ name: 'Request' }],
    service: [
      {
        name: 'TestService',
        method: [
          {
            name: 'Watch',
            inputType: '.multihub.test.v1.Request',
            outputType: '.multihub.test.v1.Request',
            serverStreaming: true,
          },
        ],
      },
    ],
  }
  const service = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] })).getService(
    'multihub.test.v1.TestService',
  )
  if (service === undefined) throw new Error('the test has no service')
  return service
}

describe('the dispatcher', () => {
  test('serves the unary RPCs of a service, each of which must have a handler', () => {
    const handlers = { watch: by(['gateway'], () => {}) }
    expect(dispatch({ descriptor: streamingService(), handlers })).toEqual([])
    const empty = { descriptor: MerchantService, handlers: {} }
    expect(() => dispatch(empty)).toThrow(
      'multihub.merchants.v1.MerchantService/CreateMerchant has no handler',
    )
  })

  test('refuses a call beyond the limit of concurrent calls with 2002 at once', async () => {
    let open: (() => void) | undefined
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const waiting = async (): Promise<object> => {
      await gate
      return {}
    }
    const merchants = clientOf(merchantService({ getMerchant: waiting }))
    const calls = Array.from({ length: CALLS_MAX }, () => merchants.getMerchant({}))
    const refused: unknown = await merchants.getMerchant({}).catch((error: unknown) => error)
    expect(refused instanceof PublicError && refused.code).toBe(2002)
    open?.()
    await Promise.all(calls)
    await merchants.getMerchant({})
  })

  test('refuses a call whose authentication fails with a fault, and logs the fault', async () => {
    const { log: recorded, lines } = recordingLog()
    const failing = createDispatcher(() => {
      throw new Error('the secret')
    }, recorded)
    const [endpoint] = failing(merchantService())
    const call = endpoint?.call({
      protocol: 'test',
      caller: { authorization: 'Bearer x', certificate: () => undefined },
      header: () => undefined,
      headers: () => new Headers(),
      timeout_ms: undefined,
      onCancelled: () => {},
      request: () => create(CreateMerchantRequestSchema),
    })
    const refusal: unknown = await call?.catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: Code.Unauthenticated })
    expect(String(refusal)).not.toContain('the secret')
    expect(lines[0]).toMatchObject({ level: 'error', error: { message: 'the secret' } })
  })

  test('counts and times calls by service, method and status', async () => {
    const merchants = clientOf(
      merchantService({
        async listMerchants() {
          throw new PublicError(6010)
        },
      }),
    )
    await merchants.createMerchant({})
    await expect(merchants.listMerchants({})).rejects.toThrow(PublicError)
    await expect(merchants.updateMerchant({})).rejects.toThrow(PublicError)
    const counted = (method: string, code: string): string =>
      `multihub_rpc_seconds_count{service="multihub.merchants.v1.MerchantService",method="${method}",code="${code}"} 1`
    const text = await metricsText()
    expect(text).toContain(counted('CreateMerchant', 'Ok'))
    expect(text).toContain(counted('ListMerchants', 'NotFound'))
    expect(text).toContain(counted('UpdateMerchant', 'PermissionDenied'))
  })
})
