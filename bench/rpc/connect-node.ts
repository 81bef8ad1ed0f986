import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { type Client, createClient, type Transport } from '@connectrpc/connect'
import {
  connectNodeAdapter,
  createConnectTransport,
  createGrpcTransport,
  Http2SessionManager,
} from '@connectrpc/connect-node'
import {
  type GetMerchantResponseSchema,
  MerchantService,
} from '#gen/multihub/merchants/v1/merchant_service_pb.ts'

/** Clients of a connect-node server over HTTP/2: one by the gRPC protocol, one by the Connect protocol. */
export interface ConnectNode {
  readonly grpc: Client<typeof MerchantService>
  readonly connect: Client<typeof MerchantService>
  close(): void
}

/** Starts a server of connect-node that serves `getMerchant`: the alternative to our transport over grpc-js. */
export async function startConnectNode(
  response: MessageInitShape<typeof GetMerchantResponseSchema>,
): Promise<ConnectNode> {
  const server = createServer(
    connectNodeAdapter({
      routes: (router) => router.service(MerchantService, { getMerchant: () => response }),
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const sessions = [new Http2SessionManager(base_url), new Http2SessionManager(base_url)] as const
  const clientOver = (transport: Transport): Client<typeof MerchantService> =>
    createClient(MerchantService, transport)
  return {
    grpc: clientOver(createGrpcTransport({ baseUrl: base_url, sessionManager: sessions[0] })),
    connect: clientOver(
      createConnectTransport({ baseUrl: base_url, httpVersion: '2', sessionManager: sessions[1] }),
    ),
    close() {
      for (const session of sessions) session.abort()
      server.close()
    },
  }
}
