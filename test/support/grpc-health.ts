import { Client, credentials } from '@grpc/grpc-js'

/** The statuses of the gRPC health protocol. */
export const SERVING = 1

/** See `SERVING`. */
export const NOT_SERVING = 2

/** The gRPC health status of a service; of the whole process unless one is named. `undefined` when there is no response. */
export function grpcHealth(grpc_url: string, service = ''): Promise<number | undefined> {
  const client = new Client(new URL(grpc_url).host, credentials.createInsecure())
  const same = (bytes: Buffer): Buffer => bytes
  const request =
    service === ''
      ? Buffer.alloc(0)
      : Buffer.concat([Buffer.from([0x0a, service.length]), Buffer.from(service)])
  return new Promise<number | undefined>((resolve) => {
    client.makeUnaryRequest('/grpc.health.v1.Health/Check', same, same, request, (_error, response) =>
      resolve(response?.at(1)),
    )
  }).finally(() => client.close())
}
