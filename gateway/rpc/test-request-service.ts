import type { FastifyInstance } from 'fastify'
import { TestRequestService } from '#gen/multihub/gateway/v1/test_request_service_pb.ts'
import { fieldError, PublicError } from '#lib/contract/errors/public-error.ts'
import { requiredId } from '#lib/contract/operator-fields.ts'
import { by, type RpcService, rpcService } from '#lib/rpc/service.ts'
import type { UnsealedCredential } from '../auth/credential.ts'
import { currentSecret, signRequest } from '../auth/sign-request.ts'

interface TestRequestDeps {
  readonly findCredential: (application_id: string) => Promise<UnsealedCredential | undefined>
  readonly now_ms: () => number
  /** The public interface, which checks the request like any other. */
  readonly app: Pick<FastifyInstance, 'inject'>
}

/** Sends requests for developers, from the address 127.0.0.1 and for applications of the test environment only (O20). */
export function createTestRequestRpc({ findCredential, now_ms, app }: TestRequestDeps): RpcService {
  return rpcService(TestRequestService, {
    sendTestRequest: by(['backoffice'], async ({ merchantId, applicationId, body }) => {
      const application_id = requiredId(applicationId, 'application_id')
      const credential = await findCredential(application_id)
      const { settings } = credential ?? {}
      if (credential === undefined || settings?.merchant_id !== requiredId(merchantId, 'merchant_id'))
        throw fieldError(1003, 'application_id', 'nothing has this id')
      const { environment, version } = settings
      if (environment !== 'test')
        throw fieldError(9000, 'application_id', 'an application of the test environment')
      const at_ms = now_ms()
      const secret = currentSecret(credential, at_ms)
      // No signature of it can be verified, so the public interface would refuse each one.
      if (secret === undefined) throw new PublicError(3007)
      const bytes = Buffer.from(body)
      const { path, headers } = signRequest({ application_id, secret, version }, bytes, at_ms)
      const { statusCode, payload } = await app.inject({
        method: 'POST',
        url: path,
        headers: { ...headers, 'Content-Type': 'application/json' },
        payload: bytes,
      })
      return { httpStatus: statusCode, body: payload }
    }),
  })
}
