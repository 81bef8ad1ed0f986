import { Code } from '@connectrpc/connect'
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { merchantService, recordingLog, serveProcess, tokenOf } from '../../../test/support/rpc.ts'

const GET = '/multihub.merchants.v1.MerchantService/GetMerchant'

test.each([
  [Code.Unauthenticated, undefined],
  [Code.Unauthenticated, 'Bearer wrong'],
  [Code.PermissionDenied, `Bearer ${tokenOf('backoffice')}`],
])('a caller is refused with %i before its message arrives', async (code, authorization) => {
  const { log, lines } = recordingLog()
  const served = await serveProcess([merchantService()], { log })
  const client = new Client(`127.0.0.1:${served.serving.grpc_port}`, credentials.createInsecure())
  const metadata = new Metadata()
  if (authorization !== undefined) metadata.set('authorization', authorization)
  const same = (bytes: Buffer): Buffer => bytes
  const call = client.makeBidiStreamRequest(GET, same, same, metadata)
  const refused = await new Promise<ServiceError>((resolve) => call.once('error', resolve))
  expect(refused.code).toBe(code)
  const failed = lines.filter(({ message }) => message === 'RPC failed')
  expect(failed).toMatchObject([{ request_id: String(refused.metadata.get('x-request-id')[0]) }])
  client.close()
  await served.close()
})
