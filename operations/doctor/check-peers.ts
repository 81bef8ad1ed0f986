import { StartError } from '#lib/base/start-error.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Tls } from '#lib/http/tls.ts'
import {
  type EnvironmentCheck,
  type Finding,
  inspectCertificate,
  ok,
  parseAddress,
  reach,
  withExpiry,
} from '#lib/role/environment-check.ts'
import { probeProcess } from '#lib/rpc/client/probe-process.ts'
import { addressesOf, type RpcConfig } from '#lib/rpc/settings.ts'

const LIMIT_MS = 5_000

/** The check of each configured process: reachable, trusted, ready, of that role, and accepting the credentials. */
export function peerChecks(config: RpcConfig, tls: Tls | undefined): readonly EnvironmentCheck[] {
  return [...addressesOf(config)].map(([role, address]) => ({
    subject: `${role} at ${address}`,
    run: () => checkPeer({ role, address, tls, token: config.token }),
  }))
}

interface Peer {
  readonly role: string
  readonly address: string
  readonly tls: Tls | undefined
  readonly token: RpcConfig['token']
}

async function checkPeer({ role, address, tls, token }: Peer): Promise<Finding> {
  const variable = `MULTIHUB_${role.toUpperCase()}_ADDRESS`
  const server = parseAddress(address)
  const advice = `start that role, or correct ${variable}`
  const material = tls?.current()
  const options = { material, limit_ms: LIMIT_MS, advice, authority: 'MULTIHUB_TLS_CA' }
  const expires_at = tls && (await inspectCertificate(server, options))
  if (tls === undefined) await reach(server, LIMIT_MS, advice)
  const { is_serving, services } = await probe({ role, address, tls, token })
  if (services === undefined) throw new StartError(refusalText(token !== undefined, tls !== undefined))
  if (!services.some((name) => name.startsWith(`multihub.${role}.`)))
    throw new StartError(`the process there does not run ${role}: correct ${variable}`)
  if (!is_serving) throw new StartError('the process answers, but it is not ready: its /readyz says why')
  const text = 'ready, and it accepts the credentials of this process'
  return expires_at === undefined ? ok(text) : withExpiry(text, 'its', expires_at)
}

async function probe({ address, tls, token }: Peer): ReturnType<typeof probeProcess> {
  try {
    return await probeProcess({ address, token, tls, limit_ms: LIMIT_MS })
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    const advice =
      tls === undefined
        ? 'if it has MULTIHUB_TLS_KEY, this process needs it too'
        : 'if its MULTIHUB_TLS_CA does not trust MULTIHUB_TLS_CERTIFICATE of this process, use one authority for both'
    throw new StartError(`something listens, but gives no gRPC response (${error.message}): ${advice}`)
  }
}

function refusalText(has_token: boolean, has_tls: boolean): string {
  if (has_token)
    return 'it does not know the token of this process: put the SHA-256 of MULTIHUB_RPC_TOKEN into its MULTIHUB_RPC_CALLERS'
  const token = 'set MULTIHUB_RPC_TOKEN'
  if (!has_tls) return `it refuses calls without a token: ${token}`
  return `it does not know the certificate of this process: name it in its MULTIHUB_RPC_CERTIFICATES, or ${token}`
}
