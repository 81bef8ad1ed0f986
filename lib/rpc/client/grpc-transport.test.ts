import { create, toBinary } from '@bufbuild/protobuf'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { afterEach, expect, test } from '@jest/globals'
import { GetMerchantResponseSchema } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { grpcClient } from '../../../test/support/rpc.ts'

const MIB = 1024 * 1024

const server = new Server({ 'grpc.max_send_message_length': -1 })
afterEach(() => server.forceShutdown())

/** Starts a gRPC server without our code, which returns merchants with names of these lengths, one after the other. */
async function serveNames(lengths: readonly number[]): Promise<string> {
  const asIs = (bytes: Buffer): Buffer => bytes
  const method = {
    path: '/multihub.merchants.v1.MerchantService/GetMerchant',
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  }
  const left = [...lengths]
  const getMerchant = (_call: unknown, respond: (error: null, response: Buffer) => void): void => {
    const merchant = { name: 'x'.repeat(left.shift() ?? 0) }
    respond(
      null,
      Buffer.from(toBinary(GetMerchantResponseSchema, create(GetMerchantResponseSchema, { merchant }))),
    )
  }
  server.addService({ getMerchant: method }, { getMerchant })
  return await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(`127.0.0.1:${port}`) : reject(error),
    )
  })
}

test('refuses a response above 4 MiB, whatever server sends it', async () => {
  const address = await serveNames([4 * MIB - 1_000, 4 * MIB])
  const { merchants, close } = await grpcClient(address, undefined)
  expect((await merchants.getMerchant({})).merchant?.name).toHaveLength(4 * MIB - 1_000)
  await expect(merchants.getMerchant({})).rejects.toMatchObject({ code: 2001 })
  close()
})
