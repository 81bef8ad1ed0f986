import { text as readText } from 'node:stream/consumers'
import { readConfig } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import { createStreamClient } from '#lib/http/internal-link.ts'
import type { Tls } from '#lib/http/tls.ts'
import { decodeRefusal, REFUSAL_STATUS } from '#lib/patterns/attachment-transfer.ts'
import {
  type CheckContext,
  type EnvironmentCheck,
  type Finding,
  inspectCertificate,
  noResponse,
  ok,
  reach,
  sendCheckRequest,
  serverOf,
  warning,
  withExpiry,
} from '#lib/role/environment-check.ts'
import type { RoleOperations } from '#lib/role/operations.ts'
import { V1_PATH } from './paths.ts'
import { GATEWAY_CONFIG } from './service.ts'
import { openGatewayStore } from './store.ts'

/** What the commands of an installation need of the gateway. */
export const operations: RoleOperations = {
  name: 'gateway',
  openCollections: openGatewayStore,
  environmentChecks: (context) => gatewayChecks(readConfig(GATEWAY_CONFIG, context.variables), context),
}

const LIMIT_MS = 5_000

/** The checks of the port for the bytes of attachments, where another process has it, and of the public URL. */
export function gatewayChecks(
  {
    attachments_url,
    public_url,
  }: { readonly attachments_url: string; readonly public_url: string | undefined },
  { variables, tls, runs }: CheckContext,
): readonly EnvironmentCheck[] {
  const is_remote = variables['MULTIHUB_ATTACHMENTS_URL'] !== undefined || !runs('attachments')
  const files = {
    subject: `files at ${attachments_url}`,
    run: () => checkAttachmentsUrl(attachments_url, tls),
  }
  const checks = is_remote ? [files] : []
  if (public_url === undefined) return checks
  const base_url = public_url.replace(/\/+$/, '')
  return [...checks, { subject: `public URL ${base_url}`, run: () => checkPublicUrl(base_url) }]
}

/** A path without a link is refused in the words of the attachments role, so the answer shows who answers. */
async function checkAttachmentsUrl(url: string, tls: Tls | undefined): Promise<Finding> {
  const advice = 'start the attachments role, or correct MULTIHUB_ATTACHMENTS_URL'
  const server = serverOf(url)
  const is_https = url.startsWith('https:')
  const options = { material: tls?.current(), limit_ms: LIMIT_MS, advice, authority: 'MULTIHUB_TLS_CA' }
  const expires_at = is_https ? await inspectCertificate(server, options) : undefined
  if (!is_https) await reach(server, LIMIT_MS, advice)
  const { status, refusal } = await readRefusal(url, tls, advice)
  if (status !== REFUSAL_STATUS || decodeRefusal(refusal).code !== 1001)
    throw new StartError(`something else answers (HTTP ${status}): correct MULTIHUB_ATTACHMENTS_URL`)
  const text = 'the attachments role answers'
  return expires_at === undefined ? ok(text) : withExpiry(text, 'its', expires_at)
}

async function readRefusal(url: string, tls: Tls | undefined, advice: string) {
  const client = createStreamClient(url, tls)
  const signal = AbortSignal.timeout(LIMIT_MS)
  try {
    const { status, body } = await client.send({ method: 'GET', path: '/', signal })
    return { status, refusal: await readText(body) }
  } catch {
    throw noResponse(signal.aborted ? 'timeout' : 'reset', advice)
  } finally {
    await client.close()
  }
}

/**
 * A GET of the path of the methods is refused in the envelope of the gateway. The public URL is often closed to this process
 * and open to merchants, so that it cannot be reached is a warning; a wrong certificate or answer is a problem.
 */
async function checkPublicUrl(base_url: string): Promise<Finding> {
  const server = serverOf(base_url)
  const advice = 'correct MULTIHUB_PUBLIC_URL, or check it from where merchants are'
  try {
    await reach(server, LIMIT_MS, advice)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return warning(`cannot be reached from here (${error.message})`)
  }
  const options = { limit_ms: LIMIT_MS, advice, authority: 'the trust of merchants: use a public one' }
  const expires_at = base_url.startsWith('https:') ? await inspectCertificate(server, options) : undefined
  const request = { method: 'GET', url: base_url + V1_PATH, timeout_ms: LIMIT_MS } as const
  const { status, body } = await sendCheckRequest(request, advice)
  if (!isRefusalOfGateway(Buffer.from(body).toString()))
    throw new StartError(
      `something else answers (HTTP ${status}): route this name to the gateway, or correct MULTIHUB_PUBLIC_URL`,
    )
  return expires_at === undefined
    ? ok('a gateway answers')
    : withExpiry('a gateway answers', 'its', expires_at)
}

/** Whether a text is the envelope of the refusal of a method other than POST (E2). */
function isRefusalOfGateway(text: string): boolean {
  try {
    return JSON.parse(text)?.error?.code === 1007
  } catch {
    return false
  }
}
