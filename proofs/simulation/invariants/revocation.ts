import { CredentialStatus } from '#gen/multihub/merchants/v1/credential_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { sleep } from '#lib/base/time.ts'
import type { ClientOf } from '#lib/rpc/rpc.ts'
import type { SimulatedMerchant } from '../workload/merchants.ts'
import type { PublicApi } from '../workload/public-api.ts'

/** Within this time every gateway knows a change of the registry, if nothing fails. */
const KNOWN_AFTER_MS = 3_000

const REQUEST = { method: 'balance.get', params: {} }

/** All replaced secrets are refused, the new one works, and a disabled credential is refused. Nothing fails any more. */
export async function* revocationsHold(
  clientOf: ClientOf,
  api: PublicApi,
  { credentials: [first, second] }: SimulatedMerchant,
): AsyncIterable<string> {
  if (first === undefined || second === undefined) return
  const credentials = clientOf(CredentialService)
  const { secret } = await credentials.rotateSecret({
    applicationId: String(first.application_id),
    overlapSeconds: 0,
  })
  const status = CredentialStatus.DISABLED
  await credentials.updateCredential({ applicationId: String(second.application_id), status })
  await sleep(KNOWN_AFTER_MS)
  // Also those that an earlier rotation had left valid for some time.
  const replaced = first.secrets.map((old) => ({ ...first, secret: old, is_revoked: true }))
  for (const [name, credential, expected] of [
    ...replaced.map((credential) => ['a replaced secret', credential, 3000] as const),
    ['a new secret', { ...first, secret }, undefined] as const,
    ['a disabled credential', second, 3004] as const,
  ]) {
    const outcome = await api.call(credential, REQUEST)
    const code = outcome.kind === 'error' ? outcome.code : undefined
    if (outcome.kind === 'none' || code !== expected)
      yield `${name} was answered with ${outcome.kind} ${code}, not with ${expected ?? 'success'}`
  }
}
